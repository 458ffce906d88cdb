"""Reading files that cannot be trusted."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from foldwalk.core import BadInput, MissingData
from foldwalk.datasets.published_files import (
    number_list,
    read_json,
    read_lines,
    read_mat,
    read_plain_pickle,
    read_table,
    safe_name,
    text_list,
    whole_number,
)

HERE = Path("list.txt")


@pytest.mark.parametrize(
    "name", ["../secret", "a/../../b", "/etc/passwd", "", "a\\..\\b", "C:\\x.jpg", "\\x", "a\0b", ".."]
)
def test_names_that_lead_out_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"list\.txt names .* leads out of its folder"):
        safe_name(name, HERE)


def test_ordinary_names_pass() -> None:
    for name in ("a.jpg", "a/b.c/d_1.JPG", "Japanese_(katakana)/x.png", "..a/b..", "a b.png"):
        assert safe_name(name, HERE) == name
    assert safe_name("./a//b.jpg", HERE) == "a/b.jpg"


class _Runs:
    """A pickle of this calls something."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_pickles_are_read(tmp_path: Path, protocol: int) -> None:
    value = {"gnd": [{"bbx": [1.5, 2], "easy": [1, 2**40], "junk": []}], "imlist": ["a", "b"], "n": None}
    path = tmp_path / "gnd.pkl"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    assert read_plain_pickle(path) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("what", ["os.system", "eval", "getattr", "numpy", "class"])
def test_pickles_that_call_anything_are_refused_unrun(tmp_path: Path, what: str, protocol: int) -> None:
    marker = tmp_path / "ran"
    evil = {
        "os.system": _Runs(os.system, f"touch {marker}"),
        "eval": _Runs(eval, f"open({str(marker)!r}, 'w')"),
        "getattr": _Runs(getattr, "text", "upper"),
        "numpy": np.arange(3),
        "class": HERE,
    }[what]
    path = tmp_path / "gnd.pkl"
    path.write_bytes(pickle.dumps({"imlist": [evil]}, protocol=protocol))
    with pytest.raises(BadInput, match=r"it asks for .*save it as \.json"):
        read_plain_pickle(path)
    assert not marker.exists()


def test_broken_pickles_are_refused(tmp_path: Path) -> None:
    whole = pickle.dumps({"imlist": ["a"] * 50})
    path = tmp_path / "gnd.pkl"
    for content in (b"", whole[:-5], b"\x80\x04garbage", b"(lp0\n.extra"[:3], b"cos\nsystem\n(S'true'\ntR."):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"gnd\.pkl is not a pickle of plain"):
            read_plain_pickle(path)


def test_matlab_files(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    entries = np.array([({"ok": 1}, 2)], dtype=[("ok", object), ("bbx", object)])
    scipy.io.savemat(path, {"names": np.array(["a", "bc"], dtype=object), "gnd": entries})
    values = read_mat(path)
    assert text_list(values["names"], path) == ["a", "bc"]
    newer = tmp_path / "new.mat"
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    newer.write_bytes(header.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(BadInput, match=r"new\.mat is a MATLAB 7\.3 \(HDF5\) file.*save -v7"):
        read_mat(newer)
    newer.write_bytes(path.read_bytes()[:150])
    with pytest.raises(BadInput, match=r"new\.mat cannot be read as a MATLAB file"):
        read_mat(newer)
    with pytest.raises(MissingData, match=r"gone\.mat is missing"):
        read_mat(tmp_path / "gone.mat")


def test_text_files(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"one  1\r\n\r\ntwo words\n")
    assert read_lines(path) == ["one  1", "two words"]
    assert read_table(path, 2) == [["one", "1"], ["two", "words"]]
    assert read_table(path, 2, skip=1) == [["two", "words"]]
    with pytest.raises(BadInput, match=r"list\.txt has the line 'one  1', but 3 columns"):
        read_table(path, 3)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not a text file"):
        read_lines(path)
    with pytest.raises(MissingData, match=r"gone\.txt is missing"):
        read_lines(tmp_path / "gone.txt")
    path.write_text("{")
    with pytest.raises(BadInput, match="is not JSON"):
        read_json(path)
    with pytest.raises(BadInput, match="'x' where a whole number"):
        whole_number("x", path)


def test_lists_of_numbers_and_texts() -> None:
    for value, numbers in (
        ([3.0, 4], [3, 4]),
        (7, [7]),
        ([], []),
        (np.array([[1], [2]], dtype=np.uint8), [1, 2]),
    ):
        assert number_list(value, HERE).tolist() == numbers
    for value in ("a", [0.5], [np.nan], [np.inf], [1e300], [[1], [2, 3]], [None], {"a": 1}):
        with pytest.raises(BadInput, match="whole numbers were expected"):
            number_list(value, HERE)
    assert text_list("one", HERE) == ["one"]
    assert text_list(["a", "bb"], HERE) == ["a", "bb"]
    for value in ([1], [["a"], ["b", "c"]], None, {"a": "b"}):
        with pytest.raises(BadInput, match="names were expected"):
            text_list(value, HERE)
