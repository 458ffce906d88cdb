"""Arrays as rows of a store, in numpy's own format. What can be made again may be absent."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from foldwalk.core.array_files import read_head
from foldwalk.core.types import AnyArray
from foldwalk.stores.base import Store


class _Encoded(Mapping[str, bytearray]):
    """Each array is encoded when it is asked for, so that one at a time is in memory twice."""

    def __init__(self, arrays: Mapping[str, AnyArray]) -> None:
        self.arrays = arrays

    def __getitem__(self, name: str) -> bytearray:
        array = np.asarray(self.arrays[name], order="C")
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        content = bytearray(header.tell() + array.nbytes)
        content[: header.tell()] = header.getbuffer()
        memoryview(content)[header.tell() :] = array.reshape(-1).view(np.uint8).data
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


def put_arrays(store: Store, kind: str, version: int, arrays: Mapping[str, AnyArray]) -> bool:
    """Keep named arrays; says whether there was room and the right to write."""
    return store.put_rows(kind, version, _Encoded(arrays))


def get_arrays(
    store: Store, kind: str, version: int, names: Sequence[str] | None = None
) -> dict[str, AnyArray] | None:
    """The arrays of a group, or those of the names that it has; None if it is absent or damaged."""
    rows = store.get_rows(kind, version, names)
    if rows is None:
        return None
    try:
        return {name: _decoded(content) for name, content in rows.items()}
    except Exception:  # broken bytes lead the decoder to errors of any kind
        return None


def _decoded(content: bytearray) -> AnyArray:
    """The array in these bytes; it uses them, and may be written to as they may."""
    stream = io.BytesIO(memoryview(content)[:4096])
    shape, by_column, kind = read_head(stream)
    count, left = math.prod(shape), len(content) - stream.tell()
    if min(shape, default=0) < 0 or count * kind.itemsize != left:
        raise ValueError("the array is not as large as its head says")
    flat = np.frombuffer(content, kind, count, stream.tell())
    return flat.reshape(shape, order="F" if by_column else "C")
