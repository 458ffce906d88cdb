"""Reading what others published without trusting it: lists, JSON, MATLAB files and pickles."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import scipy.io

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.json_text import read_json as read_json_text
from foldwalk.core.text_files import read_text_file

LARGEST_PICKLE = 64 * 2**20  # the published ground truths are below one megabyte
PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".pgm", ".bmp", ".webp"})


def first_file(candidates: Sequence[Path]) -> Path | None:
    """The first of the candidates that is there."""
    return next((path for path in candidates if path.is_file()), None)


def need_file(candidates: Sequence[Path], what: str) -> Path:
    found = first_file(candidates)
    if found is None:
        tried = " or ".join(str(path) for path in candidates)
        raise MissingData(f"{what} is missing: it was looked for as {tried}; unpack the set again.")
    return found


def picture_names(folder: Path) -> list[str]:
    """All pictures below a folder, as sorted names relative to it."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in PICTURE_SUFFIXES
    )


def safe_name(name: str, listed_in: Path) -> str:
    """A relative name out of a list or an archive, refused when it leads out of the folder it belongs to."""
    pure = PurePosixPath(name)
    windows = PureWindowsPath(name)
    if (
        not pure.parts
        or pure.is_absolute()
        or windows.drive
        or windows.root
        or ".." in windows.parts  # which splits at both kinds of slashes
        or "\0" in name
    ):
        raise BadInput(f"{listed_in} names {name!r}, which leads out of its folder; remove that entry.")
    return str(pure)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank, without the space around them."""
    need_file([path], path.name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not a text file in UTF-8; get it again from its authors.") from None
    return [line for line in (raw.strip() for raw in text.splitlines()) if line]


def read_table(path: Path, columns: int, skip: int = 0, separator: str | None = None) -> list[list[str]]:
    """The rows of a text table of that many columns."""
    rows = []
    for line in read_lines(path)[skip:]:
        cells = [cell.strip() for cell in line.split(separator, columns - 1)]
        if len(cells) != columns:
            raise BadInput(f"{path} has the line {line!r}, but {columns} columns were expected.")
        rows.append(cells)
    return rows


def whole_number(text: str, path: Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{path} has {text!r} where a whole number was expected.") from None


def real_number(text: str, path: Path) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{path} has {text!r} where a number was expected.") from None


def read_json(path: Path) -> Any:
    return read_json_text(read_text_file(path), str(path))


class _PlainUnpickler(pickle.Unpickler):
    """Builds dicts, lists, strings and numbers, which need no names; every name of a class is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def read_plain_pickle(path: Path) -> Any:
    """A pickle of plain Python values; nothing in it can run code."""
    if path.stat().st_size > LARGEST_PICKLE:
        raise BadInput(f"{path} is too large for a ground truth; get it again from its authors.")
    try:
        with path.open("rb") as file:
            # Published by Python 2, whose strings are bytes.
            return _PlainUnpickler(file, encoding="latin1").load()
    except Exception as error:  # broken bytes lead the unpickler to errors of any kind
        raise BadInput(
            f"{path} is not a pickle of plain lists and numbers ({error}) and was not read; save it as .json."
        ) from None


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file up to version 7, its structs as dicts, its cells as lists."""
    need_file([path], path.name)
    try:
        return dict(scipy.io.loadmat(path, simplify_cells=True))
    except NotImplementedError:
        raise BadInput(
            f"{path} is a MATLAB 7.3 (HDF5) file, which is not read; save it again with  save -v7."
        ) from None
    except Exception as error:  # broken bytes lead scipy to errors of any kind
        raise BadInput(f"{path} cannot be read as a MATLAB file: {error}.") from None


def need_key(values: dict[str, Any], key: str, path: Path) -> Any:
    if key not in values:
        raise BadInput(f'{path} has no "{key}"; get it again from its authors.')
    return values[key]


def number_list(value: Any, path: Path) -> np.ndarray:
    """A list of whole numbers, however MATLAB or JSON wrapped it."""
    try:
        numbers = np.atleast_1d(np.asarray(value)).ravel()
    except ValueError:
        numbers = np.array([None])
    if not numbers.size:
        return np.empty(0, dtype=np.int64)
    exact = 2**53  # up to which floats, as MATLAB has them, hold every whole number
    if (
        numbers.dtype.kind not in "iuf"
        or not ((numbers == np.floor(numbers)) & (abs(numbers) <= exact)).all()
    ):
        raise BadInput(f"{path} has something else where whole numbers were expected.")
    return numbers.astype(np.int64)


def text_list(value: Any, path: Path) -> list[str]:
    """A list of texts, however MATLAB or JSON wrapped it."""
    items = [value] if isinstance(value, str) else list(np.ravel(np.asarray(value, dtype=object)))
    if not all(isinstance(item, str) for item in items):
        raise BadInput(f"{path} has something else where names were expected.")
    return [str(item) for item in items]
