"""One index for many threads, after a fork, and for a long time."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import numba
import numpy as np
import pytest

from foldwalk.core.errors import Forked
from foldwalk.index import Index, Key

N = 120
VECTORS = np.random.default_rng(3).normal(size=(N, 8)).astype(np.float32)
QUICK = ("plain", "aqe", "cas", "eir", "dfs", "k_reciprocal", "manifold_ranking")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.create(tmp_path_factory.mktemp("processes") / "x.fold", backbone=None) as index:
        index.add_vectors(VECTORS, [str(number) for number in range(N)])
        yield index


def test_sixteen_threads_get_the_answers_of_one(shared: Index) -> None:
    asked = [(row, method) for method in ("plain", "cas", "aqe", "dfs") for row in range(0, N, 4)]

    def answer(question: tuple[int, str]) -> list[tuple[str, float]]:
        row, method = question
        query = Key(str(row)) if row % 8 else VECTORS[row] + np.float32(0.01)
        return [(hit.key, hit.score) for hit in shared.search(query, top=15, method=method).hits]

    expected = [answer(question) for question in asked]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(answer, asked)) == expected


def search_in_child(index: Index, end: Connection) -> None:
    try:
        end.send([hit.key for hit in index.search("7", top=5).hits])
    except Forked as error:
        end.send(str(error))


def test_a_child_forked_after_a_search_searches_or_says_why_not(shared: Index) -> None:
    expected = [hit.key for hit in shared.search("7", top=5).hits]
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=search_in_child, args=(shared, theirs))
    child.start()
    theirs.close()
    said = ours.recv()
    child.join()
    assert child.exitcode == 0
    if numba.threading_layer() == "omp":
        assert "forked from one that had searched already" in said
    else:
        assert said == expected


def open_and_search(path: Path, end: Connection) -> None:
    with Index.open(path) as index:
        end.send([hit.key for hit in index.search("7", top=5).hits])


def test_a_child_that_was_spawned_searches(shared: Index) -> None:
    expected = [hit.key for hit in shared.search("7", top=5).hits]
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=open_and_search, args=(shared.path, theirs))
    child.start()
    theirs.close()
    assert ours.recv() == expected
    child.join()


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_many_searches_keep_memory_flat(shared: Index) -> None:
    def search(method: str, times: int) -> None:
        for number in range(times):
            row = number % N
            shared.search(Key(str(row)) if number % 2 else VECTORS[row], top=10, method=method)

    for method in QUICK:
        search(method, 20)
    before = peak_mb()
    for method in QUICK:
        search(method, 300)
    assert peak_mb() - before < 64
