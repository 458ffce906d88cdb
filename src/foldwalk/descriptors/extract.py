"""Many pictures to vectors: decoding in threads, one batch ahead of the model; bad files are set aside.

`extract` hands them out batch by batch, `describe` all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.digests import digest_of
from foldwalk.core.errors import BadParameter
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array
from foldwalk.descriptors.backbones.base import Backbone
from foldwalk.descriptors.backbones.options import check_threads
from foldwalk.descriptors.decode import load_picture, read_picture_file, thumbnail
from foldwalk.descriptors.limits import DEFAULT_LIMITS, Limits, Unreadable
from foldwalk.descriptors.resume import Finished


@dataclass(frozen=True)
class Skipped:
    """A file that could not be described, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Batch:
    """Described pictures in the order they were handed in; `thumbnails` are JPEGs.

    `digests` are those of the bytes that were described, None where a vector came from the cache.
    """

    paths: list[Path]
    vectors: Float32Array
    thumbnails: list[bytes] | None
    skipped: list[Skipped]
    digests: list[str | None]


@dataclass(frozen=True)
class Described:
    """All pictures that could be read, and those that could not."""

    vectors: Float32Array
    paths: list[Path]
    skipped: list[Skipped]

    def report(self) -> str:
        """What was done, and each file that was left out with the reason."""
        lines = [f"{len(self.paths)} pictures described, {len(self.skipped)} left out"]
        return "\n".join(lines + [f"  {bad.path}: {bad.reason}" for bad in self.skipped])


@dataclass(frozen=True)
class _Ready:
    """A picture before the model sees it, or one whose vector is known."""

    path: Path
    key: str | None = None
    prepared: Any = None
    vector: Float32Array | None = None
    thumbnail: bytes | None = None
    digest: str | None = None


class _Reader:
    """Brings one file to where the model takes over; runs in a thread."""

    def __init__(
        self, backbone: Backbone, limits: Limits, thumbnails: bool, finished: Finished | None
    ) -> None:
        self.backbone, self.limits, self.thumbnails, self.finished = backbone, limits, thumbnails, finished

    def __call__(self, path: Path) -> _Ready | Skipped:
        key = None
        if self.finished is not None:
            key = self.finished.key(path)
            known = self.finished.get(key)
            if known is not None and (known.thumbnail is not None or not self.thumbnails):
                return _Ready(path, vector=known.vector, thumbnail=known.thumbnail)
        try:
            content = read_picture_file(path, self.limits)
            picture = load_picture(content, self.limits, self.backbone.short_side)
        except Unreadable as reason:
            return Skipped(path, str(reason))
        small = thumbnail(picture) if self.thumbnails else None
        return _Ready(path, key, self.backbone.prepare(picture), None, small, digest_of(content))


def extract(
    paths: Iterable[Path | str],
    backbone: Backbone,
    limits: Limits = DEFAULT_LIMITS,
    batch: int = 32,
    threads: int | None = None,
    thumbnails: bool = False,
    cache: Path | str | None = None,
) -> Iterator[Batch]:
    """Describe pictures batch by batch, in order. `cache` is a folder of finished batches to go on from."""
    if type(batch) is not int or batch < 1:
        raise BadParameter(f"batch must be a whole number of at least 1, but it is {batch!r}.")
    everything = [Path(path) for path in paths]
    finished = None if cache is None else Finished(Path(cache), backbone.identity, backbone.dim)
    read = _Reader(backbone, limits, thumbnails, finished)
    return _batches(everything, read, batch, check_threads(threads))


def describe(
    paths: Iterable[Path | str],
    backbone: Backbone,
    limits: Limits = DEFAULT_LIMITS,
    batch: int = 32,
    threads: int | None = None,
    resume: Path | str | None = None,
) -> Described:
    """Describe pictures all at once; with the folder `resume`, go on where an earlier call stopped."""
    batches = list(extract(paths, backbone, limits, batch, threads, cache=resume))
    vectors = [np.zeros((0, backbone.dim), dtype=np.float32), *(b.vectors for b in batches)]
    return Described(
        np.concatenate(vectors),
        [path for b in batches for path in b.paths],
        [bad for b in batches for bad in b.skipped],
    )


def _batches(paths: Sequence[Path], read: _Reader, size: int, threads: int) -> Iterator[Batch]:
    pool = ThreadPoolExecutor(threads, thread_name_prefix="foldwalk-decode")
    ahead: list[Future[_Ready | Skipped]] = [pool.submit(read, path) for path in paths[:size]]
    try:
        with task("describing", total=len(paths), unit="pictures") as advance:
            for start in range(0, len(paths), size):
                results = [future.result() for future in ahead]
                ahead = [pool.submit(read, path) for path in paths[start + size : start + 2 * size]]
                yield _finish(results, read)
                advance(len(results))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _finish(results: Sequence[_Ready | Skipped], read: _Reader) -> Batch:
    ready = [result for result in results if isinstance(result, _Ready)]
    new = [row for row, item in enumerate(ready) if item.vector is None]
    vectors = np.empty((len(ready), read.backbone.dim), dtype=np.float32)
    for row, item in enumerate(ready):
        if item.vector is not None:
            vectors[row] = item.vector
    if new:
        vectors[new] = read.backbone.embed_prepared([ready[row].prepared for row in new])
    small = [item.thumbnail or b"" for item in ready] if read.thumbnails else None
    if read.finished is not None:
        keep = [row for row in new if ready[row].key is not None]
        kept_small = None if small is None else [small[row] for row in keep]
        read.finished.add([ready[row].key or "" for row in keep], vectors[keep], kept_small)
    skipped = [result for result in results if isinstance(result, Skipped)]
    digests = [item.digest for item in ready]
    return Batch([item.path for item in ready], vectors, small, skipped, digests)
