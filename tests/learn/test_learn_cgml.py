"""Graph consistency and binomial deviance against loops written from the equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity, DotProductSimilarity, LpDistance
from pytorch_metric_learning.losses import CrossBatchMemory, TripletMarginLoss
from pytorch_metric_learning.miners import TripletMarginMiner
from pytorch_metric_learning.reducers import (
    AvgNonZeroReducer,
    DoNothingReducer,
    MeanReducer,
    PerAnchorReducer,
    SumReducer,
)
from torch.nn.functional import normalize

from foldwalk.core import BadInput, BadParameter
from foldwalk.learn.cgml import BinomialDevianceLoss, GraphConsistencyLoss, HalvesSampler, aligned_halves
from foldwalk.learn.cgml.consistency import graph_affinity, graph_consistency
from foldwalk.learn.loss_names import make_loss
from foldwalk.learn.npair import BatchNPairLoss


def points(n: int, seed: int = 0, d: int = 5) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def affinity_naive(x: torch.Tensor, sigma: float) -> np.ndarray:
    return np.array([[np.exp(-float(((a - b) ** 2).sum()) / sigma) for b in x] for a in x])


@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_equations_1_and_3(sigma):
    one, other = points(6, 1), points(6, 2)
    s1, s2 = affinity_naive(one, sigma), affinity_naive(other, sigma)
    np.testing.assert_allclose(graph_affinity(one, sigma).numpy(), s1, rtol=1e-9)
    equation_1 = sum((s1[i, j] - s2[i, j]) ** 2 for i in range(6) for j in range(6))
    assert float(graph_consistency(one, other, sigma, bound=False)) == pytest.approx(equation_1)
    walked = s1 @ one.numpy() - s2 @ other.numpy()
    equation_3 = np.sqrt(sum(walked[i, k] ** 2 for i in range(6) for k in range(5)))
    assert float(graph_consistency(one, other, sigma, bound=True)) == pytest.approx(equation_3)


def test_median_width():
    one, other = points(6, 1), points(6, 2)
    squared = [
        float(((x[i] - x[j]) ** 2).sum()) for x in (one, other) for i in range(6) for j in range(6) if i != j
    ]
    median = float(np.sort(squared)[(len(squared) - 1) // 2])
    assert float(graph_consistency(one, other, "median")) == pytest.approx(
        float(graph_consistency(one, other, median))
    )


@pytest.mark.parametrize("bound", [True, False])
def test_identical_halves_are_consistent_and_have_no_nan_gradient(bound):
    one = points(6, 1).requires_grad_()
    loss = graph_consistency(one, one, bound=bound)
    loss.backward()
    assert float(loss.detach()) == 0
    assert torch.isfinite(one.grad).all()


def test_halves_are_aligned():
    labels = torch.tensor([3, 1, 3, 2, 1, 1, 3, 3, 2, 9, 1, 1])
    first, second = aligned_halves(labels)
    assert labels[first].tolist() == labels[second].tolist() == [1, 1, 2, 3, 3]
    assert len(set(first.tolist()) | set(second.tolist())) == 10
    assert all(len(half) == 0 for half in aligned_halves(torch.tensor([4, 5])))


def test_sampler_gives_two_halves_of_the_same_classes_in_the_same_order():
    labels = np.repeat(np.arange(20), 11)
    sampler = HalvesSampler(labels, classes=13, per_class=10, seed=1)
    batches = list(sampler)
    assert len(batches) == len(sampler) == 220 // 130
    for batch in batches:
        first, second = labels[batch[:65]], labels[batch[65:]]
        np.testing.assert_array_equal(first, second)
        assert len(set(first.tolist())) == 13
        assert len(set(batch)) == 130
    assert batches == list(HalvesSampler(labels, 13, 10, seed=1))
    assert batches != list(sampler)  # the next epoch draws others
    few = next(iter(HalvesSampler([0, 0, 1, 1, 1], classes=2, per_class=4)))
    assert len(few) == 8
    with pytest.raises(BadParameter, match="even"):
        HalvesSampler(labels, per_class=5)
    with pytest.raises(BadInput, match="2 to 20"):
        HalvesSampler(labels, classes=21)


def test_binomial_deviance_is_equation_7():
    x, labels = points(8, 3), torch.tensor([0, 0, 1, 1, 1, 2, 2, 2])
    unit = normalize(x)
    positive, negative = [], []
    for i in range(8):
        for j in range(8):
            cosine = float(unit[i] @ unit[j])
            if i != j and labels[i] == labels[j]:
                positive.append(np.log(1 + np.exp(-2 * (cosine - 0.5) * 1)))
            elif i != j:
                negative.append(np.log(1 + np.exp(2 * (cosine - 0.5) * 25)))
    expected = np.mean(positive) + np.mean(negative)
    assert float(BinomialDevianceLoss()(x, labels)) == pytest.approx(expected)


def test_one_kind_of_pair_is_enough():
    x = points(4, 3)
    assert float(BinomialDevianceLoss()(x, torch.zeros(4, dtype=torch.long))) > 0
    assert float(BinomialDevianceLoss()(x, torch.arange(4))) > 0


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("sigma", [1.0, 0.5])
def test_gradients_in_double_precision(bound, sigma):
    x, labels = points(8, 4).requires_grad_(), torch.arange(8) % 2
    loss = GraphConsistencyLoss(BinomialDevianceLoss(), 0.3, bound, sigma)
    assert torch.autograd.gradcheck(lambda e: loss(e, labels), (x,), atol=1e-6)


def test_the_loss_is_the_sum_of_its_terms_around_any_base():
    x, labels = points(12, 5), torch.arange(12) % 3
    miner = TripletMarginMiner()
    for base in (BinomialDevianceLoss(), TripletMarginLoss()):
        loss = GraphConsistencyLoss(base, weight=0.5)
        pairs = miner(x, labels)
        total, (first, second) = loss(x, labels, pairs), loss.terms(x, labels, pairs)
        torch.testing.assert_close(first, base(x, labels, pairs))
        torch.testing.assert_close(total, first + 0.5 * second)
        assert (loss.base_loss, loss.consistency) == (float(first), float(second))
    memory = GraphConsistencyLoss(CrossBatchMemory(TripletMarginLoss(), 5, memory_size=24))
    assert torch.isfinite(memory(x.float(), labels))


def test_a_base_that_is_not_reduced_keeps_its_parts():
    x, labels = points(12, 5), torch.arange(12) % 3
    plain, term = GraphConsistencyLoss(BinomialDevianceLoss(), 0.5).terms(x, labels)
    parts = GraphConsistencyLoss(BinomialDevianceLoss(reducer=DoNothingReducer()), 0.5)(x, labels)
    assert set(parts) == {"pos_loss", "neg_loss", "consistency_loss"}
    torch.testing.assert_close(parts["pos_loss"]["losses"].mean() + parts["neg_loss"]["losses"].mean(), plain)
    torch.testing.assert_close(parts["consistency_loss"]["losses"], 0.5 * term)
    own = GraphConsistencyLoss(BinomialDevianceLoss(), 0.5, reducer=DoNothingReducer())(x, labels)
    torch.testing.assert_close(own["base_loss"]["losses"], plain)
    for reducer in (MeanReducer(), SumReducer(), AvgNonZeroReducer(), PerAnchorReducer()):
        around = GraphConsistencyLoss(TripletMarginLoss(reducer=SumReducer()), 0.5, reducer=reducer)
        torch.testing.assert_close(
            around(x, labels), TripletMarginLoss(reducer=SumReducer())(x, labels) + 0.5 * term
        )


def test_one_item_of_each_class_cannot_be_compared():
    with pytest.raises(BadInput, match="nothing can be compared"):
        GraphConsistencyLoss(BinomialDevianceLoss())(points(5, 1), torch.arange(5))


def test_one_class_with_a_pair_has_a_finite_median():
    x, labels = points(4, 1).requires_grad_(), torch.tensor([0, 1, 1, 2])
    base, term = GraphConsistencyLoss(BinomialDevianceLoss(), sigma="median").terms(x, labels)
    unit = normalize(x)
    torch.testing.assert_close(term, (unit[1] - unit[2]).norm())
    (base + term).backward()
    assert torch.isfinite(x.grad).all()


def test_affinities_are_of_the_distance_given():
    x, labels = points(6, 1), torch.arange(6) % 2
    loss = GraphConsistencyLoss(BinomialDevianceLoss(), distance=LpDistance(p=1, normalize_embeddings=False))
    first, second = aligned_halves(labels)
    one, other = (
        torch.tensor([[np.exp(-float((a - b).abs().sum())) for b in half] for a in half], dtype=x.dtype)
        for half in (x[first], x[second])
    )
    torch.testing.assert_close(loss.terms(x, labels)[1], (one @ x[first] - other @ x[second]).norm())
    with pytest.raises(BadParameter, match="similarity"):
        GraphConsistencyLoss(BinomialDevianceLoss(), distance=CosineSimilarity())


@pytest.mark.parametrize("name", ["triplet", "n_pair"])
def test_losses_by_name_are_means_over_all_terms(name):
    """Also where most of them are zero: eq. 5 and 6 are sums over all."""
    labels = torch.arange(9) % 3
    x = torch.eye(3, 5, dtype=torch.float64)[labels] + 0.3 * points(9, 2)
    loss = make_loss(name)
    loss.set_reducer(DoNothingReducer())
    terms = loss(x, labels)["loss"]["losses"]
    torch.testing.assert_close(make_loss(name)(x, labels), terms.mean())
    assert name != "triplet" or (0 < (terms == 0).sum() < len(terms))


def test_n_pair_compares_directions():
    x, labels = points(8, 3), torch.arange(8) % 2
    stretched = x * torch.arange(1, 9)[:, None]
    torch.testing.assert_close(make_loss("n_pair")(stretched, labels), make_loss("n_pair")(x, labels))
    printed = BatchNPairLoss(scale=1, distance=DotProductSimilarity(normalize_embeddings=False))
    total = 0.0
    for a in range(8):
        for p in range(8):
            if a != p and labels[a] == labels[p]:
                others = [float(x[a] @ x[n] - x[a] @ x[p]) for n in range(8) if labels[n] != labels[a]]
                total += np.log(1 + np.exp(others).sum()) / 24
    assert float(printed(x, labels)) == pytest.approx(total)


def test_collapse_satisfies_the_term_alone_but_not_beside_a_base_loss():
    labels = torch.arange(16) % 4
    loss = GraphConsistencyLoss(BinomialDevianceLoss(), 1.0)

    def spread_after_training(objective) -> float:
        x = (1 + 0.02 * points(16, 6)).requires_grad_()  # all but one point
        adam = torch.optim.Adam([x], lr=0.02)
        for _ in range(300):
            adam.zero_grad()
            objective(x).backward()
            adam.step()
        unit = normalize(x.detach())
        return float((unit - unit.mean(0)).norm(dim=1).mean())

    one_point = torch.ones(16, 5, dtype=torch.float64)
    assert float(loss.terms(one_point, labels)[1]) == pytest.approx(0, abs=1e-9)
    assert spread_after_training(lambda x: loss.terms(x, labels)[1]) < 0.05
    assert spread_after_training(lambda x: loss(x, labels)) > 0.8


def test_bad_choices_are_refused():
    with pytest.raises(BadParameter, match="weight"):
        GraphConsistencyLoss(BinomialDevianceLoss(), -1)
    with pytest.raises(BadParameter, match="sigma"):
        GraphConsistencyLoss(BinomialDevianceLoss(), sigma="mean")
