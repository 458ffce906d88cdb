"""What chaos.py and chaos_readers.py share: vectors that tell whose they are, and processes.

A process that looks at an index is never the one that is killed.
"""

from __future__ import annotations

import multiprocessing
import shutil
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.index import Index

DIM = 32 * 32  # what the backbone "pixels" gives
PROCESSES = multiprocessing.get_context("forkserver")
# Imported once for all children: their kernels start in each, as they must after a fork.
PROCESSES.set_forkserver_preload(
    [f"foldwalk.index.{name}" for name in ("pictures", "asking.search", "verify")]
)


def vector_of(key: str) -> np.ndarray:
    """The vector that belongs to a key: everyone can tell whether it is the right one."""
    return np.random.default_rng(zlib.crc32(key.encode())).normal(size=DIM).astype(np.float32)


def vectors_of(keys: list[str]) -> np.ndarray:
    return np.stack([vector_of(key) for key in keys])


def look(path: Path, answer: Connection) -> None:
    """The keys that are there and what is wrong, as (keys, problems)."""
    with Index.open(path) as index:
        problems = list(index.verify().problems)
        keys = index.keys()
        problems += wrong_vectors(keys, index.vectors())
        if len(index.neighbors()) != len(keys):
            problems.append("the graph has another number of rows")
        answer.send((keys, problems))


def wrong_vectors(keys: list[str], vectors: np.ndarray) -> list[str]:
    wrong = []
    for key, vector in zip(keys, vectors, strict=True):
        if key.startswith("v"):
            wanted = vector_of(key)
            if not np.allclose(vector, wanted / np.linalg.norm(wanted), atol=1e-5):
                wrong.append(f"{key} has the vector of something else")
    return wrong


def in_process(work: Callable[..., None], *args: Any) -> Any:
    """What `work` sends, from a process of its own."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(*args, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        receiver.close()
        process.join()


def compile_once(folder: Path, *methods: str) -> None:
    """Let one process compile what all will use: those that are killed never get to keep it."""
    in_process(_use_everything, folder / "compiled.fold", methods)


def _use_everything(path: Path, methods: tuple[str, ...], answer: Connection) -> None:
    with Index.create(path, backbone="pixels") as index:
        keys = [f"v{i}" for i in range(300)]
        index.add_vectors(vectors_of(keys[:280]), keys[:280])
        index.add_vectors(vectors_of(keys[280:]), keys[280:])
        index.remove(keys[:20])
        index.verify()
        for method in methods:
            index.search(vector_of("v50"), method=method)
    shutil.rmtree(path)
    answer.send(True)
