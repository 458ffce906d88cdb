"""The fusion of views: the size of groups that are known, and the rule beside a plain form of it."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import datasets, rerank, views
from foldwalk.core import Neighbors, Vectors
from foldwalk.graph import mutuality
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.automatic.auto import Choice
from foldwalk.rerank.automatic.group import cas_sizes, excess_mutuality, group_size, sizes_for
from samples import clustered

VIEWS = ("raw", "w25", "w50")


def groups(size, count=40, dim=64, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(count), size)
    items = rng.normal(size=(count, dim))[labels] + noise * rng.normal(size=(len(labels), dim))
    return (items / np.linalg.norm(items, axis=1, keepdims=True)).astype(np.float32), labels


def test_mutuality_by_loops():
    neighbors = knn_graph(Vectors(clustered(n=60)[0]).unit(), 12)
    ours, above = mutuality(neighbors), excess_mutuality(neighbors)
    for k in range(1, 13):
        lists = neighbors.ids[:, :k]
        mutual = [i in lists[j] for i in range(60) for j in lists[i]]
        assert ours[k - 1] == pytest.approx(np.mean(mutual))
        assert above[k - 1] == pytest.approx((np.mean(mutual) - k / 59) / (1 - k / 59))
    assert mutuality(neighbors, rows=20)[3] == pytest.approx(
        np.mean([i in neighbors.ids[j, :4] for i in range(0, 60, 3) for j in neighbors.ids[i, :4]])
    )
    lonely = Neighbors(np.array([[1, -1], [0, -1], [-1, -1]], np.int32), np.zeros((3, 2), np.float32))
    assert mutuality(lonely).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", [3, 6, 12, 21])
def test_the_group_size_is_found(size):
    fitted = rerank.create("auto").fit(groups(size)[0])
    assert abs(fitted.choice.group_size - (size - 1)) <= 1


def test_the_group_size_of_a_curve():
    assert group_size(np.zeros(30)) == 0
    assert group_size(np.zeros(0)) == 0
    assert group_size(np.array([0.9, 0.2, 0.1])) == 1
    assert group_size(np.array([0.5, 0.9, 0.87, 0.6, 0.1])) == 3
    assert group_size(np.linspace(0.3, 0.6, 60)) == 60


def test_which_line_of_the_rule_holds():
    def parts(size, count):
        known = knn_graph(Vectors(groups(size, count)[0]), 70)
        return Choice.of(known, size * count, VIEWS)

    assert (parts(12, 40).parts, parts(12, 40).walked) == ("F + .15 C", VIEWS)
    assert (parts(4, 90).parts, parts(4, 90).walked) == ("W + C", ("w50",))
    assert parts(12, 20).parts == "W + C"  # few items
    lonely = knn_graph(
        Vectors(np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)).unit(), 70
    )
    pairs = knn_graph(Vectors(groups(2, 150)[0]), 70)
    assert (Choice.of(pairs, 300, VIEWS).parts, Choice.of(pairs, 300, VIEWS).walked) == ("C", ())
    assert "view" in str(Choice.of(lonely, 300, VIEWS))
    assert "about 12" in str(parts(12, 40))


def test_sizes_go_through_the_authors_settings():
    default = {"cluster_k": 20, "trusted_k": 5, "transition_k": 25, "expand_k": 6, "markov_k": 25}
    oxford = {"cluster_k": 60, "trusted_k": 6, "transition_k": 70, "expand_k": 7, "markov_k": 80}
    assert cas_sizes(20) == default
    assert cas_sizes(60) == oxford
    assert (cas_sizes(8)["cluster_k"], cas_sizes(8)["transition_k"], cas_sizes(8)["markov_k"]) == (8, 10, 10)
    assert sizes_for(60) == {}
    assert sizes_for(1) == sizes_for(4) == cas_sizes(4)


def z_scores(method, rows, n):
    """Dense (n, n): the first 400 of each item's answer brought to the range from 0 to 1."""
    deep = min(400, n)
    reached = method.reached_from_rows(rows, deep)
    out = np.zeros((len(rows), n))
    for row, (found, scores) in enumerate(zip(reached.ids, reached.scores, strict=True)):
        known = found >= 0
        found, scores = found[known], scores[known].astype(float)
        if len(found):
            span = scores[0] - scores[-1]
            out[row, found] = (scores - scores[-1]) / span if span else 1
    return out


def plainly(items, group):
    """The rule of the docstring on dense matrices, with CDM among all items."""
    n, rows = len(items), np.arange(len(items))
    seen = {name: view.see(items) for name, view in views.learn(VIEWS, items).items()}
    walks = {
        (name, paths): z_scores(
            rerank.create("cas", geodesic=paths, **sizes_for(group)).fit(seen[name]), rows, n
        )
        for name in VIEWS
        for paths in (True, False)
    }
    context = z_scores(rerank.create("cdm", k=10).fit(seen["w50"]), rows, n)
    last = (walks["w50", True] + walks["w50", False]) / 2
    if group < 2:
        score = context
    elif group <= 5 or n < 250:
        score = last + context
    else:
        score = sum(walks.values()) / 6 + 0.15 * context
    similar = seen["w25"] @ seen["w25"].T
    total = np.where(score > 1e-9, score + 10, similar)
    np.fill_diagonal(total, -np.inf)
    return np.argsort(-total, axis=1, kind="stable")[:, : n - 1]


@pytest.mark.parametrize(("size", "count"), [(12, 25), (3, 100), (2, 130), (12, 12)])
def test_it_ranks_by_the_rule(size, count):
    items, _ = groups(size, count, dim=24, noise=0.2)
    fitted = rerank.create("auto").fit(items)
    expected = plainly(items, fitted.choice.group_size)
    shared = [
        len(np.intersect1d(a, b)) / 30
        for a, b in zip(fitted.rank_self(top=30).ids, expected[:, :30], strict=True)
    ]
    assert np.mean(shared) > 0.985


def test_both_ways_of_one_fit_are_two_fits(monkeypatch):
    from foldwalk.walk import numbered

    items, _ = groups(10, 30, dim=24, noise=0.3)
    rows = np.arange(40)
    for above in (10**9, 0):  # items by their own numbers, and numbered along the graph
        monkeypatch.setattr(numbered, "NUMBER_ABOVE", above)
        fitted = rerank.create("cas").fit(items)
        for paths, both in zip((True, False), fitted.both_from_rows(rows, 50), strict=True):
            alone = rerank.create("cas", geodesic=paths).fit(items).reached_from_rows(rows, 50)
            assert (both.ids == alone.ids).mean() > 0.98
            assert np.allclose(both.scores, alone.scores, atol=1e-5)
        asked = Vectors(items[:5] + np.float32(0.01)).unit()
        for paths, both in zip((True, False), fitted.both_from(asked, 50), strict=True):
            alone = rerank.create("cas", geodesic=paths).fit(items).reached_from(asked, 50)
            assert np.allclose(both.scores, alone.scores, atol=1e-5)


def test_joined_queries_take_no_part_in_the_views():
    items, _ = groups(12, 25, dim=24, noise=0.2)
    strangers = np.random.default_rng(0).normal(size=(200, 24)).astype(np.float32)
    method = rerank.create("auto")
    method.adopt(Vectors(np.concatenate([items, strangers])).unit(), candidates=len(items))
    alone = views.learn(VIEWS, items)["w50"].see(items)
    kept = method.seen.views["w50"].see(items)
    assert np.allclose(np.abs(np.sum(kept * alone, axis=1)), 1, atol=1e-3)


def test_it_says_what_it_did():
    items, _ = groups(12)
    ranking = rerank.create("auto").fit(items).rank_self(top=5)
    assert ranking.note.endswith("in 3 views.")
    assert ranking.top(2).note == ranking.note
    assert rerank.create("auto", effort="low").fit(items).rank_self(5).note.endswith("in 2 views.")
    assert rerank.create("auto", views="raw").fit(items).rank_self(5).note.endswith("in the raw view alone.")
    assert (
        rerank.create("auto", metric="euclidean")
        .fit(items)
        .rank_self(5)
        .note.endswith("in the raw view alone.")
    )
    assert rerank.create("cas").fit(items).rank_self(5).note == ""


def test_it_gains_on_digits():
    digits = datasets.load("digits")
    some = np.flatnonzero(np.asarray(digits.labels) < 5)[:600]
    items, labels = np.asarray(digits.gallery)[some], np.asarray(digits.labels)[some]

    def precision(name):
        ids = rerank.create(name).fit(items).rank_self(top=60).ids
        return (labels[ids] == labels[:, None]).mean()

    assert precision("auto") > precision("plain") + 0.02
