"""Pools, anchors and tuples against loops written from the equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from foldwalk.core import BadInput, BadParameter, Graph, MissingData, NotFitted
from foldwalk.core.seeds import generator
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining import ManifoldMiner, Pools, draw_tuples, hardest_negatives
from foldwalk.learn.mining.graph import modes, mutual_graph, stationary_distribution
from foldwalk.learn.mining.sets import members
from foldwalk.neighbors import knn_graph, prepare
from samples import clustered


def nearest_naive(x: np.ndarray, k: int) -> list[list[int]]:
    similar = x.astype(np.float64) @ x.T.astype(np.float64)
    return [[j for j in np.argsort(-row, kind="stable") if j != i][:k] for i, row in enumerate(similar)]


def walk_naive(x: np.ndarray, k: int, alpha: float) -> np.ndarray:
    """(1 - alpha)(I - alpha A^)^-1 by its definition."""
    n = len(x)
    lists = nearest_naive(x, k)
    affinity = np.zeros((n, n))
    for i in range(n):
        for j in lists[i]:
            if i in lists[j]:
                affinity[i, j] = max(float(x[i].astype(np.float64) @ x[j].astype(np.float64)), 0) ** 3
    degree = affinity.sum(axis=1)
    root = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degree])
    return (1 - alpha) * np.linalg.inv(np.eye(n) - alpha * root[:, None] * affinity * root[None, :])


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    return clustered(90, 8, 5, seed=3)


@pytest.fixture(scope="module")
def miner(points) -> ManifoldMiner:
    return ManifoldMiner(graph_k=6, positive_k=12, negative_k=20, alpha=0.9, steps=300).fit(points[0])


def test_pools_are_the_set_differences_of_equations_5_and_6(points, miner):
    x = points[0]
    similar = walk_naive(x, 6, 0.9)
    for anchor in range(len(x)):
        reached = [
            j
            for j in np.argsort(-similar[anchor], kind="stable")
            if j != anchor and similar[anchor, j] > 1e-9
        ]
        close = nearest_naive(x, 20)[anchor]
        positives = [j for j in reached[:12] if j not in close[:12]]
        negatives = [j for j in close[:20] if j not in reached[:20]]
        row = miner.pools.positives[anchor]
        found = row[row >= 0].tolist()
        assert found == positives
        np.testing.assert_allclose(
            miner.pools.positive_similarities[anchor, : len(found)], similar[anchor, found], rtol=1e-3
        )
        row = miner.pools.negatives[anchor]
        assert row[row >= 0].tolist() == negatives


def test_pools_are_cut_from_the_end(points, miner):
    short = ManifoldMiner(
        graph_k=6, positive_k=12, negative_k=20, alpha=0.9, steps=300, keep_positives=2, keep_negatives=3
    ).fit(points[0])
    assert short.pools.positives.shape[1] == 2
    assert short.pools.negatives.shape[1] == 3
    np.testing.assert_array_equal(short.pools.positives, miner.pools.positives[:, :2])
    np.testing.assert_array_equal(short.pools.negatives, miner.pools.negatives[:, :3])


def test_positives_and_negatives_never_meet(points):
    for wider in ({"positive_k": 30, "negative_k": 10}, {"positive_k": 10, "negative_k": 30}):
        pools = ManifoldMiner(graph_k=5, **wider).fit(points[0]).pools
        for positives, negatives in zip(pools.positives, pools.negatives, strict=True):
            assert not set(positives[positives >= 0]) & set(negatives[negatives >= 0])


def test_the_default_steps_find_the_exact_pools():
    """Twenty steps, the paper's, find 0.95 of these."""
    x = np.random.default_rng(0).normal(size=(600, 3))
    exact, found = (ManifoldMiner(graph_k=12, **steps).fit(x).pools for steps in ({"steps": 1000}, {}))
    for name in ("positives", "negatives"):
        wanted = getattr(exact, name)
        there = members(wanted, getattr(found, name), len(x))
        assert there.sum() > 0.99 * (wanted >= 0).sum()


def test_stationary_distribution_is_stationary_and_modes_are_peaks():
    x = Vectors.check(np.random.default_rng(5).normal(size=(150, 4)))
    graph = mutual_graph(knn_graph(prepare(x, "cosine"), 6), 6)
    dense = graph.matrix.toarray().astype(np.float64)
    pi = stationary_distribution(graph)
    inside = pi > 0
    walk = dense[np.ix_(inside, inside)]
    walk /= walk.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pi[inside] @ walk, pi[inside], atol=1e-9)
    assert pi.sum() == pytest.approx(1)
    peaks = [i for i in range(len(x)) if pi[i] > 0 and all(pi[i] > pi[j] for j in np.flatnonzero(dense[i]))]
    peaks.sort(key=lambda i: -pi[i])
    assert len(peaks) > 1
    assert modes(graph, 100).tolist() == peaks
    assert modes(graph, 1).tolist() == peaks[:1]


def test_only_the_largest_component_has_a_share():
    dense = np.zeros((5, 5), np.float32)
    for i, j, weight in ((0, 1, 1), (1, 2, 2), (3, 4, 9)):
        dense[i, j] = dense[j, i] = weight
    graph = Graph(sparse.csr_array(dense))
    np.testing.assert_allclose(stationary_distribution(graph), [1 / 6, 3 / 6, 2 / 6, 0, 0])
    assert modes(graph, 5).tolist() == [1]


def test_anchors_by_modes_and_at_random(points):
    few = {"graph_k": 6, "positive_k": 10, "negative_k": 20}
    by_mode = ManifoldMiner(**few, anchors=3).fit(points[0])
    np.testing.assert_array_equal(by_mode.pools.anchors, modes(by_mode.graph, 3))
    random, other = (
        ManifoldMiner(**few, anchors=7, anchor_choice="random", seed=seed).fit(points[0]).pools.anchors
        for seed in (1, 2)
    )
    assert len(set(random.tolist())) == 7
    assert random.tolist() != other.tolist()


def test_euclidean_baseline(points):
    x = points[0]
    pools = (
        ManifoldMiner(graph_k=6, positives="euclidean", negatives="euclidean", keep_negatives=9).fit(x).pools
    )
    close = nearest_naive(x, 5)
    for anchor, (positives, negatives) in enumerate(zip(pools.positives, pools.negatives, strict=True)):
        assert positives.tolist() == close[anchor]
        assert len(set(negatives.tolist())) == 9
        assert not set(negatives.tolist()) & {anchor, -1, *close[anchor]}


def test_cyclic_match_finds_common_cycles(points):
    x = points[0][:30]
    pools = ManifoldMiner(graph_k=4, positives="cyclic", cyclic_k=2, cycle=4, positive_k=9).fit(x).pools
    close = nearest_naive(x, 2)

    def walks(i: int, length: int) -> list[int]:
        ends = [i]
        for _ in range(length):
            ends = [j for end in ends for j in close[end]]
        return ends

    for anchor in range(30):
        cycles: dict[int, int] = {}
        for there in (1, 2, 3):
            for middle in walks(anchor, there):
                for back in range(1, 4 - there + 1):
                    if middle != anchor:
                        cycles[middle] = cycles.get(middle, 0) + walks(middle, back).count(anchor)
        wanted = {item: count for item, count in cycles.items() if count}
        row = pools.positives[anchor]
        found = dict(zip(row[row >= 0].tolist(), pools.positive_similarities[anchor].tolist(), strict=False))
        assert found == wanted


def test_weights_have_mean_one_and_the_ratios_of_the_similarities(miner):
    weights, similar = miner.pools.positive_weights, miner.pools.positive_similarities
    present = miner.pools.positives >= 0
    assert weights[present].mean() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(weights[present] * similar[present].mean(), similar[present], rtol=1e-4)


def test_report_counts_by_hand():
    pools = Pools(
        4,
        np.array([0, 3]),
        np.array([[1, 2], [-1, -1]], np.int32),
        np.array([[0.5, 0.1], [0, 0]], np.float32),
        np.array([[3], [2]], np.int32),
        np.array([[0.9], [0.8]], np.float32),
    )
    miner = ManifoldMiner()
    miner._pools, miner.seconds = pools, 1.0
    miner._vectors = Vectors.check(np.array([[1, 0], [0, 1], [1, 0], [1, 0]]))
    report = miner.report(["a", "a", "b", "b"])
    assert (report.anchors, report.items, report.usable) == (2, 4, 1)
    assert (report.positives, report.negatives) == (1.0, 1.0)
    assert (report.positive_similarity, report.negative_similarity) == (0.5, 1.0)
    assert (report.positive_precision, report.negative_precision) == (0.5, 0.5)
    assert "50.0 % right" in str(report)
    assert miner.report().positive_precision is None
    with pytest.raises(BadInput, match="3 labels for 4 items"):
        miner.report([1, 2, 3])


def test_what_was_mined_does_not_follow_the_callers_array():
    features = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    miner = ManifoldMiner(metric="euclidean", graph_k=5, positive_k=5, negative_k=5).fit(features)
    before = miner.report()
    features *= 0
    assert miner.report() == before


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_pools_survive_saving(tmp_path, miner, suffix):
    path = miner.pools.save(tmp_path / f"pools{suffix}")
    again = Pools.load(path)
    assert again.items == miner.pools.items
    for name in ("anchors", "positives", "positive_similarities", "negatives", "negative_similarities"):
        np.testing.assert_array_equal(getattr(again, name), getattr(miner.pools, name))


def test_broken_and_missing_files_are_refused(tmp_path, miner):
    with pytest.raises(MissingData):
        Pools.load(tmp_path / "nowhere.npz")
    (tmp_path / "bad.npz").write_bytes(b"not a zip")
    with pytest.raises(BadInput, match="does not hold pools"):
        Pools.load(tmp_path / "bad.npz")
    with pytest.raises(BadInput, match=r"\.npz or \.parquet"):
        miner.pools.save(tmp_path / "pools.pkl")


def test_hardest_negatives_and_tuples(points, miner):
    embedding = points[0][:, ::-1] * np.arange(1, 9, dtype=np.float32)
    unit = embedding / np.linalg.norm(embedding, axis=1, keepdims=True)
    harder = hardest_negatives(miner.pools, embedding, 4)
    for row, anchor in enumerate(miner.pools.anchors):
        pool = [j for j in miner.pools.negatives[row] if j >= 0]
        pool.sort(key=lambda j: -float(unit[anchor] @ unit[j]))
        found = harder.negatives[row]
        assert found[found >= 0].tolist() == pool[:4]
    tuples = draw_tuples(harder, generator(0, "test"))
    usable = (miner.pools.positive_counts > 0) & (miner.pools.negative_counts > 0)
    assert sorted(tuples.anchors.tolist()) == miner.pools.anchors[usable].tolist()
    for a, p, n, w in zip(tuples.anchors, tuples.positives, tuples.negatives, tuples.weights, strict=True):
        assert n in harder.negatives[a]
        column = miner.pools.positives[a].tolist().index(p)
        assert w == miner.pools.positive_weights[a, column]


def test_bad_input_is_refused():
    with pytest.raises(BadParameter, match="alpha"):
        ManifoldMiner(alpha=1.0)
    with pytest.raises(NotFitted):
        _ = ManifoldMiner().pools
    with pytest.raises(BadInput, match="three items"):
        ManifoldMiner().fit(np.eye(2))


def test_oracles_are_pools_by_label(points):
    x, labels = points
    unit = Vectors.check(x).unit().values
    oracle = ManifoldMiner(positives="labels", negatives="labels", keep_positives=4, keep_negatives=3)
    pools = oracle.fit(x, labels).pools
    similar = unit @ unit.T
    for anchor in range(len(x)):
        order = [j for j in np.argsort(-similar[anchor], kind="stable") if j != anchor]
        same = [j for j in order if labels[j] == labels[anchor]][:4]
        other = [j for j in order if labels[j] != labels[anchor]][:3]
        assert pools.positives[anchor].tolist() == same
        assert pools.negatives[anchor].tolist() == other
    report = oracle.report(labels)
    assert (report.positive_precision, report.negative_precision) == (1.0, 1.0)
    with pytest.raises(BadInput, match="need them"):
        oracle.fit(x)
    with pytest.raises(BadInput, match="2 labels for 90"):
        oracle.fit(x, [0, 1])
