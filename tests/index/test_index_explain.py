"""Chains of pictures: on a hand-made arc, and against shortest paths by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from foldwalk.core import BadInput, UnknownName
from foldwalk.index import Key, Like
from samples import clustered


def on_circle(*degrees: float) -> np.ndarray:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_the_chain_along_an_arc(make_index):
    """Two steps of 20 degrees make .883, one of 40 degrees .766: the chain takes every step."""
    index = make_index(on_circle(0, 20, 40, 60, 80))
    found = index.explain(Key("a0"), "a4", method="plain")
    assert [step.key for step in found.steps] == ["a0", "a1", "a2", "a3", "a4"]
    assert found.steps[0].similarity is None
    assert [step.similarity for step in found.steps[1:]] == pytest.approx(
        [np.cos(np.radians(20))] * 4, abs=1e-5
    )
    assert found.similarity == pytest.approx(np.cos(np.radians(80)), abs=1e-5)
    assert (found.rank, found.plain_rank) == (4, 4)
    assert found.sentence == (
        "plain has a4 at rank 4, as plain search does; the chain to it leads through 3 other pictures with "
        "no step below 0.94, while its own similarity to the query is 0.17."
    )


def test_an_outside_query_is_the_first_step_without_a_key(make_index):
    index = make_index(on_circle(0, 20, 40, 60, 80))
    found = index.explain(on_circle(-20)[0], "a1", method="plain")
    assert [step.key for step in found.steps] == [None, "a0", "a1"]
    near = index.explain(on_circle(-5)[0], "a0", method="plain")
    assert [step.key for step in near.steps] == [None, "a0"]
    assert "direct neighbour" in near.sentence


def test_where_no_chain_leads_it_says_so(make_index):
    """Opposite directions have no similarity above zero, so nothing joins the two groups."""
    index = make_index(on_circle(0, 5, 180, 185))
    found = index.explain(Key("a0"), "a3", method="plain")
    assert found.steps == ()
    assert "no chain" in found.sentence
    assert found.similarity == pytest.approx(np.cos(np.radians(185)), abs=1e-5)


def test_chains_are_shortest_paths(make_index):
    """Against scipy's Dijkstra on -log of the similarity, on a graph of more items than a row holds."""
    vectors = clustered(n=400, d=6, clusters=12)[0]
    index = make_index(vectors)
    nearest = index.neighbors()
    length = np.full((400, 400), np.inf)
    rows = np.repeat(np.arange(400), nearest.k)
    good = nearest.similarities.ravel() > 0
    length[rows[good], nearest.ids.ravel()[good]] = -np.log(np.minimum(nearest.similarities.ravel()[good], 1))
    length = np.minimum(length, length.T)
    weights = np.where(np.isfinite(length), np.maximum(length, 1e-12), 0)  # zero means no edge to scipy
    wanted = dijkstra(weights, indices=5)
    reached = 0
    for target in range(0, 400, 7):
        found = index.explain(Key("a5"), f"a{target}", method="plain")
        if not np.isfinite(wanted[target]):
            assert found.steps == ()
            continue
        strength = np.sum([-np.log(min(step.similarity, 1)) for step in found.steps[1:]])
        assert strength == pytest.approx(wanted[target], abs=1e-4)
        chain = [int(step.key[1:]) for step in found.steps]
        assert chain[0] == 5
        assert chain[-1] == target
        assert np.isfinite(length[chain[:-1], chain[1:]]).all()
        reached += len(chain) > 2
    assert reached > 5


def test_ranks_are_those_of_the_search(index):
    hits = index.search("a3", top=119).hits
    for hit in (hits[0], hits[30], hits[118]):
        found = index.explain("a3", hit.key)
        assert (found.rank, found.plain_rank) == (hit.rank, hit.plain_rank)
        assert found.similarity == pytest.approx(hit.similarity)
    liked = Like([Key("a3"), Key("a9")])
    hit = index.search(liked, top=20).hits[11]
    assert index.explain(liked, hit.key).rank == 12


def test_bad_questions_are_refused(index):
    with pytest.raises(BadInput, match="query itself"):
        index.explain("a3", "a3")
    with pytest.raises(UnknownName, match="nobody"):
        index.explain("a3", "nobody")
