"""One process writes an index without a pause while others read it: every reader sees whole versions."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from chaos_looks import PROCESSES, compile_once, in_process, look, vector_of, vectors_of, wrong_vectors
from foldwalk.index import Index

AT_MOST = 120  # seconds beyond those asked for, on a machine that is busy with something else


def write_on(path: Path, stop: Event, answer: Connection) -> None:
    rng = np.random.default_rng(1)
    changes = 0
    with Index.open(path) as index:
        while not stop.is_set():
            keys = [f"v{changes}-{i}" for i in range(int(rng.integers(1, 40)))]
            index.add_vectors(vectors_of(keys), keys)
            if len(index) > 400:
                index.remove([str(key) for key in rng.choice(index.keys(), 50, replace=False)])
            if changes % 20 == 19:
                index.rebuild()
            changes += 1
        answer.send({"writer": True, "version": index.version})


def read_on(path: Path, seconds: float, methods: tuple[str, ...], seed: int, answer: Connection) -> None:
    rng = np.random.default_rng(seed)
    versions: set[int] = set()
    searches, problems = 0, []
    end = time.monotonic() + seconds
    with Index.open(path) as index:
        while time.monotonic() < end or (len(versions) < 3 and time.monotonic() < end + AT_MOST):
            index.refresh()
            keys, vectors, neighbors = index.keys(), index.vectors(), index.neighbors()
            versions.add(index.version)
            if not len(keys) == len(vectors) == len(neighbors):
                problems.append(f"version {index.version}: {len(keys)} keys, {len(vectors)} vectors")
            some = rng.choice(len(keys), min(20, len(keys)), replace=False)
            problems += wrong_vectors([keys[i] for i in some], vectors[some])
            key = keys[int(rng.integers(len(keys)))]
            hits = index.search(vector_of(key), top=5, method=str(rng.choice(methods))).hits
            if len({hit.key for hit in hits}) != 5:
                problems.append(f"version {index.version}: {len(hits)} hits")
            searches += 1
    answer.send({"versions": len(versions), "searches": searches, "problems": problems})


def run_readers(
    readers: int, seconds: float, folder: Path, methods: tuple[str, ...] = ("plain", "cas")
) -> dict[str, Any]:
    path = folder / "readers.fold"
    compile_once(folder, *methods)
    with Index.create(path, backbone="pixels") as index:
        keys = [f"vstart-{i}" for i in range(200)]
        index.add_vectors(vectors_of(keys), keys)
    stop = PROCESSES.Event()
    jobs: list[tuple[Callable[..., None], tuple[Any, ...]]]
    jobs = [(read_on, (path, seconds, methods, seed)) for seed in range(readers)]
    jobs.append((write_on, (path, stop)))
    running = []
    for work, args in jobs:
        receiver, sender = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=work, args=(*args, sender))
        process.start()
        sender.close()
        running.append((process, receiver))
    answers, lost = [], 0
    for process, receiver in running:
        if process is running[-1][0]:
            stop.set()
        try:
            answers.append(receiver.recv())
        except EOFError:
            lost += 1
        receiver.close()
        process.join()
    _, problems = in_process(look, path)
    read = [answer for answer in answers if "searches" in answer]
    return {
        "readers": readers,
        "seconds": seconds,
        "versions_written": next((a["version"] for a in answers if "writer" in a), None),
        "versions_seen": [answer["versions"] for answer in read],
        "searches": sum(answer["searches"] for answer in read),
        "processes_that_failed": lost,
        "problems": problems + [problem for answer in read for problem in answer["problems"]],
    }
