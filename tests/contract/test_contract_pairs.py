"""What every method promises where distances or similarities of pairs are handed in instead of vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from foldwalk import rerank
from foldwalk.core import BadInput, NotFitted, TooFewNeighbors, Vectors
from foldwalk.neighbors import prepare
from samples import clustered

NAMES = rerank.names()
TAKES = [name for name in NAMES if rerank.describe(name).takes_distances]
GALLERY, LABELS = clustered()
N = len(GALLERY)


def distances_of(vectors):
    """Euclidean, pair by pair."""
    wide = vectors.astype(np.float64)
    return np.array([[np.linalg.norm(a - b) for b in wide] for a in wide])


DISTANCES = distances_of(GALLERY)
UNIT = GALLERY / np.linalg.norm(GALLERY, axis=1, keepdims=True).astype(np.float64)
COSINES = np.clip(UNIT @ UNIT.T, -1, 1)


def ranked_by_vectors(name, vectors, distances, top):
    """The same method on the vectors, measured by the unit of the distances."""
    unit = np.median(distances[~np.eye(len(distances), dtype=bool)]) / np.sqrt(2)
    prepared = prepare(Vectors.check(vectors), "euclidean", scale=unit)
    return rerank.create(name, metric="euclidean").adopt(prepared).rank_self(top)


def agreement(one, other):
    return (one.ids == other.ids).mean()


def one_sentence(error):
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=TAKES)
def taking(request):
    return request.param


def test_methods_that_live_on_neighbours_take_distances():
    assert {"plain", "auto", "cas", "k_reciprocal", "cdm", "egt", "dfs", "fsr", "eir", "rdp", "gdp"} <= {
        *TAKES
    }
    assert not {"aqe", "dqe", "sg", "gradnet", "gss", "lattqe", "csa", "ssr"} & {*TAKES}


def test_it_ranks_or_says_that_it_needs_vectors(name):
    for known in ({"distances": DISTANCES}, {"graph": COSINES}):
        method = rerank.create(name)
        if name in TAKES:
            ranking = method.fit(**known).rank_self(top=10_000)
            assert (np.sort(ranking.ids, axis=1) == [np.delete(np.arange(N), i) for i in range(N)]).all()
            assert np.isfinite(ranking.scores).all()
            assert (np.diff(ranking.scores, axis=1) <= 0).all()
            assert (LABELS[ranking.ids[:, :8]] == LABELS[:, None]).mean() > 0.95
        else:
            with pytest.raises(BadInput) as caught:
                method.fit(**known)
            assert one_sentence(caught).startswith(
                f"{name} works on vectors, which distances and graphs do not"
            )
            with pytest.raises(NotFitted):
                method.rank_self()


def test_distances_of_vectors_rank_as_the_vectors_do_in_every_unit(taking):
    fitted = ranked_by_vectors(taking, GALLERY, DISTANCES, 40)
    for unit in (1e-12, 1.0, 1e12):
        for metric in ("cosine", "euclidean"):  # a parameter about vectors, of which there are none
            known = rerank.create(taking, metric=metric).fit(distances=unit * DISTANCES)
            assert agreement(known.rank_self(top=40), fitted) > 0.97
    # Vectors by themselves are measured by another number that says nearly the same.
    usual = rerank.create(taking, metric="euclidean").fit(GALLERY).rank_self(top=10)
    shared = [np.intersect1d(a, b).size for a, b in zip(usual.ids, fitted.ids[:, :10], strict=True)]
    assert np.mean(shared) > 9.3


def test_cosines_of_vectors_rank_as_the_vectors_do(taking):
    fitted = rerank.create(taking, views="raw").fit(GALLERY).rank_self(top=40)
    assert agreement(rerank.create(taking).fit(graph=COSINES).rank_self(top=40), fitted) > 0.97


def test_a_sparse_matrix_of_all_pairs_is_the_dense_one(taking):
    rows = ~np.eye(N, dtype=bool)
    whole = sparse.csr_array((DISTANCES[rows], np.nonzero(rows)), shape=(N, N))
    for kind in (whole, sparse.csc_matrix(whole), sparse.coo_array(whole)):
        ranking = rerank.create(taking).fit(distances=kind).rank_self(top=30)
        assert (
            ranking.scores.tobytes()
            == rerank.create(taking).fit(distances=DISTANCES).rank_self(top=30).scores.tobytes()
        )


def test_a_graph_of_the_nearest_is_enough_or_it_says_how_many_are(taking):
    graph = kneighbors_graph(GALLERY, 30, mode="distance")
    before = graph.copy()
    method = rerank.create(taking)
    try:
        method.fit(distances=graph)
    except TooFewNeighbors as error:
        assert f"more than 30 neighbours, but {taking} needs" in str(error)  # noqa: PT017
        graph = kneighbors_graph(GALLERY, N - 1, mode="distance")
        method.fit(distances=graph)
    else:
        assert (graph != before).nnz == 0
    ranking = method.rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95
    some = method.rank_rows([5, 77], top=8)
    assert (some.ids == ranking.ids[[5, 77]]).mean() > 0.9


def test_items_in_another_order_rank_the_same(taking):
    order = np.random.default_rng(0).permutation(N)
    one = rerank.create(taking).fit(distances=DISTANCES).rank_self(top=20)
    other = rerank.create(taking).fit(distances=DISTANCES[np.ix_(order, order)]).rank_self(top=20)
    assert (np.abs(other.scores - one.scores[order]) < 1e-4).mean() > 0.99
    assert np.mean([len({*a} & {*b}) for a, b in zip(order[other.ids], one.ids[order], strict=True)]) > 19


def test_few_items_and_one(taking):
    for n in (1, 2, 4):
        ranking = rerank.create(taking).fit(distances=DISTANCES[:n, :n]).rank_self()
        assert ranking.ids.shape == (n, n - 1)
        assert (ranking.ids != np.arange(n)[:, None]).all()


def test_distances_need_not_be_symmetric(taking):
    rng = np.random.default_rng(1)
    uneven = DISTANCES * rng.uniform(0.8, 1.25, DISTANCES.shape)
    ranking = rerank.create(taking).fit(distances=uneven).rank_self(top=10)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.9
    if taking == "plain":
        np.fill_diagonal(uneven, np.inf)
        assert (ranking.ids == np.argsort(uneven, axis=1)[:, :10]).all()


def test_copies_of_items_rank_as_copied_vectors_do(taking):
    twice = np.repeat(GALLERY[:40], 2, axis=0)
    distances = distances_of(twice)
    ranking = rerank.create(taking).fit(distances=distances).rank_self(top=20)
    fitted = ranked_by_vectors(taking, twice, distances, 20)
    assert agreement(ranking, fitted) > 0.9  # copies may change places
    if taking == "plain":
        assert (ranking.ids[:, 0] == np.arange(80) ^ 1).all()
    all_alike = rerank.create(taking).fit(distances=np.zeros((30, 30))).rank_self(top=29)
    assert (np.sort(all_alike.ids, axis=1) == [np.delete(np.arange(30), i) for i in range(30)]).all()


def test_new_queries_need_vectors(taking):
    method = rerank.create(taking).fit(distances=DISTANCES)
    with pytest.raises(BadInput) as caught:
        method.rank(GALLERY[:2])
    assert one_sentence(caught).startswith(
        f"{taking} was fitted without vectors and cannot compare new queries"
    )
    fitted = rerank.create(taking).fit(GALLERY).rank(GALLERY[:2])
    assert method.fit(GALLERY).rank(GALLERY[:2]).scores.tobytes() == fitted.scores.tobytes()


def test_saved_and_loaded_it_ranks_the_same(taking, tmp_path):
    for known in ({"distances": kneighbors_graph(GALLERY, N - 1, mode="distance")}, {"graph": COSINES}):
        method = rerank.create(taking, seed=5).fit(**known)
        again = rerank.load(rerank.save(method, tmp_path / "fitted.npz"))
        assert again.rank_self(top=30).scores.tobytes() == method.rank_self(top=30).scores.tobytes()
        with pytest.raises(BadInput, match="fitted without vectors"):
            again.rank(GALLERY[:2])
