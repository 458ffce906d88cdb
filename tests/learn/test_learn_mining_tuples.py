"""Losses of tuples, their weights and their batches in loops of pytorch-metric-learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses
from pytorch_metric_learning.distances import CosineSimilarity, LpDistance
from pytorch_metric_learning.reducers import MeanReducer
from torch import Tensor
from torch.nn.functional import normalize, softplus
from torch.utils.data import DataLoader

from foldwalk.core import BadInput, BadParameter
from foldwalk.learn.mining import ManifoldMiner, Pools, hardest_negatives
from foldwalk.learn.mining.pml import (
    PoolMiner,
    PoolWeightReducer,
    TupleBatches,
    TupleContrastiveLoss,
    TupleTripletLoss,
    weighted,
)
from foldwalk.learn.mining.recipe import MinedRecipe
from foldwalk.learn.wrappers import CrossBatchMemory
from samples import clustered

ITEMS = 90


@pytest.fixture(scope="module")
def pools() -> Pools:
    x = clustered(ITEMS, 8, 5, seed=3)[0]
    return ManifoldMiner(graph_k=6, positive_k=12, negative_k=20).fit(x).pools


def points(n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 6, generator=generator, dtype=torch.float64, requires_grad=True)


def items(n: int, seed: int) -> Tensor:
    return torch.randperm(ITEMS, generator=torch.Generator().manual_seed(seed))[:n]


def weight_of(pools: Pools, anchor: int, positive: int) -> float:
    row = pools.anchors.tolist().index(anchor)
    return float(pools.positive_weights[row, pools.positives[row].tolist().index(positive)])


def squared(a: Tensor, b: Tensor) -> float:
    return float((normalize(a, dim=0) - normalize(b, dim=0)).detach().square().sum())


@pytest.mark.parametrize(
    "make",
    [
        lambda pools: TupleTripletLoss(0.5, reducer=PoolWeightReducer(pools)),
        lambda pools: weighted(losses.TripletMarginLoss(0.5, distance=LpDistance(power=2)), pools),
    ],
    ids=["ours", "of PML"],
)
def test_positives_of_a_reference_set_have_their_own_weights(pools, make):
    """The reference set has as many items as the batch, so that no index is out of range."""
    x, ids, other, other_ids = points(40, 0), items(40, 0), points(40, 1), items(40, 1)
    a1, p, a2, n = PoolMiner(pools)(x, ids, other, other_ids)
    expected = [
        weight_of(pools, int(ids[a]), int(other_ids[b])) * max(0.5 + squared(x[a], other[b]) - far, 0.0)
        for a, b in zip(a1.tolist(), p.tolist(), strict=True)
        for far in [squared(x[a], other[c]) for c in n[a2 == a].tolist()]
    ]
    loss = make(pools)(x, ids, (a1, p, a2, n), other, other_ids)
    assert float(loss.detach()) == pytest.approx(np.mean(expected))
    alone = make(pools)
    assert float(alone(x, ids, PoolMiner(pools)(x, ids)).detach()) > 0  # the batch alone, as before


def test_weights_inside_a_memory(pools):
    ours = CrossBatchMemory(
        TupleTripletLoss(0.5, reducer=PoolWeightReducer(pools)), 6, 60, miner=PoolMiner(pools)
    )
    theirs = losses.CrossBatchMemory(
        weighted(losses.TripletMarginLoss(0.5, distance=LpDistance(power=2)), pools),
        6,
        60,
        miner=PoolMiner(pools),
    )
    for seed in range(4):
        x, ids = points(30, seed), items(30, seed)
        torch.testing.assert_close(ours(x, ids), theirs(x, ids))
    assert float(ours(x, ids).detach()) > 0


def test_pairs_that_are_not_of_the_pools_have_no_weight(pools):
    x, ids, other, other_ids = points(40, 0), items(40, 0), points(40, 1), items(40, 1)
    pairs = PoolMiner(pools)(x, ids, other, other_ids)
    untold = losses.TripletMarginLoss(0.5, reducer=PoolWeightReducer(pools))
    with pytest.raises(BadInput, match="weighted"):
        untold(x, ids, pairs, other, other_ids)


def by_hand(x: Tensor, triplets: list[list[int]], margin: float, swap: bool, smooth: bool, distance) -> float:
    values = distance(x)
    sign = -1 if distance.is_inverted else 1
    found = []
    for a, p, n in triplets:
        far = sign * values[a, n]
        if swap:
            far = torch.minimum(far, sign * values[p, n])
        violation = margin + sign * values[a, p] - far
        found.append(float((softplus(violation) if smooth else violation.clamp(min=0)).detach()))
    return float(np.mean(found))


@pytest.mark.parametrize("distance", [LpDistance(power=2), LpDistance(p=1), CosineSimilarity()])
@pytest.mark.parametrize(("swap", "smooth"), [(False, False), (True, False), (False, True), (True, True)])
def test_triplets_honour_every_option(distance, swap, smooth):
    x = points(18, 2)
    triplets = torch.arange(18).chunk(3)
    listed = torch.stack(triplets, dim=1).tolist()
    loss = TupleTripletLoss(0.3, swap=swap, smooth_loss=smooth, distance=distance)
    expected = by_hand(x, listed, 0.3, swap, smooth, distance)
    assert float(loss(x, torch.arange(18), triplets).detach()) == pytest.approx(expected, rel=1e-6)
    theirs = losses.TripletMarginLoss(
        0.3, swap=swap, smooth_loss=smooth, distance=distance, reducer=MeanReducer()
    )
    torch.testing.assert_close(loss(x, None, triplets), theirs(x, None, triplets))


def test_triplets_per_anchor_are_drawn():
    x, labels = points(12, 2), torch.arange(12) % 3
    sizes = []
    for wanted in ("all", 2):
        loss = TupleTripletLoss(5.0, triplets_per_anchor=wanted, collect_stats=True)
        loss.reducer.collect_stats = True
        loss(x, labels)
        sizes.append(loss.reducer.losses_size)
    assert sizes == [12 * 3 * 8, 12 * 2]


def test_a_swap_looks_into_the_reference_set():
    """Positives and negatives are places in the reference set, which has more items than the batch."""
    x, other = points(2, 0), points(9, 1)
    triplets = (torch.tensor([0, 1]), torch.tensor([7, 8]), torch.tensor([5, 6]))
    expected = [
        max(0.3 + squared(x[a], other[p]) - min(squared(x[a], other[n]), squared(other[p], other[n])), 0)
        for a, p, n in zip(*map(Tensor.tolist, triplets), strict=True)
    ]
    found = TupleTripletLoss(0.3, swap=True)(x, None, triplets, other)
    assert float(found.detach()) == pytest.approx(np.mean(expected))


def test_plain_and_weighted_tuples_are_means_over_the_same_number(pools):
    """With weights of one, +W is the plain loss, though some tuples are at rest."""
    even = Pools(
        pools.items,
        pools.anchors,
        pools.positives,
        (pools.positives >= 0).astype(np.float32),
        pools.negatives,
        pools.negative_similarities,
    )

    class Ready(ManifoldMiner):
        def fit(self, *_: object) -> Ready:
            self._pools = even
            return self

    for kind in ("triplet", "contrastive"):
        found = []
        for with_weights in (False, True):
            recipe = MinedRecipe(np.eye(3), Ready(), loss=kind, margin=0.05, weighted=with_weights)
            recipe.begin_epoch(1, lambda: points(ITEMS, 5).detach().numpy())
            batch = next(recipe.batches(1))
            found.append(recipe.loss(points(ITEMS, 5)[torch.from_numpy(batch)], batch))
        torch.testing.assert_close(*found)
        assert float(found[0].detach()) > 0


def test_a_similarity_is_no_distance_for_equation_7():
    with pytest.raises(BadParameter, match="similarity"):
        TupleContrastiveLoss(distance=CosineSimilarity())


def test_every_batch_brings_anchors_with_their_examples(pools):
    batches = list(TupleBatches(pools, tuples=7, seed=2))
    assert len(batches) == len(TupleBatches(pools, tuples=7)) > 3
    miner, anchors, left = PoolMiner(pools), [], int(pools.usable.sum())
    for batch in batches:
        assert len(set(batch)) == len(batch) <= 21
        ids = torch.tensor(batch)
        a1, _, a2, _ = miner(torch.zeros(len(ids), 2), ids)
        both = {int(ids[a]) for a in a1} & {int(ids[a]) for a in a2}
        own = batch[: min(7, left)]
        assert set(own) <= both
        anchors, left = anchors + own, left - len(own)
    assert sorted(anchors) == pools.anchors[pools.usable].tolist()


def test_batches_depend_on_seed_and_epoch_alone(pools):
    sampler = TupleBatches(pools, 7, seed=2)
    first, second = list(sampler), list(sampler)
    assert first != second
    again = TupleBatches(pools, 7, seed=2)
    again.set_epoch(2)
    assert list(again) == second
    assert list(again) == [batch.tolist() for batch in sampler.draw(3)]
    assert list(TupleBatches(pools, 7, seed=3)) != first
    loader = DataLoader(torch.arange(ITEMS), batch_sampler=TupleBatches(pools, 7, seed=2))
    assert [batch.tolist() for batch in loader] == first


def test_refreshed_batches_draw_the_hardest_negatives(pools):
    embedding = points(ITEMS, 8).detach().numpy()
    sampler = TupleBatches(pools, tuples=1)
    sampler.refresh(embedding, count=1)
    hardest = hardest_negatives(pools, embedding, 1)
    for anchor, _, negative in (batch for batch in sampler if len(batch) == 3):
        assert negative == hardest.negatives[pools.anchors.tolist().index(anchor), 0]


def test_pools_without_tuples_are_refused(pools):
    nothing = Pools(
        pools.items,
        pools.anchors,
        np.full_like(pools.positives, -1),
        np.zeros_like(pools.positive_similarities),
        pools.negatives,
        pools.negative_similarities,
    )
    with pytest.raises(BadInput, match="both a positive and a negative"):
        TupleBatches(nothing)
    with pytest.raises(BadParameter, match="tuples"):
        TupleBatches(pools, tuples=0)


@pytest.mark.parametrize("count", [24, 60, 100])
def test_few_items_give_pools_with_the_defaults(count):
    """Neighbourhoods of half of the collection at most: those of all of it have nothing of their own."""
    x = np.random.default_rng(0).normal(size=(count, 5))
    found = ManifoldMiner().fit(x).pools
    assert found.usable.mean() > 0.5


def test_what_cannot_be_mined_is_refused_in_one_sentence():
    """Two tight heaps: walk and cosine agree on everything."""
    x = np.repeat(np.eye(2), 8, axis=0) + 1e-3 * np.random.default_rng(0).normal(size=(16, 2))
    with pytest.raises(BadInput, match="positive_k") as caught:
        ManifoldMiner().fit(x)
    assert "\n" not in str(caught.value)
