"""Layers, losses and batches of GRAD-Net against loops written from the equations."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.gradnet.graph import graph_input
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.walk.balls import breadth_first_balls
from samples import clustered

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from foldwalk.rerank.learned.gradnet.batches import BALL, SextetSampler  # noqa: E402
from foldwalk.rerank.learned.gradnet.diffusion import Hop, diffuse  # noqa: E402
from foldwalk.rerank.learned.gradnet.losses import global_loss, local_loss, sextet_losses, sextet_pairs  # noqa: E402
from foldwalk.rerank.learned.gradnet.network import GradNetwork  # noqa: E402
from foldwalk.rerank.learned.gradnet.plan import needed, whole_graph  # noqa: E402
from foldwalk.rerank.learned.gradnet.sparse import Pairs, Selection, SparseMatrix  # noqa: E402

VECTORS = Vectors.check(clustered()[0]).unit()
SMALL = {"layer_sizes": "512,128,64", "anchors": 10}


def network_on_graph(**parameters):
    params = GradNetParams(**{"k": 6, **SMALL, **parameters})
    graph = graph_input(VECTORS, knn_graph(VECTORS, 6), params, seed=0)
    return GradNetwork(graph, params, np.random.default_rng(0)), graph, params


def naive_layer(h, s, loop, w1, w2):
    """Eq. 16, item by item."""
    out = np.zeros((len(h), w1.shape[1]))
    one_step = np.array([sum(s[u, i] * h[i] for i in range(len(h))) for u in range(len(h))])
    for u in range(len(h)):
        first = loop[u] * h[u] + one_step[u]
        second = sum(s[u, i] * (one_step[i] * h[i]) for i in range(len(h)))
        total = first @ w1 + (second @ w2 if w2 is not None else 0)
        total = np.where(total > 0, total, 0.01 * total)
        out[u] = total / np.linalg.norm(total)
    return out


@pytest.mark.parametrize("changed", [{}, {"second_order": False}, {"renormalise": True}])
def test_layers_are_equation_16_and_17(changed):
    network, graph, params = network_on_graph(**changed)
    network.eval()
    with torch.no_grad():
        found = network(whole_graph(graph, 3)).numpy()
    h = graph.features.astype(np.float64)
    expected = [h / np.linalg.norm(h, axis=1, keepdims=True)]
    for layer in range(3):
        w1 = network.first[layer].detach().numpy()
        w2 = network.second[layer].detach().numpy() if params.second_order else None
        h = naive_layer(h, graph.transitions.toarray(), graph.self_loop, w1, w2)
        expected.append(h)
    assert np.allclose(found, np.hstack(expected), atol=2e-5)


def test_messages_of_the_input():
    _, graph, _ = network_on_graph()
    s, h = graph.transitions.toarray(), graph.features
    first, second = whole_graph(graph, 3).messages
    assert np.allclose(first.numpy(), h + s @ h, atol=1e-5)
    assert np.allclose(second.numpy(), s @ ((s @ h) * h), atol=1e-5)


@pytest.mark.parametrize("second_order", [True, False])
def test_a_batch_gives_what_the_whole_graph_gives(second_order):
    network, graph, _ = network_on_graph(second_order=second_order)
    network.eval()
    items = np.array([0, 3, 50, 51, 119])
    everything = whole_graph(graph, 3, second_order)
    plan = needed(graph, everything, items, second_order)
    assert len(plan.messages[0]) < len(graph)  # something is left out, or this test shows nothing
    with torch.no_grad():
        part, whole = network(plan), network(everything)[items]
    assert torch.allclose(part, whole, atol=1e-6)


def test_gradients_of_a_batch_are_those_of_the_whole_graph():
    network, graph, _ = network_on_graph(dropout=0.0)
    items = np.array([0, 3, 50, 119])
    gradients = []
    everything = whole_graph(graph, 3)
    for plan in (needed(graph, everything, items, True), everything):
        network.zero_grad()
        features = network(plan)
        rows = features if len(features) == len(items) else features[items]
        (rows * torch.linspace(-1, 1, rows.numel()).view_as(rows)).sum().backward()
        gradients.append([p.grad.clone() for p in network.parameters()])
    for a, b in zip(*gradients, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_last_layer_alone():
    network, graph, _ = network_on_graph(concatenate=False)
    network.eval()
    assert network(whole_graph(graph, 3)).shape == (len(graph), 64)


def test_dropout_leaves_out_the_share_and_scales_the_rest():
    network, *_ = network_on_graph(dropout=0.3)
    dropped = network._dropout(torch.ones(400, 400))
    assert (dropped == 0).float().mean() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.01)


def test_derivatives_of_the_products():
    rng = np.random.default_rng(0)
    _, graph, _ = network_on_graph()
    part = graph.transitions[:30][:, :40]
    matrix = SparseMatrix(part, dtype=torch.float64)
    dense = torch.from_numpy(rng.normal(size=(40, 3))).requires_grad_()
    assert np.allclose((matrix @ dense).detach().numpy(), part.toarray() @ dense.detach().numpy(), atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: matrix @ x, dense)
    chosen = Selection(np.array([3, 3, 0, 7]), 8)
    rows = torch.from_numpy(rng.normal(size=(8, 3))).requires_grad_()
    assert torch.equal(chosen.of(rows), rows[[3, 3, 0, 7]])
    assert torch.autograd.gradcheck(chosen.of, rows)
    pairs = Pairs(np.array([0, 1, 1, 7]), np.array([1, 0, 5, 7]), 8)
    assert torch.autograd.gradcheck(pairs.dot, rows)
    loop = torch.ones(40, 1, dtype=torch.float64)
    square = SparseMatrix(graph.transitions[:40][:, :40], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: diffuse(x, Hop(loop, square, square), True), dense)


def naive_losses(features, sextets, affinity, beta):
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    local, order = 0.0, 0.0
    for (i, j, k, l, u, v), a in zip(sextets, affinity, strict=True):  # noqa: E741
        for near, far in ((unit[i] @ unit[j], unit[i] @ unit[u]), (unit[k] @ unit[l], unit[k] @ unit[v])):
            local += np.log(1 + np.exp(far - near))
        ki, lj = unit[k] @ unit[i], unit[l] @ unit[j]
        order += np.log(1 + beta * max(a * ki * lj, 0) * (ki - lj) ** 2)
    return local / len(sextets), order / len(sextets)


def test_losses_are_equations_19_and_20():
    rng = np.random.default_rng(0)
    features, sextets = rng.normal(size=(20, 5)), rng.integers(0, 20, (30, 6))
    affinity = rng.random(30)
    pairs = sextet_pairs(sextets, 20)
    given = torch.from_numpy(features).requires_grad_()
    found = sextet_losses(given, pairs, torch.from_numpy(affinity), 148.0)
    assert [x.item() for x in found] == pytest.approx(naive_losses(features, sextets, affinity, 148.0))
    weight = torch.from_numpy(affinity)
    assert torch.autograd.gradcheck(lambda x: sextet_losses(x, pairs, weight, 3.0), given)


def test_losses_at_their_limits():
    zero = torch.zeros(1)
    assert local_loss(zero, zero).item() == pytest.approx(np.log(2))
    assert global_loss(torch.ones(1), torch.full((1,), 0.4), torch.full((1,), 0.4), 148.0).item() == 0
    # Neighbourhoods that point away from each other: the product is cut at zero.
    assert global_loss(torch.ones(1), torch.full((1,), 0.4), torch.full((1,), -0.4), 148.0).item() == 0
    assert torch.isfinite(functional.normalize(torch.zeros(1, 3), eps=1e-6)).all()


@pytest.mark.parametrize("batch", [0, 16])
def test_sextets_are_sampled_as_section_3_8_says(batch):
    _, graph, _ = network_on_graph()
    sampler = SextetSampler(graph.affinity, batch, np.random.default_rng(0))
    joined = graph.affinity.toarray() > 0
    batches = [batch.sextets for batch in sampler.epoch()]
    seen = np.concatenate(batches)
    assert len(batches) == (1 if not batch else -(-joined.any(axis=1).sum() // batch))
    assert len(np.unique(seen[:, 0])) == len(seen)  # each item once as i
    assert len(seen) > 0.9 * joined.any(axis=1).sum()  # some may have met no stranger
    for i, j, k, l, u, v in seen:  # noqa: E741
        assert joined[i, j]
        assert joined[k, l]
        for stranger in (u, v):
            assert not joined[[i, j, k, l], stranger].any()
            assert stranger not in (i, j, k, l)
    a, b = seen[:, 0], seen[:, 1]
    assert np.array_equal(sampler.affinity(a, b), graph.affinity.toarray()[a, b])


def test_balls_hold_every_item_once_and_hang_together():
    _, graph, _ = network_on_graph()
    a = graph.affinity
    centres = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(a.indptr)))
    order = breadth_first_balls(a.indptr.astype(np.int64), a.indices.astype(np.int64), centres, BALL)
    assert np.array_equal(np.sort(order), np.sort(centres))
    joined = a.toarray() > 0
    followed = [joined[order[max(0, p - BALL) : p], order[p]].any() for p in range(1, len(order))]
    at_random = [joined[centres[max(0, p - BALL) : p], centres[p]].any() for p in range(1, len(order))]
    assert np.mean(followed) > np.mean(at_random) + 0.2


def test_no_stranger_anywhere():
    """Where everybody is joined with everybody there is nothing to learn from."""
    vectors = Vectors(VECTORS.values[:5])
    graph = graph_input(vectors, knn_graph(vectors, 4), GradNetParams(**SMALL), seed=0)
    assert not len(next(SextetSampler(graph.affinity, 0, np.random.default_rng(0)).epoch()).sextets)
