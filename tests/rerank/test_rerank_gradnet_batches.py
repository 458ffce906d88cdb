"""Batches of GRAD-Net: clustered ones beside the whole graph, and features that are computed in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import Vectors
from foldwalk.learn import GradNet
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.gradnet import forward
from foldwalk.rerank.learned.gradnet.graph import graph_input
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from samples import clustered

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from foldwalk.rerank.learned.gradnet import train as train_module  # noqa: E402
from foldwalk.rerank.learned.gradnet.batches import SextetSampler  # noqa: E402
from foldwalk.rerank.learned.gradnet.plan import needed, whole_graph, within  # noqa: E402
from foldwalk.rerank.learned.gradnet.train import GraphTrainer  # noqa: E402

GALLERY, _ = clustered()
SMALL = {"layer_sizes": "512,128,64", "anchors": 10, "codebooks": 1}


def trainer_of(points, k=6, **parameters):
    vectors = Vectors.check(points).unit()
    params = GradNetParams(k=k, **{**SMALL, **parameters})
    return GraphTrainer(graph_input(vectors, knn_graph(vectors, k), params, seed=0), params, seed=0)


def ring(n):
    """Connected: everybody is joined to the three on either side."""
    angle = np.arange(n) * 2 * np.pi / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def components_of(graph):
    """Items of whole components, and some that are left over."""
    from scipy.sparse.csgraph import connected_components

    count, component = connected_components(graph.affinity)
    assert count > 3  # or nothing is left over
    return np.flatnonzero(np.isin(component, component[[0, 50]]))


@pytest.mark.parametrize("changed", [{}, {"second_order": False}, {"renormalise": True}])
def test_gradients_where_no_edge_is_cut_are_those_of_the_whole_graph(changed):
    trainer = trainer_of(GALLERY, dropout=0.0, **changed)
    graph, network, p = trainer.graph, trainer.network, trainer.params
    items = components_of(graph)
    part = whole_graph(within(graph, items, p.renormalise), 3, p.second_order)
    gradients = []
    for plan, rows in ((part, slice(None)), (whole_graph(graph, 3, p.second_order), items)):
        network.zero_grad()
        features = network(plan)[rows]
        (features * torch.linspace(-1, 1, features.numel()).view_as(features)).sum().backward()
        gradients.append([w.grad.clone() for w in network.parameters()])
    for a, b in zip(*gradients, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_a_cut_graph_has_degrees_of_its_own():
    graph = trainer_of(GALLERY).graph
    items = np.arange(0, len(graph), 2)
    part = within(graph, items, renormalise=False)
    affinity = graph.affinity.toarray()[np.ix_(items, items)]
    root = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), 1e-30))
    assert np.allclose(part.transitions.toarray(), root[:, None] * affinity * root, atol=1e-6)
    assert np.array_equal(part.features, graph.features[items])


def test_a_clustered_batch_stays_small_where_an_exact_one_reaches_far():
    sizes = []
    for n in (400, 1600):
        trainer = trainer_of(ring(n), batch=16)
        batch = next(trainer.sampler.epoch())
        sizes.append(len(trainer._plan(batch)[0].inputs))
        reached = needed(trainer.graph, trainer._everything, np.unique(batch.sextets), True).messages[0]
        assert len(reached) > 1.5 * sizes[-1]
    assert max(sizes) < 150
    assert abs(sizes[0] - sizes[1]) < 30


@pytest.mark.parametrize("batch", [1, 5, 64])
@pytest.mark.parametrize("n", [300, 301])
def test_every_item_is_visited_once_an_epoch(batch, n):
    trainer = trainer_of(ring(n), batch=batch)
    joined = np.flatnonzero(np.diff(trainer.graph.affinity.indptr))
    batches = list(trainer.sampler.epoch())
    assert max(len(b.sextets) for b in batches) <= batch
    visited = np.concatenate([b.sextets[:, 0] for b in batches])
    assert np.array_equal(np.sort(visited), joined)


def test_parts_are_cut_anew_in_every_epoch():
    sampler = SextetSampler(trainer_of(ring(300)).graph.affinity, 64, np.random.default_rng(0))
    first, second = ([set(b.pool.tolist()) for b in sampler.epoch()] for _ in range(2))
    assert not any(pool in second for pool in first)


def test_batches_of_one_sextet_learn():
    heard = []
    GradNet(batch=1, epochs=2, rounds=1, k=6, **SMALL).fit(GALLERY[:60], listener=heard.append)
    assert [epoch.number for epoch in heard] == [1, 2]
    assert heard[1].local < heard[0].local


@pytest.mark.parametrize("changed", [{}, {"second_order": False}, {"concatenate": False}])
def test_features_in_blocks_are_those_at_once(changed, monkeypatch):
    trainer = trainer_of(GALLERY, **changed)
    trainer.network.eval()
    with torch.no_grad():
        plan = whole_graph(trainer.graph, 3, trainer.params.second_order)
        expected = functional.normalize(trainer.network(plan)).numpy()
    assert np.allclose(trainer.features(), expected, atol=1e-6)
    monkeypatch.setattr(forward, "NUMBERS_AT_ONCE", 11 * len(GALLERY))  # eleven columns at a time
    blocks = list(trainer.feature_blocks(rows_at_a_time=7))
    assert {len(block) for block in blocks} <= {7, len(GALLERY) % 7}
    assert np.allclose(np.concatenate(blocks), expected, atol=1e-6)
    assert expected.shape[1] == trainer.dimensions


def test_many_items_are_learned_in_clustered_batches(monkeypatch):
    monkeypatch.setattr(train_module, "LARGE", 50)
    monkeypatch.setattr(train_module, "CLUSTERED_BATCH", 32)
    assert trainer_of(GALLERY).sampler.batch == 32
    assert trainer_of(GALLERY, batch=16).sampler.batch == 16
    assert trainer_of(GALLERY, batches="exact").sampler.batch == 0
    quick = {**SMALL, "epochs": 2, "k": 6, "seed": 1}
    given = GradNet(**quick).fit(GALLERY).features
    assert GradNet(**quick).fit(GALLERY).features.tobytes() == given.tobytes()
    order = np.random.default_rng(0).permutation(len(GALLERY))
    assert np.array_equal(GradNet(**quick).fit(GALLERY[order]).features, given[order])
    assert not np.array_equal(GradNet(batches="exact", **quick).fit(GALLERY).features, given)
