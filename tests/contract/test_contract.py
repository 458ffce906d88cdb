"""What every registered method promises. A method added later is tested here without an edit."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter, NotFitted, TooFewNeighbors, UnknownName, Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.registry import FAMILIES, method_class
from samples import clustered

NAMES = rerank.names()
GALLERY, LABELS = clustered()
QUERIES, QUERY_LABELS = clustered(n=12, seed=1)
QUERIES = np.concatenate([GALLERY[:6] + 0.02, QUERIES[6:]]).astype(np.float32)


# The contract does not depend on how long a method learns.
QUICK = {
    "gradnet": {"epochs": 3},
    "gss": {"steps": 3},
    "lattqe": {"steps": 3},
    "csa": {"steps": 3},
    "ssr": {"steps": 3},
}


def create(name, **parameters):
    return rerank.create(name, **{**QUICK.get(name, {}), **parameters})


def check_total_order(ranking, queries, top, items):
    assert ranking.ids.shape == ranking.scores.shape == (queries, top)
    assert ranking.ids.dtype == np.int64
    assert ranking.scores.dtype == np.float32
    assert np.isfinite(ranking.scores).all()
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    if top == items:
        assert (np.sort(ranking.ids, axis=1) == np.arange(items)).all()
    else:
        assert all(len(set(row)) == top for row in ranking.ids.tolist())


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_ranks_unseen_queries_in_a_total_order(name):
    method = create(name).fit(GALLERY)
    check_total_order(method.rank(QUERIES, top=10), len(QUERIES), 10, len(GALLERY))
    check_total_order(method.rank(QUERIES, top=10_000), len(QUERIES), len(GALLERY), len(GALLERY))


def test_ranks_transductively_in_a_total_order(name):
    ranking = create(name).rerank(QUERIES, GALLERY, top=10_000)
    check_total_order(ranking, len(QUERIES), len(GALLERY), len(GALLERY))


def test_ranks_the_gallery_itself_without_the_item(name):
    ranking = create(name).fit(GALLERY).rank_self(top=10_000)
    n = len(GALLERY)
    check_total_order(ranking, n, n - 1, n)
    assert not (ranking.ids == np.arange(n)[:, None]).any()


def test_a_shorter_answer_is_the_head_of_a_longer_one(name):
    method = create(name).fit(GALLERY)
    assert (method.rank(QUERIES, top=7).ids == method.rank(QUERIES, top=70).ids[:, :7]).all()
    assert (method.rank_self(top=7).ids == method.rank_self(top=70).ids[:, :7]).all()


def test_finds_the_clusters(name):
    """On well separated clusters nearly all of the first ten share the query's label, in every mode."""
    method = create(name).fit(GALLERY)
    labels = LABELS[method.rank_self(top=10).ids]
    assert (labels == LABELS[:, None]).mean() > 0.95
    for ranking in (method.rank(GALLERY[:20], top=10), create(name).rerank(GALLERY[:20], GALLERY, 10)):
        assert (LABELS[ranking.ids] == LABELS[:20, None]).mean() > 0.95


def test_the_order_of_the_gallery_does_not_matter(name):
    shuffle = np.random.default_rng(0).permutation(len(GALLERY))
    straight = create(name).rerank(QUERIES, GALLERY, top=30)
    shuffled = create(name).rerank(QUERIES, GALLERY[shuffle], top=30)
    assert np.allclose(straight.scores, shuffled.scores, atol=1e-3)
    back = shuffle[shuffled.ids]
    for a, b, scores in zip(straight.ids, back, straight.scores, strict=True):
        # Neighbours in the ranking whose scores differ by no more than rounding may change places.
        for place in np.flatnonzero(a != b):
            twin = int(np.flatnonzero(a == b[place])[0]) if b[place] in a else len(a) - 1
            assert abs(scores[place] - scores[twin]) < 1e-3


def test_the_other_queries_of_a_batch_do_not_matter(name):
    method = create(name).fit(GALLERY)
    together = method.rank(QUERIES, top=20)
    alone = [method.rank(query[None], top=20) for query in QUERIES]
    assert np.allclose(together.scores, np.concatenate([r.scores for r in alone]), atol=1e-4)
    assert (together.ids == np.concatenate([r.ids for r in alone])).mean() > 0.98


def test_same_input_and_seed_give_the_same_bytes(name):
    runs = [create(name, seed=3).rerank(QUERIES, GALLERY, top=20) for _ in range(2)]
    runs += [create(name, seed=3).rerank(QUERIES.copy(), GALLERY.astype(np.float64), top=20)]
    assert len({r.ids.tobytes() + r.scores.tobytes() for r in runs}) == 1
    fitted = [create(name, seed=3).fit(GALLERY) for _ in range(2)]
    assert len({f.rank(QUERIES).scores.tobytes() for f in fitted}) == 1
    assert len({f.rank_self().ids.tobytes() for f in fitted}) == 1


def test_duplicates(name):
    doubled = np.concatenate([GALLERY[:40], GALLERY[:40], np.repeat(GALLERY[:1], 60, axis=0)])
    for ranking in (
        create(name).rerank(QUERIES, doubled, top=1000),
        create(name).fit(doubled).rank(QUERIES, top=1000),
    ):
        check_total_order(ranking, len(QUERIES), len(doubled), len(doubled))
    own = create(name).fit(doubled).rank_self(top=1)
    # The first answer to an item that exists many times is one of its copies.
    assert np.allclose(doubled[own.ids[80:, 0]], doubled[80:], atol=1e-6)


def test_zero_vectors_come_last(name):
    holed = GALLERY.copy()
    holed[[3, 50, 119]] = 0
    method = create(name).fit(holed)
    ranking = method.rank(QUERIES, top=1000)
    assert (np.sort(ranking.ids[:, -3:], axis=1) == [3, 50, 119]).all()
    transductive = create(name).rerank(QUERIES, holed, top=1000)
    assert (np.sort(transductive.ids[:, -3:], axis=1) == [3, 50, 119]).all()
    check_total_order(method.rank(np.zeros((1, GALLERY.shape[1])), top=1000), 1, len(holed), len(holed))
    check_total_order(method.rank_self(top=1000), len(holed), len(holed) - 1, len(holed))
    nothing = create(name).fit(np.zeros((5, 4)))
    check_total_order(nothing.rank(np.zeros((2, 4))), 2, 5, 5)
    check_total_order(nothing.rank_self(), 5, 4, 5)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_fewer_items_than_neighbours(name, n):
    few = GALLERY[:n]
    check_total_order(create(name).fit(few).rank(QUERIES), len(QUERIES), n, n)
    check_total_order(create(name).rerank(QUERIES[:1], few), 1, n, n)
    own = create(name).fit(few).rank_self()
    assert own.ids.shape == (n, n - 1)


def test_disconnected_graph(name):
    """Two groups at right angles: whoever starts in one finds all of it before any of the other."""
    left = np.hstack([np.abs(GALLERY[:60]), np.zeros((60, 16))])
    right = np.hstack([np.zeros((60, 16)), np.abs(GALLERY[60:])])
    both = np.concatenate([left, right])
    sides = np.arange(120) >= 60
    for ranking in (
        create(name).fit(both).rank(both[[0, 100]], top=120),
        create(name).rerank(both[[0, 100]], both, top=120),
    ):
        assert not sides[ranking.ids[0, :60]].any()
        assert sides[ranking.ids[1, :60]].all()
    own = create(name).fit(both).rank_self(top=59)
    assert (sides[own.ids] == sides[:, None]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_refuses_what_is_not_finite(name, bad):
    broken = GALLERY.copy()
    broken[7, 2] = bad
    with pytest.raises(BadInput, match=r"gallery, row 7, column 2"):
        create(name).fit(broken)
    with pytest.raises(BadInput, match=r"queries, row 7, column 2"):
        create(name).fit(GALLERY).rank(broken)
    with pytest.raises(BadInput, match=r"queries, row 7, column 2"):
        create(name).rerank(broken, GALLERY)


def test_refuses_what_does_not_fit(name):
    method = create(name).fit(GALLERY)
    with pytest.raises(BadInput, match="16 were expected"):
        method.rank(QUERIES[:, :5])
    with pytest.raises(BadInput, match="2-D"):
        method.rank(QUERIES[0])
    with pytest.raises(BadInput, match="top"):
        method.rank(QUERIES, top=0)
    with pytest.raises(NotFitted, match="fit"):
        create(name).rank(QUERIES)
    with pytest.raises(NotFitted, match="fit"):
        create(name).rank_self()


def test_reranking_leaves_the_fitted_state_alone(name):
    method = create(name).fit(GALLERY)
    before = method.rank(QUERIES).scores.tobytes()
    method.rerank(QUERIES[:3], GALLERY[:30])
    assert method.rank(QUERIES).scores.tobytes() == before


def test_neighbours_may_be_handed_in(name):
    known = knn_graph(Vectors.check(GALLERY).unit(), len(GALLERY) - 1)
    given = create(name).fit(GALLERY, neighbors=(known.ids, known.similarities))
    assert (given.rank(QUERIES).ids == create(name).fit(GALLERY).rank(QUERIES).ids).all()


def fewest_neighbours(name, **parameters):
    """The fewest neighbours that a method can take, and the rest of them cut off."""
    known = knn_graph(Vectors.check(GALLERY).unit(), len(GALLERY) - 1)
    method = create(name, **parameters)
    for k in range(len(GALLERY)):
        if method.can_take(known.first(k), len(GALLERY)):
            return known.first(k), known.first(max(k - 1, 0))
    raise AssertionError("it cannot even take all of them")


def test_it_says_which_neighbours_are_enough(name):
    sizes = [{}]
    if "dba" in {p.name for p in rerank.describe(name).parameters}:
        sizes.append({"dba": True})
    for parameters in sizes:
        enough, fewer = fewest_neighbours(name, **parameters)
        create(name, **parameters).fit(GALLERY, neighbors=enough)
        if fewer.k < enough.k:
            with pytest.raises(TooFewNeighbors, match="needs"):
                create(name, **parameters).fit(GALLERY, neighbors=fewer)
    assert not create(name).can_take(enough, len(GALLERY) + 1)
    assert not create(name, metric="euclidean").can_take(enough, len(GALLERY))


def test_y_is_not_taken_for_neighbours(name):
    fitted = create(name).fit(GALLERY, LABELS)
    assert fitted.rank(QUERIES).ids.tobytes() == create(name).fit(GALLERY).rank(QUERIES).ids.tobytes()
    known = knn_graph(Vectors.check(GALLERY).unit(), 5)
    with pytest.raises(BadInput, match="by name"):
        create(name).fit(GALLERY, known)


def test_ranks_rows_of_its_own(name):
    method = create(name).fit(GALLERY)
    rows = [7, 3, 110]
    some, everyone = method.rank_rows(rows, top=20), method.rank_self(top=20)
    assert np.allclose(some.scores, everyone.scores[rows], atol=1e-4)
    assert (some.ids == everyone.ids[rows]).mean() > 0.95
    for wrong in ([-1], [120], [0.5], [], 3):
        with pytest.raises(BadInput, match="rows must be"):
            method.rank_rows(wrong)


def test_takes_over_a_gallery_with_what_was_kept_of_it(name):
    method = create(name).fit(GALLERY)
    again = create(name).adopt(method.vectors, neighbors=method.known_neighbors, state=method.state())
    assert again.vectors is method.vectors
    assert again.rank(QUERIES).scores.tobytes() == method.rank(QUERIES).scores.tobytes()


def test_without_joining_reranking_is_fitting_and_ranking(name):
    if method_class(name).joins_graph:
        pytest.skip("queries join the graph")
    fitted = create(name).fit(GALLERY).rank(QUERIES, top=30)
    assert create(name).rerank(QUERIES, GALLERY, top=30).scores.tobytes() == fitted.scores.tobytes()


def test_answers_from_rows_without_the_vectors(name, monkeypatch):
    if not method_class(name).answers_from_rows:
        pytest.skip("needs vectors or the whole graph")
    method = create(name).fit(GALLERY)
    wanted = method.rank(QUERIES, top=20)

    class Forgotten:
        dim = GALLERY.shape[1]

        def __len__(self):
            return len(GALLERY)

    for cached in ("everyone", "sample", "few"):
        vars(method).pop(cached, None)
    monkeypatch.setattr(method, "_vectors", Forgotten())
    assert method.rank(QUERIES, top=20).scores.tobytes() == wanted.scores.tobytes()


def test_half_fitted_is_not_fitted(name, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    method = create(name).fit(GALLERY)
    monkeypatch.setattr(method, "_prepare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        method.fit(GALLERY)
    with pytest.raises(NotFitted):
        method.rank(QUERIES)


def test_what_is_fitted_does_not_follow_the_callers_array(name):
    for metric in ("cosine", "euclidean"):
        mine = GALLERY.copy()
        method = create(name, metric=metric).fit(mine)
        before = method.rank(QUERIES).scores.tobytes()
        mine[:] = 1
        assert method.rank(QUERIES).scores.tobytes() == before


def test_scikit_learn_finds_its_parameters(name):
    method = method_class(name)(seed=7, **QUICK.get(name, {}))
    parameters = method.get_params()
    assert set(parameters) == {p.name for p in rerank.describe(name).parameters} | {"seed"}
    assert set(inspect.signature(method_class(name)).parameters) == set(parameters)
    copied = clone(method.fit(GALLERY))
    assert copied.get_params() == parameters
    with pytest.raises(NotFitted):
        copied.rank(QUERIES)
    assert copied.set_params(metric="euclidean", seed=3) is copied
    assert (copied.params.metric, copied.seed, copied.get_params()["metric"]) == ("euclidean", 3, "euclidean")
    with pytest.raises(BadParameter, match=f"{name}: parameter metric is"):
        copied.set_params(metric="taxi")
    with pytest.raises(BadParameter, match="did you mean metric"):
        copied.set_params(metrics="cosine")
    assert copied.params.metric == "euclidean"
    with pytest.raises(NotFitted):
        method.set_params(metric="euclidean").rank(QUERIES)


def test_euclidean_metric(name):
    shifted = 3 * GALLERY + 5
    method = create(name, metric="euclidean").fit(shifted)
    check_total_order(method.rank(3 * QUERIES + 5, top=1000), len(QUERIES), len(GALLERY), len(GALLERY))
    assert (LABELS[method.rank_self(top=10).ids] == LABELS[:, None]).mean() > 0.95


def in_unit(name, unit):
    """First answers of some gallery and queries whose numbers are `unit` times as large, in every mode."""
    gallery, queries = unit * (GALLERY + 1.0), unit * (QUERIES + 1.0)
    method = create(name, metric="euclidean").fit(gallery)
    joined = create(name, metric="euclidean").rerank(queries, gallery, top=10)
    return [answer.ids for answer in (method.rank_self(top=10), method.rank(queries, top=10), joined)]


def test_the_unit_of_the_vectors_does_not_matter(name):
    wanted = in_unit(name, 1.0)
    units = (1e-12, 1e12) if method_class(name).needs_training else (1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e12)
    for unit in units:
        for ids, true in zip(in_unit(name, unit), wanted, strict=True):
            shared = [len(np.intersect1d(a, b)) / 10 for a, b in zip(ids, true, strict=True)]
            assert np.mean(shared) >= 0.99
            assert (ids == true).mean() >= 0.95


def test_saved_and_loaded_it_ranks_the_same(name, tmp_path):
    for metric, unit in (("cosine", 1), ("euclidean", 1e-6)):
        method = create(name, seed=5, metric=metric).fit(unit * GALLERY)
        again = rerank.load(rerank.save(method, tmp_path / "fitted.npz"))
        queries = unit * QUERIES
        assert again.rank(queries).scores.tobytes() == method.rank(queries).scores.tobytes()
        assert again.rank_self().ids.tobytes() == method.rank_self().ids.tobytes()


def test_card(name):
    card = rerank.describe(name)
    assert card.name == name
    assert card.family in FAMILIES
    assert card.paper
    assert card.summary
    for parameter in card.parameters:
        assert parameter.text, f"{parameter.name} says nothing"
        assert parameter.range, f"{parameter.name} has no range"


def test_parameters_out_of_range_are_named(name):
    for parameter in rerank.describe(name).parameters:
        wrong = []
        if parameter.low is not None:
            wrong.append(parameter.low - 1)
        if parameter.high is not None:
            wrong.append(parameter.high + 1)
        if parameter.choices:
            wrong.append("no such choice")
        if parameter.type == "bool":
            wrong.append("perhaps")
        if parameter.type == "str":
            wrong.append("no such text")
        assert wrong, f"{parameter.name} has no range"
        for value in wrong:
            with pytest.raises(ValueError, match=rf"{name}: parameter {parameter.name} is"):
                rerank.create(name, **{parameter.name: value})
    with pytest.raises(BadParameter, match="no_such_parameter"):
        rerank.create(name, no_such_parameter=1)


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(UnknownName, match="k_reciprocal"):
        rerank.create("k_reciprocl")
    with pytest.raises(ValueError, match="plain"):
        rerank.create("plane")


UNCUT = [name for name in NAMES if "dense" in {p.name for p in rerank.describe(name).parameters}]


@pytest.mark.parametrize("uncut", UNCUT)
def test_the_dense_form_is_for_few_items(uncut):
    check_total_order(create(uncut, dense=True).fit(GALLERY).rank(QUERIES, top=10), len(QUERIES), 10, 0)
    with pytest.raises(BadInput, match="dense=True holds n x n numbers and is refused above 5000 items"):
        create(uncut, dense=True).fit(np.ones((5001, 2)))
