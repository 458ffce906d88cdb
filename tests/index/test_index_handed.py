"""A method fitted in one process is taken over by another, which fits nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foldwalk.core import BadInput, NotFitted
from foldwalk.index import Index
from foldwalk.index.asking import fitted
from foldwalk.index.asking.handed import Handed
from foldwalk.index.graph.knn import PROMISED, KnnGraph
from foldwalk.rerank.diffusion.cas import CAS

N = 90
WIDE = {"cluster_k": PROMISED + 10}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(2).normal(size=(N, 8)).astype(np.float32)
    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        index.add_vectors(vectors, [str(number) for number in range(N)])
    return tmp_path / "x.fold"


def hits(index: Index, parameters: dict, **options: bool) -> list[tuple[str, float]]:
    return [(hit.key, hit.score) for hit in index.search("3", 20, "cas", parameters, **options).hits]


@pytest.mark.parametrize("parameters", [{}, WIDE])
def test_what_was_handed_over_ranks_the_same(
    place: Path, tmp_path: Path, parameters: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(place) as one:
        expected = hits(one, parameters)
        handed = one.hand_over("cas", parameters)
        assert handed is not None
        assert (handed.neighbors is not None) is (parameters == WIDE)
        handed.write(tmp_path / "handed.npz")
    monkeypatch.setattr(CAS, "_prepare", lambda _: pytest.fail("fitted again"))
    with Index.open(place) as other:
        assert not other.is_ready("cas", parameters)
        assert not other.load_fitted("cas", parameters)
        with pytest.raises(NotFitted, match="cas is not fitted"):
            hits(other, parameters, fit=False)
        again = Handed.read(tmp_path / "handed.npz", N, "cosine")
        assert other.load_fitted("cas", parameters, again)
        assert other.is_ready("cas", parameters)
        assert hits(other, parameters, fit=False) == expected


def test_what_the_store_keeps_is_not_handed_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitted, "SAVED_FROM", 2)
    with Index.open(place) as one:
        expected = hits(one, {})
        assert one.hand_over("cas") is None
        assert one.hand_over("cas", WIDE) is not None  # its neighbours are not kept
    with Index.open(place) as other:
        assert other.load_fitted("cas")
        assert hits(other, {}, fit=False) == expected


def test_rubbish_is_not_taken_for_a_fitted_method(tmp_path: Path) -> None:
    (tmp_path / "rubbish.npz").write_bytes(b"PK rubbish")
    with pytest.raises(BadInput, match="holds no fitted method"):
        Handed.read(tmp_path / "rubbish.npz", N, "cosine")


def test_plain_search_needs_no_graph(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(place) as index:
        monkeypatch.setattr(index._view, "graph", lambda: pytest.fail("made a graph"))
        assert len(index.search("3", top=5, method="plain").hits) == 5


def test_the_graph_that_another_process_kept_is_read_and_not_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.random.default_rng(4).normal(size=(40, 8)).astype(np.float32)
    with Index.open(place) as one, Index.open(place) as other:
        one.neighbors()
        other.add_vectors(vectors, [f"new {number}" for number in range(40)])
        other.rebuild()
        monkeypatch.setattr(KnnGraph, "build", lambda *_: pytest.fail("made again"))
        one.refresh()
        assert np.array_equal(one.neighbors().ids, other.neighbors().ids)
