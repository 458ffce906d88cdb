"""The choice of a method: the group size on galleries whose groups are known, and what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import Neighbors, Vectors
from foldwalk.graph import mutuality
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.automatic.auto import cas_sizes, choose
from samples import clustered


def groups(size, count=40, dim=64, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(count), size)
    items = rng.normal(size=(count, dim))[labels] + noise * rng.normal(size=(len(labels), dim))
    return items.astype(np.float32), labels


def test_mutuality_by_loops():
    neighbors = knn_graph(Vectors(clustered(n=60)[0]).unit(), 12)
    ours = mutuality(neighbors)
    for k in range(1, 13):
        lists = neighbors.ids[:, :k]
        mutual = [i in lists[j] for i in range(60) for j in lists[i]]
        assert ours[k - 1] == pytest.approx(np.mean(mutual))
    assert mutuality(neighbors, rows=20)[3] == pytest.approx(
        np.mean([i in neighbors.ids[j, :4] for i in range(0, 60, 3) for j in neighbors.ids[i, :4]])
    )
    lonely = Neighbors(np.array([[1, -1], [0, -1], [-1, -1]], np.int32), np.zeros((3, 2), np.float32))
    assert mutuality(lonely).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", [3, 6, 12, 21])
def test_the_group_size_is_found(size):
    fitted = rerank.create("auto").fit(groups(size)[0])
    assert abs(fitted.choice.group_size - (size - 1)) <= 1


def test_what_is_chosen():
    small = rerank.create("auto").fit(groups(3, count=60)[0]).choice
    assert (small.method, small.parameters) == ("k_reciprocal", {"k1": 2, "k2": 2})
    large = rerank.create("auto").fit(groups(12)[0]).choice
    assert (large.method, large.parameters["cluster_k"]) == ("cas", large.group_size)
    assert str(large).startswith("cas(cluster_k=")
    assert "mutual" in large.reason
    # Nobody is anybody's mutual neighbour, or only the very first is: nothing to rely on.
    assert choose(np.zeros(30), 0.05).method == "plain"
    assert choose(np.array([0.9, 0.2, 0.1]), 0.05).method == "plain"
    assert choose(np.zeros(0), 0.05).method == "plain"
    endless = choose(np.linspace(0.3, 0.6, 60), 0.05)
    assert (endless.method, endless.parameters, endless.group_size) == ("cas", {}, 60)


def test_sizes_go_through_the_authors_settings():
    default = {"cluster_k": 20, "trusted_k": 5, "transition_k": 25, "expand_k": 6, "markov_k": 25}
    oxford = {"cluster_k": 60, "trusted_k": 6, "transition_k": 70, "expand_k": 7, "markov_k": 80}
    assert cas_sizes(20) == default
    assert cas_sizes(60) == oxford
    assert cas_sizes(8) == {
        "cluster_k": 8,
        "trusted_k": 5,
        "transition_k": 10,
        "expand_k": 6,
        "markov_k": 10,
    }


def test_it_ranks_as_what_it_chose():
    items, _ = groups(12, noise=0.6)
    fitted = rerank.create("auto").fit(items)
    chosen = rerank.create(fitted.choice.method, **fitted.choice.parameters).fit(items)
    assert (fitted.rank_self(top=50).ids == chosen.rank_self(top=50).ids).all()
    assert (fitted.rank(items[:4] + 0.1).ids == chosen.rank(items[:4] + 0.1).ids).all()
    joined = rerank.create("auto").rerank(items[:2] + 0.1, items)
    assert joined.ids.shape == (2, 100)
