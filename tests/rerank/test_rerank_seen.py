"""Methods in views that were learned before: used as they are, and left out of what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank, views
from foldwalk.core import BadInput
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.automatic import auto
from samples import clustered

ITEMS, _ = clustered(n=300, d=24, clusters=20)


@pytest.fixture(autouse=True)
def _every_view_counts(monkeypatch):
    monkeypatch.setattr(auto, "agreement", lambda _, names: np.full(len(names), -1, np.float32))


QUERIES, _ = clustered(n=5, d=24, clusters=20, seed=3)


class Learned:
    """Views of the first of the items; says whose neighbours were asked for."""

    version = 7

    def __init__(self, names, items=ITEMS[:200], k=50):
        self.chains, self.k, self.asked = views.learn(names, items), k, []

    def views(self, names):
        return {name: self.chains.get(name) or views.create(name) for name in names}

    def neighbors(self, name, seen, others=()):  # noqa: ARG002
        self.asked.append(name)
        return knn_graph(seen, self.k)


CASES = [("auto", {}, ["w25", "w50"]), ("cas", {"views": "raw,w50"}, ["w50"])]


def answers(method):
    return method.rank(QUERIES, 20).scores.tobytes(), method.rank_self(20).ids.tobytes()


@pytest.mark.parametrize(("name", "parameters", "wanted"), CASES)
def test_known_views_are_used_as_they_are(name, parameters, wanted):
    create = lambda: rerank.create(name, **parameters)  # noqa: E731
    assert create().views_wanted(len(ITEMS)) == tuple(wanted)
    learned, vectors = Learned(wanted), Vectors(ITEMS)
    method = create().adopt(vectors, learned=learned)
    assert method.known_views is learned
    assert answers(method) != answers(create().fit(ITEMS))  # which learns from all of them
    assert sorted(learned.asked) == wanted

    rest = method.state(whole=False)
    assert not [part for part in rest if part.startswith("view.") or part.endswith(".ids")]
    again = create().adopt(vectors, state=rest, learned=learned)
    assert answers(again) == answers(method)
    with pytest.raises(BadInput):
        create().adopt(vectors, state=rest)
    with pytest.raises(BadInput):
        create().adopt(vectors, state=method.state(), learned=learned)
    alone = create().adopt(vectors, state=method.state())
    assert answers(alone) == answers(method)


def test_what_two_views_share_is_kept_once():
    state = rerank.create("auto").fit(ITEMS).state()
    assert len([part for part in state if part.endswith("axes")]) == 1


def test_where_too_few_neighbours_are_known_it_finds_its_own_and_keeps_them():
    learned, vectors = Learned(["w50"], k=10), Vectors(ITEMS)
    method = rerank.create("cas", views="raw,w50").adopt(vectors, learned=learned)
    rest = method.state(whole=False)
    assert rest["w50.ids"].shape[1] > 10
    again = rerank.create("cas", views="raw,w50").adopt(vectors, state=rest, learned=learned)
    assert answers(again) == answers(method)


def test_plain_search_in_a_view_needs_no_neighbours():
    learned = Learned(["w50"])
    rerank.create("plain", views="w50").adopt(Vectors(ITEMS), learned=learned)
    assert not learned.asked


def test_who_sees_raw_vectors_alone_wants_no_views():
    assert rerank.create("cas").views_wanted(100) == ()
    assert rerank.create("auto").views_wanted(19) == ()
    assert rerank.create("auto", metric="euclidean").views_wanted(100) == ()
    assert rerank.create("auto", effort="low").views_wanted(100) == ("w50",)
    with pytest.raises(BadInput, match="cosine"):
        rerank.create("cas", views="w50", metric="euclidean").views_wanted(100)


def test_joined_views_that_learn_from_something_else_keep_their_own():
    chains = views.learn(["w50", "root+w50", "w25"], ITEMS)
    state = views.state(chains.values())
    assert len([part for part in state if part.endswith("axes")]) == 2
    for name, again in views.restore(list(chains), state, ITEMS.shape[1]).items():
        assert np.array_equal(again.see(QUERIES), chains[name].see(QUERIES))
