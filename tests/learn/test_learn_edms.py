"""Proxies, walk and losses of EDMS against loops written from the equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning.reducers import DoNothingReducer, SumReducer
from torch.nn.functional import normalize

from foldwalk.core import BadInput, BadParameter, NotFitted, UnknownName
from foldwalk.learn.edms import BatchManifoldLoss, HardProxies, ManifoldProxyLoss, ProxyNPairLoss
from foldwalk.learn.edms.metaclasses import random_meta_classes
from foldwalk.learn.edms.proxies import OneHotProxies, proxy_gradient, proxy_objective
from foldwalk.learn.edms.variants import ROWS, make_row
from foldwalk.learn.edms.walk import batch_affinity, batch_walk
from foldwalk.learn.npair import BatchNPairLoss

K, D = 4, 6


def points(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def proxies() -> HardProxies:
    made = HardProxies(np.arange(20) % K, steps=20)
    made.refresh(points(20, seed=9))
    return made


def labels(n: int) -> torch.Tensor:
    return torch.arange(n) % K


def test_meta_classes_keep_classes_whole_and_even():
    classes = np.repeat(np.arange(23), 3)
    groups = random_meta_classes(classes, 5, seed=1)
    assert set(groups.tolist()) == set(range(5))
    for c in range(23):
        assert len(set(groups[classes == c].tolist())) == 1
    assert sorted(np.bincount(groups[::3]).tolist()) == [4, 4, 5, 5, 5]
    assert groups.tolist() != random_meta_classes(classes, 5, seed=2).tolist()
    with pytest.raises(BadParameter, match="2 to 23"):
        random_meta_classes(classes, 24)


def test_proxy_objective_is_equation_7_and_its_gradient():
    x, start, p = normalize(points(20, 1)), normalize(points(K, 2)), normalize(points(K, 3)).requires_grad_()
    members, present = x.reshape(K, 5, D), torch.arange(5)[None, :] < torch.tensor([[5], [3], [1], [0]])
    for k in range(K):
        total = 1.0
        for n in range(5):
            if present[k, n]:
                total += np.exp(float(p[k].detach() @ members[k, n]) - float(p[k].detach() @ start[k]))
        assert float(proxy_objective(p, start, members, present)[k].detach()) == pytest.approx(np.log(total))
    (expected,) = torch.autograd.grad(proxy_objective(p, start, members, present).sum(), p)
    torch.testing.assert_close(proxy_gradient(p.detach(), start, members, present), expected)


def test_hard_proxies_leave_what_they_stand_for_and_stay_on_the_sphere():
    x = normalize(points(20, 9))
    codes = np.arange(20) % K
    still = HardProxies(codes, steps=0, seed=3)
    start = still.refresh(x)
    torch.testing.assert_close(start, x[still.pictures])
    assert (codes[still.pictures] == np.arange(K)).all()
    moved = HardProxies(codes, seed=3)
    p = moved.refresh(x)
    torch.testing.assert_close(p.norm(dim=1), torch.ones(K, dtype=torch.float64))
    others = [[n for n in range(20) if codes[n] == k and n != moved.pictures[k]] for k in range(K)]
    members, present = x[torch.tensor(others)], torch.ones(K, 4, dtype=torch.bool)
    after, before = (proxy_objective(q, start, members, present) for q in (p, start))
    assert (after < before).all()
    # The paper's 100 steps of 1e-3 turn a proxy by a few degrees; its picture remains the nearest.
    assert ((p * start).sum(1) > np.cos(np.radians(10))).all()


def test_hard_proxies_of_classes_of_unlike_size():
    x, codes = normalize(points(7, 2)), np.array([0, 1, 1, 1, 0, 2, 1])
    made = HardProxies(codes, steps=1, learning_rate=0.5)
    start = x[made.pictures]
    expected = start.clone()
    for k in range(3):
        others = [n for n in range(7) if codes[n] == k and n != made.pictures[k]]
        weights = [float(torch.exp(start[k] @ x[n] - start[k] @ start[k])) for n in others]
        for n, weight in zip(others, weights, strict=True):
            expected[k] -= 0.5 * weight / (1 + sum(weights)) * (x[n] - start[k])
    torch.testing.assert_close(made.refresh(x), normalize(expected))


def test_proxies_refuse_what_does_not_fit():
    with pytest.raises(BadInput, match="every number"):
        HardProxies([0, 2, 2])
    with pytest.raises(BadInput, match="3 embeddings for 20"):
        HardProxies(np.arange(20) % K).refresh(points(3))
    with pytest.raises(NotFitted):
        ProxyNPairLoss(HardProxies(np.arange(20) % K))(points(4), labels(4))
    with pytest.raises(BadParameter, match="as many dimensions"):
        OneHotProxies(np.arange(20) % K).refresh(points(20))


@pytest.mark.parametrize("diagonal", ["before", "after"])
@pytest.mark.parametrize("variant", ["paper", "exponential"])
def test_walk_is_the_inverse_of_equation_9(variant, diagonal):
    x = normalize(points(9, 4))
    n = len(x)
    affinity = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j or diagonal == "after":
                s = max(float(x[i] @ x[j]), 0.0)
                affinity[i, j] = np.exp(s / 0.05) if variant == "exponential" else s
    degree = affinity.sum(1)
    normal = affinity / np.sqrt(degree[:, None] * degree[None, :])
    np.fill_diagonal(normal, 0)
    expected = 0.2 * np.linalg.inv(np.eye(n) - 0.8 * normal)
    columns = torch.tensor([7, 2])
    np.testing.assert_allclose(
        batch_walk(x, columns, 0.8, variant, diagonal).numpy(), expected[:, [7, 2]], rtol=1e-9
    )


def test_a_point_similar_to_nothing_is_no_nan():
    x = torch.eye(4, D, dtype=torch.float64).requires_grad_()
    walked = batch_walk(x, torch.arange(4))
    walked.sum().backward()
    torch.testing.assert_close(walked.detach(), 0.2 * torch.eye(4, dtype=torch.float64))
    assert torch.isfinite(x.grad).all()


def naive_proxy_loss(similar: torch.Tensor, own: torch.Tensor, scale: float, margin: float) -> float:
    total = 0.0
    for n, k in enumerate(own.tolist()):
        inner = 1.0
        for j in range(similar.shape[1]):
            if j != k:
                inner += np.exp(scale * float(similar[n, j] - similar[n, k]) + margin)
        total += np.log(inner)
    return total / len(own)


def test_proxy_npair_is_equation_4(proxies):
    x = points(10, 5)
    expected = naive_proxy_loss(normalize(x) @ proxies.proxies.T, labels(10), 3.0, 0.1)
    assert float(ProxyNPairLoss(proxies, 0.1, 3.0)(x, labels(10))) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["intrinsic", "contextual"])
@pytest.mark.parametrize("variant", ["paper", "exponential"])
def test_manifold_losses_are_equations_11_and_12(proxies, kind, variant):
    x = points(10, 5)
    everything = torch.cat([normalize(x), proxies.proxies])
    f = batch_walk(everything, torch.arange(14), 0.8, variant)
    similar = f[:10, 10:]
    if kind == "contextual":
        similar = torch.stack(
            [torch.stack([f[n, 10:] @ f[10 + j, 10:] for j in range(K)]) for n in range(10)]
        )
    loss = ManifoldProxyLoss(proxies, kind, variant=variant, margin=5e-4, scale=1.0)
    assert float(loss(x, labels(10))) == pytest.approx(naive_proxy_loss(similar, labels(10), 1.0, 5e-4))


def test_alpha_to_zero_gives_the_dot_product_loss(proxies):
    """(1 - a)(I - a S)^-1 = (1 - a)(I + a S + ...): off the diagonal, F / (a (1 - a)) tends to S."""
    x, alpha = points(10, 5), 1e-5
    everything = torch.cat([normalize(x), proxies.proxies])
    affinity = batch_affinity(everything)[:10, 10:]
    loss = ManifoldProxyLoss(proxies, "intrinsic", alpha, scale=2.0 / (alpha * (1 - alpha)), margin=0.0)
    assert float(loss(x, labels(10))) == pytest.approx(
        naive_proxy_loss(affinity, labels(10), 2.0, 0), rel=1e-4
    )


def test_alpha_to_zero_on_even_degrees_is_the_loss_of_plain_dot_products():
    """Where all degrees are alike, S is the dot products over that degree."""
    angle = torch.arange(8, dtype=torch.float64) * torch.pi / 4
    circle = torch.stack([angle.cos(), angle.sin()], dim=1)
    made = HardProxies(np.arange(4), steps=0)
    made.proxies = circle[::2]
    degree = float((circle @ circle.T).clamp(min=0)[0].sum() - 1)
    alpha, x, own = 1e-5, circle[1::2], torch.arange(4)
    walked = ManifoldProxyLoss(made, "intrinsic", alpha, scale=degree / (alpha * (1 - alpha)), margin=0.0)
    clipped = naive_proxy_loss((x @ made.proxies.T).clamp(min=0), own, 1.0, 0.0)
    assert float(walked(x, own)) == pytest.approx(clipped, rel=1e-4)


@pytest.mark.parametrize("walk", [False, True])
def test_batch_npair_is_equation_3(walk):
    x = points(9, 6)
    own = torch.tensor([0, 0, 1, 1, 1, 2, 2, 0, 3])
    similar = batch_walk(normalize(x), torch.arange(9)) if walk else normalize(x) @ normalize(x).T
    total, pairs = 0.0, 0
    for a in range(9):
        for p in range(9):
            if a != p and own[a] == own[p]:
                inner = 1 + sum(
                    np.exp(2.0 * float(similar[a, n] - similar[a, p]) + 0.1)
                    for n in range(9)
                    if own[n] != own[a]
                )
                total, pairs = total + np.log(inner), pairs + 1
    loss = BatchManifoldLoss(margin=0.1, scale=2.0) if walk else BatchNPairLoss(0.1, 2.0)
    assert float(loss(x, own)) == pytest.approx(total / pairs)


def test_a_miner_weighs_pictures_by_how_often_it_names_them(proxies):
    """As in PML's own proxy losses: the most frequent weighs one."""
    x = points(10, 5)
    each = ProxyNPairLoss(proxies, reducer=DoNothingReducer())(x, labels(10))["loss"]["losses"]
    triplets = (torch.tensor([0, 0, 1]), torch.tensor([4, 8, 5]), torch.tensor([2, 3, 0]))
    weights = torch.zeros(10, dtype=torch.float64)
    for place in torch.cat(triplets).tolist():
        weights[place] += 1 / 3  # item 0 is named three times
    torch.testing.assert_close(ProxyNPairLoss(proxies)(x, labels(10), triplets), (weights * each).mean())


def test_the_walk_goes_through_the_reference_set_too():
    x, other = points(6, 1), points(5, 2)
    own, theirs = labels(6), labels(5)
    similar = batch_walk(normalize(torch.cat([x, other])), torch.arange(6, 11))[:6]
    found = []
    for a in range(6):
        for p in range(5):
            if own[a] == theirs[p]:
                others = [float(similar[a, n] - similar[a, p]) for n in range(5) if theirs[n] != own[a]]
                found.append(np.log(1 + np.exp(3.0 * np.array(others)).sum()))
    loss = BatchManifoldLoss(margin=0.0, scale=3.0)
    assert float(loss(x, own, ref_emb=other, ref_labels=theirs)) == pytest.approx(np.mean(found))


@pytest.mark.parametrize("name", list(ROWS))
def test_every_variant_has_right_gradients(name):
    own = labels(12)
    loss, proxies = make_row(name, own.numpy(), steps=5, scale=20.0)
    x = torch.randn(
        12, K, generator=torch.Generator().manual_seed(2), dtype=torch.float64, requires_grad=True
    )
    if proxies is not None:
        proxies.refresh(x.detach())
    assert torch.autograd.gradcheck(lambda e: loss(e, own), (x,), atol=1e-5)
    (gradient,) = torch.autograd.grad(loss(x, own), x)
    assert gradient.abs().sum() > 0


def test_reducers_of_the_library_apply(proxies):
    x = points(10, 5)
    mean = ManifoldProxyLoss(proxies)(x, labels(10))
    total = ManifoldProxyLoss(proxies, reducer=SumReducer())(x, labels(10))
    torch.testing.assert_close(total, 10 * mean)
    each = ManifoldProxyLoss(proxies, reducer=DoNothingReducer())(x, labels(10))["loss"]["losses"]
    torch.testing.assert_close(each.mean(), mean)


def test_bad_choices_are_refused(proxies):
    with pytest.raises(BadParameter, match="kind"):
        ManifoldProxyLoss(proxies, "other")
    with pytest.raises(BadParameter, match="variant"):
        ManifoldProxyLoss(proxies, variant="none")
    with pytest.raises(BadParameter, match="diagonal"):
        BatchManifoldLoss(diagonal="never")
    with pytest.raises(BadParameter, match="alpha"):
        ManifoldProxyLoss(proxies, alpha=1.0)
    with pytest.raises(BadInput, match="meta-classes, 0 to 3"):
        ManifoldProxyLoss(proxies)(points(4), torch.arange(4) + 1)
    with pytest.raises(UnknownName, match="full"):
        make_row("everything", np.arange(4))
