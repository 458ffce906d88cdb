"""Loads saved methods with one array altered, and tells on stdout what came of it; run by a test.

A process of its own: where an array reaches a kernel unchecked, the process dies and the tests do not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foldwalk import rerank
from foldwalk.core import BadInput
from foldwalk.rerank import saving

HERE = Path(__file__)
EVERYTHING = ("k_reciprocal", "pairs")  # of the others what they alone keep


def alterations(array: np.ndarray) -> Iterator[tuple[str, np.ndarray | None]]:
    """What a stranger may put into the place of an array; None: nothing."""
    yield "missing", None
    if array.dtype.kind == "U":
        for text in ("", "[", "[" * 100_000, "7", "{}", '{"format": 1}', "1" * 10_000):
            yield text[:10], np.array(text)
        yield "two texts", np.array([str(array)] * 2)
        yield "bytes", np.array(str(array).encode())
        return
    yield "scalar", np.array(7, array.dtype)
    yield "text", np.full(array.shape, "x")
    yield "complex", np.full(array.shape, 1j)
    yield "deeper", array[None]
    if array.ndim:
        yield "nothing", array[:0]
        yield "too short", array[:-1]
        yield "too long", np.concatenate([array, array[-1:]])
    if array.dtype.kind == "f":
        for bad in (np.nan, np.inf, -np.inf, 3e38, -3e38):
            yield str(bad), _with(array, bad)
        yield "whole numbers", array.astype(np.int64)
    if array.dtype.kind in "iu":
        for bad in (-1, -2, 10**6, 2**31 - 1, -(2**31)):
            yield str(bad), _with(array, bad)
        yield "2^62", _with(array.astype(np.int64), 2**62)
        yield "fractions", array + 0.5
        if array.ndim:
            yield "backwards", array[::-1].copy()
            yield "all alike", np.full_like(array, array.flat[-1])


def _with(array: np.ndarray, value: float) -> np.ndarray:
    """In the middle and at the end: not only the first entry is looked at."""
    out = array.copy()
    out.flat[out.size // 2 :: max(1, out.size // 3)] = value
    return out


def outcome(given: dict[str, np.ndarray], queries: np.ndarray, expected: np.ndarray) -> str:
    """How loading and ranking end."""
    saving.read_npz = lambda _: given  # a file each would take most of the time
    try:
        method = rerank.load(HERE)
    except BadInput as error:
        one_sentence = str(error).endswith(".") and "\n" not in str(error) and HERE.name in str(error)
        return "refused" if one_sentence else f"refused, but not in one sentence: {error}"
    try:
        return "same" if np.array_equal(_ranked(method, queries), expected) else "other ranking"
    except BadInput:
        return "no ranking"


def _ranked(method: rerank.Reranker, queries: np.ndarray) -> np.ndarray:
    return (method.rank(queries, top=10) if method.pairs is None else method.rank_self(top=10)).ids


def main(folder: Path, names: list[str]) -> None:
    queries = np.load(folder / "queries.npy")
    for name in names:
        with np.load(folder / f"{name}.npz") as file:
            arrays = {key: file[key] for key in file.files}
        expected = _ranked(saving.from_arrays(arrays), queries)
        for key, array in arrays.items():
            if name not in EVERYTHING and not key.startswith("state_"):
                continue
            for what, altered in alterations(array):
                print(json.dumps([name, key, what, "begun"]), flush=True)
                given = {n: a for n, a in arrays.items() if n != key}
                if altered is not None:
                    given[key] = altered
                print(json.dumps([name, key, what, outcome(given, queries, expected)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
