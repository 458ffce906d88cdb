"""Regional DFS beside a dense form, and what its poolings are for."""

from __future__ import annotations

import numpy as np
import pytest
from diffusion_naive import nearest, nearest_of, symmetric

from foldwalk.core import BadInput, BadParameter, NotFitted
from foldwalk.rerank import RegionalDFS
from samples import clustered

REGIONS, LABELS = clustered(n=75, d=10, clusters=5)
PICTURES = [REGIONS[i : i + 3] for i in range(0, 75, 3)]
QUERIES = [clustered(n=4, d=10, seed=s)[0] for s in (3, 8)]
EXACT = {"k": 8, "k_query": 5, "alpha": 0.9, "tolerance": 1e-8, "max_iterations": 500}


def dense_scores(query, pooling, left_out=()):
    near = nearest(REGIONS, 7)
    affinity = np.zeros((75, 75))
    for i in range(75):
        for j in near[i]:
            if i in near[j]:
                affinity[i, j] = max(float(REGIONS[i] @ REGIONS[j]), 0) ** 3
    y = np.zeros(75)
    for region in query:
        allowed = [j for j in nearest_of(region, REGIONS, 75) if j not in left_out]
        for j in allowed[:5]:
            y[j] += max(float(REGIONS[j] @ region), 0) ** 3
    f = np.linalg.solve(np.eye(75) - 0.9 * symmetric(affinity), y)
    scores = []
    for p, x in enumerate(PICTURES):
        own = f[3 * p : 3 * p + 3]
        w = np.ones(3) if pooling == "sum" else np.linalg.inv(x.astype(float) @ x.T + np.eye(3)) @ np.ones(3)
        scores.append(w @ own)
    return np.array(scores)


@pytest.mark.parametrize("pooling", ["gmp", "sum"])
def test_against_the_dense_form(pooling):
    ours = RegionalDFS(pooling=pooling, **EXACT).fit(PICTURES).rank(QUERIES, top=25)
    for q, query in enumerate(QUERIES):
        dense = dense_scores(query, pooling)
        reached = ours.scores[q] > 0
        assert reached.sum() > 3
        assert np.allclose(ours.scores[q][reached], dense[ours.ids[q][reached]], rtol=1e-3)
        assert (np.sort(ours.ids[q]) == np.arange(25)).all()


@pytest.mark.parametrize("pooling", ["gmp", "sum"])
def test_pictures_of_the_gallery_start_at_regions_of_others(pooling):
    ours = RegionalDFS(pooling=pooling, **EXACT).fit(PICTURES).rank_self(top=100)
    assert ours.ids.shape == (25, 24)
    for p, picture in enumerate(PICTURES):
        dense = dense_scores(picture, pooling, left_out=range(3 * p, 3 * p + 3))
        reached = ours.scores[p] > 0
        assert reached.sum() > 3
        assert np.allclose(ours.scores[p][reached], dense[ours.ids[p][reached]], rtol=1e-3)
        assert (np.sort(ours.ids[p]) == np.delete(np.arange(25), p)).all()


def test_joining_is_fitting_and_ranking():
    method = RegionalDFS(pooling="sum", **EXACT)
    joined = method.rerank(QUERIES, PICTURES, top=9)
    assert not method.pictures
    assert (joined.ids == method.fit(PICTURES).rank(QUERIES, top=9).ids).all()


def test_one_picture_has_nobody_to_rank():
    assert RegionalDFS().fit(PICTURES[:1]).rank_self().ids.shape == (1, 0)


def test_owners_say_the_same_as_a_list():
    owners = np.repeat(np.arange(25), 3)
    shuffle = np.random.default_rng(0).permutation(75)
    listed = RegionalDFS(**EXACT).fit(PICTURES).rank(QUERIES, top=25)
    owned = RegionalDFS(**EXACT).fit(REGIONS[shuffle], owners=owners[shuffle])
    again = owned.rank(np.concatenate(QUERIES), top=25, owners=np.repeat([0, 1], 4))
    assert (listed.ids == again.ids).all()
    assert np.allclose(listed.scores, again.scores, atol=1e-4)


def test_one_region_each_is_dfs():
    from foldwalk import rerank

    ours = RegionalDFS(pooling="sum", k=8, k_query=5).fit([r[None] for r in REGIONS])
    plain = rerank.create("dfs", k=8, k_query=5).fit(REGIONS)
    asked = QUERIES[0]
    assert (ours.rank([r[None] for r in asked], top=75).ids == plain.rank(asked, top=75).ids).all()


def test_repeated_regions_gain_nothing_by_gmp():
    """A picture that shows one region five times has no louder voice than one that shows it once."""
    once, often = REGIONS[:1], np.repeat(REGIONS[:1], 5, axis=0)
    weights = {}
    for pooling in ("gmp", "sum"):
        fitted = RegionalDFS(pooling=pooling, ridge=1e-3, **EXACT).fit([once, often, *PICTURES[1:]])
        weights[pooling] = np.asarray(fitted.pool.sum(axis=1))[:2]
    assert weights["gmp"][0] == pytest.approx(weights["gmp"][1], rel=0.01)
    assert weights["sum"][1] == 5 * weights["sum"][0]


def test_the_euclidean_metric_orders_what_is_not_reached():
    far = [np.array([[v] * 4, [v + 0.1] * 4]) for v in (0.0, 10.0, 20.0, 30.0)]
    ranking = RegionalDFS(metric="euclidean", k=2, k_query=1).fit(far).rank([far[0] + 0.01], top=4)
    assert ranking.ids.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("regions", "owners", "message"),
    [
        ([], None, "one array of regions per picture"),
        (REGIONS, None, "one array of regions per picture"),
        ([REGIONS[:2], REGIONS[:2, :5]], None, "5 and 10 dimensions"),
        ([REGIONS[:2], REGIONS[0]], None, "gallery, picture 1"),
        (REGIONS, [0, 1], "75 whole numbers"),
        (REGIONS, np.full(75, 2), "from 0 without a gap"),
    ],
)
def test_bad_regions_are_named(regions, owners, message):
    with pytest.raises(BadInput, match=message):
        RegionalDFS().fit(regions, owners=owners)


def test_bad_parameters_are_named():
    with pytest.raises(BadParameter, match="pooling"):
        RegionalDFS(pooling="mean")
    with pytest.raises(BadParameter, match="ridge"):
        RegionalDFS(ridge=0)
    with pytest.raises(BadParameter, match="k_query"):
        RegionalDFS(k_query=0)
    for rank in (lambda: RegionalDFS().rank(QUERIES), RegionalDFS().rank_self):
        with pytest.raises(NotFitted, match="fit"):
            rank()
