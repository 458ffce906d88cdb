"""The miner inside loops of pytorch-metric-learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.reducers import MeanReducer

from foldwalk.learn.mining import ManifoldMiner, Pools
from foldwalk.learn.mining.pml import PoolMiner, PoolWeightReducer, TupleContrastiveLoss, TupleTripletLoss
from samples import clustered


@pytest.fixture(scope="module")
def pools() -> Pools:
    return ManifoldMiner(graph_k=6, positive_k=12, negative_k=20).fit(clustered(90, 8, 5, seed=3)[0]).pools


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    items = torch.randperm(90, generator=rng)[:40]
    return torch.randn(40, 6, generator=rng, dtype=torch.float64, requires_grad=True), items


def pairs_naive(pools: Pools, items: list[int], others: list[int]) -> tuple[set, set]:
    row = {int(a): r for r, a in enumerate(pools.anchors)}
    positive, negative = set(), set()
    for i, item in enumerate(items):
        for j, other in enumerate(others):
            if other in pools.positives[row[item]]:
                positive.add((i, j))
            if other in pools.negatives[row[item]]:
                negative.add((i, j))
    return positive, negative


def test_the_miner_gives_the_pairs_of_the_pools(pools, batch):
    z, items = batch
    a1, p, a2, n = PoolMiner(pools)(z, items)
    positive, negative = pairs_naive(pools, items.tolist(), items.tolist())
    assert positive
    assert negative
    assert set(zip(a1.tolist(), p.tolist(), strict=True)) == positive
    assert set(zip(a2.tolist(), n.tolist(), strict=True)) == negative


def test_refresh_keeps_the_hardest(pools, batch):
    z, items = batch
    miner = PoolMiner(pools)
    before = miner(z, items)
    miner.refresh(clustered(90, 8, 5, seed=4)[0], count=2)
    after = miner(z, items)
    assert torch.equal(before[0], after[0])
    assert 0 < len(after[2]) < len(before[2])
    assert set(zip(*map(torch.Tensor.tolist, after[2:]), strict=True)) < set(
        zip(*map(torch.Tensor.tolist, before[2:]), strict=True)
    )


@pytest.mark.parametrize(
    "name", ["ContrastiveLoss", "TripletMarginLoss", "MultiSimilarityLoss", "NTXentLoss"]
)
def test_losses_of_the_library_take_it(pools, batch, name):
    z, items = batch
    loss = getattr(losses, name)()(z, items, PoolMiner(pools)(z, items))
    loss.backward()
    assert torch.isfinite(loss)
    assert loss > 0
    assert z.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "name", ["ContrastiveLoss", "TripletMarginLoss", "MultiSimilarityLoss", "NTXentLoss"]
)
def test_inside_a_cross_batch_memory(pools, name):
    memory = losses.CrossBatchMemory(getattr(losses, name)(), 6, memory_size=60, miner=PoolMiner(pools))
    rng = torch.Generator().manual_seed(1)
    for _ in range(4):
        z = torch.randn(30, 6, generator=rng, requires_grad=True)
        loss = memory(z, torch.randperm(90, generator=rng)[:30])
        loss.backward()
        assert torch.isfinite(loss)
    assert z.grad.abs().sum() > 0


def triplets(pools: Pools, items: list[int]) -> list[tuple[int, int, int]]:
    positive, negative = pairs_naive(pools, items, items)
    return [(a, p, n) for a, p in sorted(positive) for b, n in sorted(negative) if a == b]


def test_weighted_triplet_loss_is_equation_8_times_the_weight(pools, batch):
    z, items = batch
    chosen = triplets(pools, items.tolist())
    unit = torch.nn.functional.normalize(z.detach())
    expected = []
    for a, p, n in chosen:
        row = int(np.flatnonzero(pools.anchors == int(items[a]))[0])
        weight = pools.positive_weights[row, pools.positives[row].tolist().index(int(items[p]))]
        hinge = 0.5 + ((unit[a] - unit[p]) ** 2).sum() - ((unit[a] - unit[n]) ** 2).sum()
        expected.append(float(weight) * max(float(hinge), 0.0))
    loss = losses.TripletMarginLoss(
        margin=0.5, distance=LpDistance(power=2), reducer=PoolWeightReducer(pools)
    )
    indices = tuple(torch.tensor(column) for column in zip(*chosen, strict=True))
    assert float(loss(z, items, indices)) == pytest.approx(np.mean(expected), rel=1e-6)


def test_contrastive_tuples_are_equation_7(pools, batch):
    z, items = batch
    chosen = triplets(pools, items.tolist())
    unit = torch.nn.functional.normalize(z.detach())
    expected = [
        float(((unit[a] - unit[p]) ** 2).sum()) + max(0.7 - float((unit[a] - unit[n]).norm()), 0.0) ** 2
        for a, p, n in chosen
    ]
    indices = tuple(torch.tensor(column) for column in zip(*chosen, strict=True))
    assert float(TupleContrastiveLoss(0.7)(z, items, indices)) == pytest.approx(np.mean(expected), rel=1e-6)


def test_gradients_in_double_precision(pools, batch):
    z, items = batch
    indices = tuple(
        torch.tensor(column[:12]) for column in zip(*triplets(pools, items.tolist()), strict=True)
    )
    weighted = losses.TripletMarginLoss(
        margin=0.5, distance=LpDistance(power=2), reducer=PoolWeightReducer(pools)
    )
    for loss in (TupleContrastiveLoss(0.7), weighted):
        assert torch.autograd.gradcheck(lambda e, loss=loss: loss(e, items, indices), (z,), atol=1e-6)


def test_no_triplets_no_loss(batch):
    z, items = batch
    nothing = torch.zeros(0, dtype=torch.long)
    assert float(TupleContrastiveLoss()(z, items, (nothing, nothing, nothing))) == 0


def test_triplets_of_tuples_are_those_of_pml():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(18, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    triplets = tuple(torch.arange(18).chunk(3))
    both = [
        loss(x, torch.arange(18), triplets)
        for loss in (
            TupleTripletLoss(0.5),
            losses.TripletMarginLoss(0.5, distance=LpDistance(power=2), reducer=MeanReducer()),
        )
    ]
    torch.testing.assert_close(*both)
    torch.testing.assert_close(*(torch.autograd.grad(loss, x)[0] for loss in both))
    assert both[0] > 0
