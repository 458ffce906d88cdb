"""Finished batches in a folder, so that work which stopped goes on where it was.

A picture is known by the backbone's identity, its path, its size in bytes and its time of change: when any of
them differs it is described again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foldwalk.core.array_files import read_npz
from foldwalk.core.checked_arrays import checked_ids, checked_numbers
from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array
from foldwalk.core.whole_files import written_whole


@dataclass(frozen=True)
class Known:
    """What is kept of one picture."""

    vector: Float32Array
    thumbnail: bytes | None


class Finished:
    """The finished batches of one folder. Files that cannot be read are left aside and made again."""

    def __init__(self, folder: Path, identity: str, dim: int) -> None:
        self.folder, self.identity = folder, identity
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot hold finished batches: {error.strerror}.") from None
        self._known: dict[str, Known] = {}
        for path in sorted(folder.glob("batch-*.npz")):
            self._read(path, dim)

    def get(self, key: str | None) -> Known | None:
        return None if key is None else self._known.get(key)

    def key(self, path: Path) -> str | None:
        """The name under which a picture is kept; None where there is no such file."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        absolute = os.path.abspath(path)
        text = f"{self.identity}\n{absolute}\n{status.st_size}\n{status.st_mtime_ns}"
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()

    def add(self, keys: Sequence[str], vectors: Float32Array, thumbnails: Sequence[bytes] | None) -> None:
        """Keep a batch. The keys were taken before the pictures were read: a change since then shows."""
        if not keys:
            return
        sizes = [len(small) for small in thumbnails] if thumbnails is not None else []
        joined = np.frombuffer(b"".join(thumbnails or ()), dtype=np.uint8)
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:24]
        with written_whole(self.folder / f"batch-{name}.npz") as file:
            np.savez(
                file, keys=np.array(keys), vectors=vectors, sizes=np.array(sizes, int), thumbnails=joined
            )

    def _read(self, path: Path, dim: int) -> None:
        try:
            arrays = read_npz(path)
            keys, sizes, joined = (arrays[name] for name in ("keys", "sizes", "thumbnails"))
            vectors = checked_numbers(arrays["vectors"], "vectors", (len(keys), dim))
            if len(sizes):
                checked_ids(sizes, "sizes", (len(keys),), len(joined) + 1)
            ends = np.cumsum(sizes)
            for row, key in enumerate(keys.tolist()):
                small = joined[ends[row] - sizes[row] : ends[row]].tobytes() if len(sizes) else None
                self._known[key] = Known(vectors[row], small)
        except Exception:  # broken bytes lead the reader to errors of any kind
            return
