"""The fusion of views: the size of groups that are known, and the rule beside a plain form of it."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import datasets, rerank, views
from foldwalk.core import Neighbors, Vectors
from foldwalk.core.seeds import generator
from foldwalk.graph import mutuality
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.automatic import auto
from foldwalk.rerank.automatic.choice import Choice
from foldwalk.rerank.automatic.group import excess_mutuality, group_size, sizes_for
from foldwalk.rerank.automatic.halves import agreement
from foldwalk.walk import numbered
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
    def chosen(size, count, views=VIEWS, **agreement):
        return Choice.of(knn_graph(Vectors(groups(size, count)[0]), 70), size * count, views, agreement)

    large = chosen(12, 40)
    assert (large.parts, large.near, large.used) == ("F + .15 C", "w25", VIEWS)
    assert large.members == (("raw", True), ("w25", False), ("w50", True))
    small = chosen(4, 90)
    assert (small.parts, small.members, small.used) == ("W + C", (("w50", True),), ("w50",))
    assert chosen(12, 20).parts == "W + C"  # few items
    pairs = chosen(2, 150)
    assert (pairs.parts, pairs.members, pairs.used) == ("C", (), ("w50",))
    assert "about 12" in str(large)
    # Views in which the halves agree less are left out; alone for that reason, the raw one has paths alone.
    without = chosen(12, 40, raw=0.5, w25=0.49, w50=0.48)
    assert (without.views, without.left_out, without.curved) == (("raw", "w25"), ("w50",), False)
    alone = chosen(12, 40, raw=0.5, w25=0.4, w50=0.3)
    assert (alone.views, alone.members, alone.near) == (("raw",), (("raw", True),), "raw")
    assert "for w25 and w50 would blur" in str(alone)
    assert chosen(12, 40, ("raw",), raw=0.5, w25=0.6).members == (("raw", True), ("raw", False))
    assert chosen(12, 40, raw=-1.0, w25=-1.0, w50=-1.0).views == VIEWS  # nothing is known


def test_sizes_are_the_authors_or_smaller_in_proportion():
    assert sizes_for(60) == sizes_for(20) == {}
    assert sizes_for(8) == {"cluster_k": 8, "transition_k": 10, "markov_k": 10}
    assert sizes_for(1) == sizes_for(4) == {"cluster_k": 4, "transition_k": 5, "markov_k": 5}


def test_halves_agree_where_a_view_shows_more():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 10)
    # Every number tells the groups apart, but a few are much larger than the others.
    items = np.abs(rng.normal(size=(60, 64)))[labels] + 0.3 * np.abs(rng.normal(size=(600, 64)))
    telling = Vectors((items * rng.exponential(size=64) ** 2).astype(np.float32)).unit().values
    raw, w25, w50 = agreement(telling, VIEWS)
    assert w25 > raw
    assert w50 > raw
    # Curves in a few directions, noise of the same size in all: whitening makes it the loudest.
    curves = datasets.load("synthetic:600").gallery
    noisy = Vectors((curves + 0.05 * rng.normal(size=curves.shape)).astype(np.float32)).unit().values
    raw, w25, w50 = agreement(noisy, VIEWS)
    assert max(w25, w50) < 0.9 * raw
    fitted = rerank.create("auto").fit(noisy)
    assert (fitted.choice.used, fitted.choice.curved) == (("raw",), True)
    assert fitted.rank_self(5).note.endswith("in the raw view alone, for w25 and w50 would blur them.")


def test_agreement_by_loops():
    items, _ = groups(6, 20, dim=10, noise=0.3)
    order = generator(0, "halves of the numbers").permutation(10)
    lists = []
    for part in (order[:5], order[5:]):
        half = items[:, np.sort(part)]
        half = half / np.linalg.norm(half, axis=1, keepdims=True)
        similar = half @ half.T
        np.fill_diagonal(similar, -2)
        lists.append(np.argsort(-similar, axis=1)[:, :10])
    shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*lists, strict=True)])
    assert agreement(items, ("raw",))[0] == pytest.approx(shared, abs=1e-6)
    assert agreement(items[:, :3], VIEWS).tolist() == [-1, -1, -1]
    assert agreement(items[:2], VIEWS).tolist() == [-1, -1, -1]


def z_scores(method, rows, n, deep):
    """Dense (n, n): the first of each item's answer brought to the range from 0 to 1."""
    reached = method.reached_from_rows(rows, min(deep, n))
    out = np.zeros((len(rows), n))
    for row, (found, scores) in enumerate(zip(reached.ids, reached.scores, strict=True)):
        known = found >= 0
        found, scores = found[known], scores[known].astype(float)
        if len(found):
            span = scores[0] - scores[-1]
            out[row, found] = (scores - scores[-1]) / span if span else 1
    return out


def plainly(items, choice):
    """The rule of the docstring on dense matrices, whoever is reached directly."""
    n, rows = len(items), np.arange(len(items))
    seen = {name: view.see(items) for name, view in views.learn(VIEWS, items).items()}

    def walk(name, paths):
        sizes = sizes_for(choice.group_size) | {"geodesic": paths, "geodesic_k": 12}
        return z_scores(rerank.create("cas", **sizes).fit(seen[name]), rows, n, 200)

    def context(name):
        return z_scores(rerank.create("cdm", k=10).fit(seen[name]), rows, n, 150)

    if choice.group_size < 2:
        last, score = "w50", context("w50")
    elif choice.group_size <= 5 or n < 250:
        last, score = "w50", walk("w50", True) + context("w50")
    else:
        walks = walk("raw", True) + walk("w25", False) + walk("w50", True)
        last, score = "w25", walks / 3 + 0.15 * context("w25")
    total = np.where(score > 1e-9, score + 10, seen[last] @ seen[last].T)
    np.fill_diagonal(total, -np.inf)
    return np.argsort(-total, axis=1, kind="stable")[:, : n - 1]


@pytest.mark.parametrize(("size", "count"), [(12, 25), (3, 100), (2, 130), (12, 12)])
def test_it_ranks_by_the_rule(size, count, monkeypatch):
    monkeypatch.setattr(auto, "agreement", lambda _, names: np.full(len(names), -1, np.float32))
    items, _ = groups(size, count, dim=24, noise=0.2)
    fitted = rerank.create("auto").fit(items)
    expected = plainly(items, fitted.choice)
    for answer in (fitted.rank_self(top=30), fitted.rank_rows(np.arange(len(items)), 30)):
        shared = [len(np.intersect1d(a, b)) / 30 for a, b in zip(answer.ids, expected[:, :30], strict=True)]
        assert np.mean(shared) > 0.985


def test_blocks_of_queries_make_no_difference(monkeypatch):
    items, _ = groups(12, 25, dim=24, noise=0.2)
    fitted = rerank.create("auto").fit(items[:280])
    one, same = fitted.rank(items[280:], 20), fitted.rank_self(20)
    monkeypatch.setattr(auto, "BLOCK", 7)
    assert (fitted.rank(items[280:], 20).ids == one.ids).all()
    assert (fitted.rank_self(20).ids == same.ids).all()


def test_several_ways_of_one_fit(monkeypatch):
    items, _ = groups(10, 30, dim=24, noise=0.3)
    rows = np.arange(40)
    for above in (10**9, 0):  # items by their own numbers, and numbered along the graph
        monkeypatch.setattr(numbered, "NUMBER_ABOVE", above)
        fitted = rerank.create("cas").fit(items)
        alone = {way: rerank.create("cas", geodesic=way).fit(items) for way in (True, False)}
        new = Vectors(items[:5] + np.float32(0.01)).unit()
        for asked, answers in (
            (fitted.ask_from_rows(rows), {way: alone[way].reached_from_rows(rows, 50) for way in alone}),
            (
                fitted.ask(new, fitted.search(new, 200)),
                {way: alone[way].reached_from(new, 50) for way in alone},
            ),
        ):
            assert (fitted.along_paths(asked, 50).ids == answers[True].ids).mean() > 0.98
            assert np.allclose(fitted.along_paths(asked, 50).scores, answers[True].scores, atol=1e-5)
            assert np.allclose(fitted.directly(asked, 50).scores, answers[False].scores, atol=1e-5)
            listed = answers[False].ids[:, ::-1].copy()
            listed[:, 3] = -1
            among = fitted.among(asked, listed, 50)
            assert (among.ids[:, -1] == -1).all()
            assert (np.diff(among.scores[:, :-1], axis=1) <= 0).all()
            kept = answers[False].ids != answers[False].ids[:, [46]]
            expected = answers[False].scores[kept].reshape(len(listed), 49)
            assert np.allclose(among.scores[:, :-1], expected, atol=1e-5)


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


def test_of_many_items_one_search_serves_all_views(monkeypatch):
    monkeypatch.setattr(auto, "agreement", lambda _, names: np.full(len(names), -1, np.float32))
    items, labels = groups(12, 60, dim=24, noise=0.3)
    new = (items[::12] + 0.1 * generator(0, "queries").normal(size=(60, 24))).astype(np.float32)
    whole = rerank.create("auto").fit(items)
    searched = whole.rank(new, 10)
    monkeypatch.setattr(auto, "MANY", 0)
    monkeypatch.setattr("foldwalk.rerank.seen.FARTHEST_UP_TO", 0)
    beside = rerank.create("auto").fit(items)
    assert beside.seen.methods["w25"].known_neighbors.how == "beside"
    assert list(beside.seen.methods) == list(whole.seen.methods)
    monkeypatch.setattr(type(beside.seen.methods["w50"]), "search", None)  # w25 and w50 need none
    beside.seen.methods["raw"].search = whole.seen.methods["raw"].searcher.search
    walked = beside.rank(new, 10)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(searched.ids, walked.ids, strict=True)]) > 0.98
    found = [(labels[one.ids] == labels[::12][:, None]).mean() for one in (searched, walked)]
    assert found[1] == pytest.approx(found[0], abs=0.01)
