"""Small groups: what GRAD-Net sees of them without labels, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput, Neighbors, Vectors
from foldwalk.learn import GradNet
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.gradnet.choice import advice, choose_k, neighbors_in_group
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.share import own_share

QUICK = {"epochs": 2, "layer_sizes": "512,128,64", "anchors": 20}


def groups(size, count=40, noise=0.1, dim=30):
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(count, dim)), size, axis=0)
    return Vectors.check(centres + noise * rng.normal(size=centres.shape)).unit()


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_the_chosen_k_fills_small_groups(size, noise):
    assert choose_k(knn_graph(groups(size, noise=noise), 15)) == size - 1


@pytest.mark.parametrize("dim", [2, 10, 100])
def test_where_there_are_no_groups_none_are_seen(dim):
    points = Vectors.check(np.random.default_rng(0).normal(size=(600, dim)))
    assert neighbors_in_group(knn_graph(points, 15, "euclidean")) >= 5


def test_mutuality_by_hand():
    """Two pairs and their second nearest: at k = 1 everybody is mutual, at k = 2 half of the new ones."""
    ids = np.array([[1, 2], [0, 2], [3, 0], [2, 0], [5, 0], [4, 0]], np.int32)
    similar = np.tile(np.array([[0.9, 0.1]], np.float32), (6, 1))
    # k = 1: 6 of 6, over chance (1 - 1/5) / (1 - 1/5) = 1; k = 2: 8 of 12, (2/3 - 2/5) / (1 - 2/5) = 4/9.
    assert neighbors_in_group(Neighbors(ids, similar)) == 1


def test_it_says_where_it_will_hardly_help():
    pytest.importorskip("torch")
    assert "pairs" in advice(knn_graph(groups(2), 15))
    assert not advice(knn_graph(groups(3), 15))
    with pytest.warns(UserWarning, match="gradnet: the items seem to come in pairs"):
        net = GradNet(**QUICK).fit(groups(2).values)
    assert "plain search" in net.advice
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not GradNet(**QUICK).fit(groups(4).values).advice


@pytest.mark.filterwarnings("ignore:gradnet")
@pytest.mark.parametrize(
    ("k", "size", "share"), [(1, 15, 2 / 3), (3, 15, 2 / 5), (9, 15, 1 / 4), (3, 3, 25 / 29)]
)
def test_the_vector_keeps_its_share(k, size, share):
    """Twice that of a neighbour, a fourth at least; of 120 items, by (120 / 300)^2, 1 / (1 + 4 / 25)."""
    pytest.importorskip("torch")
    gallery = groups(size).values
    net = GradNet(**{**QUICK, "k": k, "dimensions": 0, "epochs": 1}).fit(gallery)
    inputs = net.trained.inputs.place(net.vectors).shape[1]
    own = (net.features[:, :inputs] ** 2).sum(axis=1)
    assert np.allclose(own, share, atol=1e-4)
    queries = gallery[:9] + np.float32(0.01)
    assert np.allclose((net.transform(queries)[:, :inputs] ** 2).sum(axis=1), share, atol=1e-4)


def test_the_share_falls_as_items_are_more():
    shares = [own_share(GradNetParams(), 9, items) for items in (10, 100, 300, 400, 519, 520, 10**6)]
    assert np.allclose(shares[:4], [900 / 901, 9 / 10, 1 / 2, 9 / 25])
    assert shares[4] > 1 / 4 == shares[5] == shares[6]


@pytest.mark.filterwarnings("ignore:gradnet")
def test_pairs_are_ranked_no_worse_than_by_plain_search():
    pytest.importorskip("torch")
    settings = {**QUICK, "anchors": 100, "epochs": 10}  # so few items have no codes
    vectors, partner = groups(2, noise=0.65).values, np.arange(80) ^ 1

    def precision(ranking, wanted):
        return (1 / (1 + np.argmax(ranking.ids == wanted[:, None], axis=1))).mean()

    plain = precision(rerank.create("plain").fit(vectors).rank_self(79), partner)
    net = GradNet(**settings).fit(vectors)
    assert net.k == 1
    assert precision(net.rank_self(79), partner) > plain - 0.01
    gallery = vectors[np.r_[0:64, 64:80:2]]  # the second of eight pairs asks for the first
    asked, wanted = vectors[65:80:2], np.arange(64, 72)
    plain = precision(rerank.create("plain").fit(gallery).rank(asked, 72), wanted)
    net = GradNet(**settings).fit(gallery)
    assert precision(net.rank(asked, 72), wanted) > plain - 0.01
    learned = GradNet(**{**settings, "k": 5, "concatenate": False}).fit(gallery)  # without the vectors
    assert precision(learned.rank(asked, 72), wanted) < plain - 0.1


def test_truncation_asks_for_queries():
    pytest.importorskip("torch")
    gallery = groups(6).values
    for model in (GradNet(truncate=20, **QUICK), rerank.create("gradnet", truncate=20, **QUICK)):
        with pytest.raises(BadInput, match=r"truncate trains on the nearest items of the queries.*queries="):
            model.fit(gallery)
    queries = gallery[[0, 60]] + np.float32(0.01)
    nearest = set(rerank.create("plain").fit(gallery).rank(queries, 20).ids.ravel().tolist())
    net = GradNet(truncate=20, **QUICK).fit(gallery, queries=queries)
    method = rerank.create("gradnet", truncate=20, **QUICK).fit(gallery, queries=queries)
    for features in (net.features, method.model.features):
        assert set(np.flatnonzero(features.any(axis=1)).tolist()) == nearest
    assert set(net.rank(queries, 6).ids[0].tolist()) == set(range(6))
    assert np.array_equal(method.rank(queries, 6).ids, net.rank(queries, 6).ids)


def test_a_device_that_is_not_there():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(BadInput, match="device=cuda is not available to torch here; train with device=cpu"):
        GradNet(device="cuda", **QUICK).fit(groups(3).values)


def test_few_epochs_begin_with_the_full_rate():
    pytest.importorskip("torch")
    from foldwalk.rerank.learned.gradnet.train import rate_of

    for epochs in (1, 2, 5, 30, 300):
        rates = [rate_of(1.0, done, epochs) for done in range(epochs)]
        assert rates[0] == 1
        assert rates.count(1.0) == -(-epochs // 10)
        assert rates == sorted(rates, reverse=True)
    assert [rate_of(1.0, done, 300) for done in (29, 30, 99, 100)] == [1, 0.5, 0.5, 0.25]
    assert [rate_of(1.0, done, 5) for done in range(5)] == [1, 0.5, 0.25, 0.25, 0.25]


def test_batches_of_one_learn():
    pytest.importorskip("torch")
    heard = []
    GradNet(**{**QUICK, "batch": 1}).fit(groups(6, count=8).values, listener=heard.append)
    assert heard
