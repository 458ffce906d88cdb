"""Text of strangers: deep, broken or not there, it is one sentence."""

from __future__ import annotations

import os

import pytest

from foldwalk.core import BadInput, MissingData
from foldwalk.core.json_text import DEEPEST, read_json, read_json_object
from foldwalk.core.text_files import read_text_file
from foldwalk.learn.trainer.config import parse_config, read_config
from foldwalk.stores.checks import metadata_text


@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_what_is_nested_too_deep_is_refused(depth, brackets):
    begin = "[" if brackets == "[]" else '{"a":'
    text = begin * depth + "1" + brackets[1] * depth
    with pytest.raises(BadInput, match=r"^the text is not JSON that can be read: it is nested too deep\.$"):
        read_json(text, "the text")


def test_what_is_nested_a_little_is_read():
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert str(read_json(deep, "it")).count("[") == DEEPEST
    assert read_json("7", "it") == 7


@pytest.mark.parametrize("text", ["", "{", "1" * 10_000, b"\xff\xfe\x00", "[1] 2", "nan"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(BadInput, match=r"^it is not JSON that can be read: .*\.$"):
        read_json(text, "it")


def test_what_is_no_object_is_refused():
    with pytest.raises(BadInput, match="must hold one JSON object"):
        read_json_object("[1]", "it")


def test_metadata_that_could_not_be_read_again_are_not_written():
    metadata: dict[str, object] = {}
    for _ in range(DEEPEST):
        metadata = {"a": [metadata]}
    with pytest.raises(BadInput, match="the metadata of 'k' cannot be written as JSON: it is nested"):
        metadata_text("k", metadata)


def test_a_configuration_nested_too_deep_is_refused():
    with pytest.raises(BadInput, match=r"^x.toml is not TOML that can be read: it is nested too deep\.$"):
        parse_config("a = " + "[" * 50_000 + "]" * 50_000, "x.toml")


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "nothing"])
def test_what_is_no_file_is_not_waited_for(tmp_path, kind):
    path = tmp_path / "x.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    for read in (read_text_file, read_config):
        with pytest.raises(MissingData, match=r"x.toml does not exist or is not a file\.$"):
            read(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(BadInput, match="is not text in UTF-8"):
        read_config(tmp_path / "x.toml")
