""".npy and .npz files of strangers: what their heads declare is compared with the file and the memory first.

A head of a hundred bytes may declare any number of numbers, and a compressed member may hold a thousand times
its size. Nothing is ever unpickled.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.memory import need_memory
from foldwalk.core.types import AnyArray

NPY_START = b"\x93NUMPY"
MOST_MEMBERS = 10_000
LONGEST_HEAD = 10_000  # bytes, as numpy has it
DEFLATED_AT_MOST = 1_040  # times: what the format cannot exceed
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_AS_WRITTEN = re.compile(
    r"\{'descr': '([<>|](?:b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,6}))', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,18}(?:, \d{1,18})*,?)?)\), \}\s*"
)


def map_npy(path: Path) -> AnyArray:
    """The array of a .npy file, mapped and not read."""
    with open(path, "rb") as file:
        start = file.read(len(NPY_START))
        if start != NPY_START:
            what = "a pickle, which is never opened" if start[:1] == b"\x80" else "no .npy file"
            raise BadInput(f"{path} is {what}; write the vectors with numpy.save.")
        file.seek(0)
        if _declared(file) > path.stat().st_size - file.tell():
            raise BadInput(f"{path} holds fewer numbers than its head declares; write it again.")
    mapped: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, AnyArray]:
    """The arrays of a .npz file, or those of these names."""
    wanted = check_npz(path, names)
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        return {name: file[name] for name in wanted}


def check_npz(path: Path, names: Collection[str] | None = None) -> list[str]:
    """The names of the arrays in a .npz file, or those of these; refused unless all fit into memory."""
    with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        members = _members(archive)
        wanted = [name for name in members if names is None or name in names]
        need_memory(sum(members[name].file_size for name in wanted), str(path))
        for name in wanted:
            with archive.open(members[name]) as file:
                declared = _declared(file)
                if declared > members[name].file_size - file.tell():
                    raise BadInput(f"{path}, {name} holds fewer numbers than its head declares.")
    return wanted


def names_in_npz(path: Path) -> list[str]:
    with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        return list(_members(archive))


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """By the names of their arrays; sizes that no member can have are refused."""
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise ValueError(f"it has more than {MOST_MEMBERS} members")
    for member in listed:
        plain = member.compress_type == zipfile.ZIP_STORED
        if not plain and member.compress_type != zipfile.ZIP_DEFLATED:
            raise ValueError(f"{member.filename} is compressed in a way that numpy does not write")
        most = member.compress_size * (1 if plain else DEFLATED_AT_MOST) + (0 if plain else 64)
        if member.file_size > most:
            raise ValueError(f"{member.filename} cannot be as large as is declared")
    return {member.filename.removesuffix(".npy"): member for member in listed}


def read_head(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape of an array, whether it stands there by columns, and its type; a ValueError where broken."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"format {version} of an array is unknown")
    start = file.tell()
    written = _AS_WRITTEN.fullmatch(_text_of_head(file, version))
    if (
        written
    ):  # not by Python's parser: in CPython 3.11 two threads that parse at once stumble over each other
        lengths = tuple(int(length) for length in re.findall(r"\d+", written[3]))
        return lengths, written[2] == "True", np.dtype(written[1])
    file.seek(start)
    try:
        shape, by_column, kind = _HEADERS[version](file)
    except (RecursionError, MemoryError):
        raise ValueError("the head of an array is nested too deep") from None
    if kind.hasobject:
        raise ValueError("it holds Python objects, which are never unpickled")
    return shape, by_column, kind


def _text_of_head(file: IO[bytes], version: tuple[int, int]) -> str:
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    return file.read(min(length, LONGEST_HEAD)).decode("latin1")


def _declared(file: IO[bytes]) -> int:
    """How many bytes of numbers should follow the head of an array, which is read."""
    shape, _, kind = read_head(file)
    return prod(shape) * int(kind.itemsize)
