"""What every loss and miner of ours promises in a loop of pytorch-metric-learning, as PML's own do."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("pytorch_metric_learning")

from pytorch_metric_learning import losses as pml
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.miners import BaseMiner, TripletMarginMiner
from pytorch_metric_learning.reducers import (
    AvgNonZeroReducer,
    BaseReducer,
    DoNothingReducer,
    MeanReducer,
    SumReducer,
)
from pytorch_metric_learning.regularizers import LpRegularizer
from pytorch_metric_learning.utils.distributed import DistributedLossWrapper, DistributedMinerWrapper
from torch import Tensor, nn

import foldwalk.learn
from foldwalk.core import BadInput, BadParameter
from foldwalk.learn.cgml import BinomialDevianceLoss, GraphConsistencyLoss
from foldwalk.learn.edms import BatchManifoldLoss, HardProxies, ManifoldProxyLoss, ProxyNPairLoss
from foldwalk.learn.mining import Pools
from foldwalk.learn.mining.pml import PoolMiner, PoolWeightReducer, TupleContrastiveLoss, TupleTripletLoss
from foldwalk.learn.npair import BatchNPairLoss
from foldwalk.learn.wrappers import CrossBatchMemory, SelfSupervisedLoss

K, N, D = 4, 16, 6
LABELS = torch.arange(N) % K


def points(seed: int = 0, n: int = N, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, D, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


def proxies(filled: bool = True) -> HardProxies:
    made = HardProxies(np.arange(20) % K, steps=3)
    if filled:
        made.refresh(points(9, 20).detach())
    return made


@dataclass(frozen=True)
class Case:
    """How a loss is made, and what it cannot take for a reason that it states."""

    make: Callable[..., nn.Module]
    reference: bool = True
    distance: bool = True
    order: bool = True  # of the batch makes no difference


CASES: dict[type, Case] = {
    BatchNPairLoss: Case(BatchNPairLoss),
    BatchManifoldLoss: Case(BatchManifoldLoss, distance=False),
    BinomialDevianceLoss: Case(BinomialDevianceLoss),
    # Which item falls into which half is drawn with the batch.
    GraphConsistencyLoss: Case(
        lambda **given: GraphConsistencyLoss(BinomialDevianceLoss(), 0.3, sigma="median", **given),
        order=False,
    ),
    ManifoldProxyLoss: Case(
        lambda filled=True, **given: ManifoldProxyLoss(proxies(filled), **given),
        reference=False,
        distance=False,
    ),
    ProxyNPairLoss: Case(
        lambda filled=True, **given: ProxyNPairLoss(proxies(filled), **given), reference=False
    ),
    TupleContrastiveLoss: Case(TupleContrastiveLoss),
    TupleTripletLoss: Case(lambda **given: TupleTripletLoss(0.2, **given)),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=[kind.__name__ for kind in CASES])


def defined_here(base: type) -> set[type]:
    for module in pkgutil.walk_packages(foldwalk.learn.__path__, "foldwalk.learn."):
        importlib.import_module(module.name)
    found, looked_at = set(), [base]
    while looked_at:
        kinds = looked_at.pop().__subclasses__()
        looked_at += kinds
        found |= {kind for kind in kinds if kind.__module__.startswith("foldwalk.")}
    return found


def test_no_loss_miner_or_reducer_is_left_out():
    assert defined_here(pml.BaseMetricLossFunction) == set(CASES)
    assert defined_here(BaseMiner) == {PoolMiner}
    assert defined_here(BaseReducer) == {PoolWeightReducer}


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_precision(case, dtype):
    rough = points().detach().to(dtype)
    exact = float(case.make()(rough.double(), LABELS).detach())
    x = rough.clone().requires_grad_()
    loss = case.make()(x, LABELS)
    loss.backward()
    assert loss.dtype == dtype
    assert float(loss.detach()) == pytest.approx(exact, rel=100 * torch.finfo(dtype).eps)
    assert torch.isfinite(x.grad).all()
    assert x.grad.abs().sum() > 0


@every
def test_under_autocast(case):
    x = points(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = case.make()(x, LABELS)
    loss.backward()
    assert torch.isfinite(x.grad).all()
    assert float(loss.detach()) == pytest.approx(float(case.make()(x, LABELS).detach()), rel=0.2)


@every
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no other device")
def test_on_another_device(case):
    x = points(dtype=torch.float32)
    for loss in (case.make(), case.make().to("cuda")):
        found = loss(x.to("cuda"), LABELS)
        assert float(found.detach()) == pytest.approx(float(case.make()(x, LABELS).detach()), rel=1e-4)


@every
def test_no_labels_and_no_pairs_is_refused(case):
    with pytest.raises(BadInput, match="labels") as caught:
        case.make()(points())
    assert isinstance(caught.value, ValueError)


@every
def test_pairs_of_a_miner_count(case):
    x = points()
    few = TripletMarginMiner(0.1)(x, LABELS)
    assert len(few[0]) > 0
    assert float(case.make()(x, LABELS, few).detach()) != float(case.make()(x, LABELS).detach())


@every
def test_no_pairs_no_loss(case):
    x, nothing = points(), torch.zeros(0, dtype=torch.long)
    plain = case.make()
    loss = plain(x, LABELS, (nothing,) * 4)
    loss.backward()
    assert x.grad is not None
    if isinstance(plain, ProxyNPairLoss):  # PML's own proxy losses take no pairs for all pictures alike
        assert float(loss.detach()) == float(plain(x, LABELS).detach())
    else:
        expected = plain.weight * plain.consistency if isinstance(plain, GraphConsistencyLoss) else 0
        assert float(loss.detach()) == pytest.approx(expected)


@every
def test_a_reference_set_is_used_or_refused(case):
    x, other = points(), points(1, 12)
    labels = torch.arange(12) % K
    loss = case.make()
    if not case.reference:
        with pytest.raises(BadInput, match="no reference set"):
            loss(x, LABELS, ref_emb=other, ref_labels=labels)
        return
    first = loss(x, LABELS, ref_emb=other, ref_labels=labels)
    first.backward()
    assert x.grad.abs().sum() > 0
    assert float(loss(x, LABELS, ref_emb=points(2, 12), ref_labels=labels).detach()) != float(first.detach())
    back = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(loss(x, LABELS, ref_emb=other[back], ref_labels=labels[back]), first)


@every
def test_reducers_apply(case):
    x = points()
    for reducer in (MeanReducer(), SumReducer(), AvgNonZeroReducer()):
        loss = case.make(reducer=reducer)(x, LABELS)
        assert loss.ndim == 0
        assert torch.isfinite(loss)
    parts = case.make(reducer=DoNothingReducer())(x, LABELS)
    whole = case.make(reducer=SumReducer())(x, LABELS)
    torch.testing.assert_close(sum(part["losses"].sum() for part in parts.values()), whole)


@every
def test_a_distance_is_used_or_refused(case):
    x = points()
    if not case.distance:
        with pytest.raises(BadParameter, match="no distance"):
            case.make(distance=LpDistance(p=1))
        return
    other = case.make(distance=LpDistance(p=1))
    assert float(other(x, LABELS).detach()) != float(case.make()(x, LABELS).detach())


@every
def test_a_regularizer_is_added(case):
    x = points()
    with_it = case.make(embedding_regularizer=LpRegularizer(), embedding_reg_weight=0.5)(x, LABELS)
    torch.testing.assert_close(with_it, case.make()(x, LABELS) + 0.5 * x.norm(dim=1).mean())


@every
def test_a_state_is_loaded_into_a_new_object(case):
    x, loss = points(), case.make()
    again = case.make(**({} if case.reference else {"filled": False}))
    again.load_state_dict(loss.state_dict())
    torch.testing.assert_close(again(x, LABELS), loss(x, LABELS))
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        twin.load_state_dict(loss.state_dict())
        torch.testing.assert_close(twin(x, LABELS), loss(x, LABELS))


@every
def test_all_it_holds_moves_with_it(case):
    for module in case.make().modules():
        assert not [n for n, v in vars(module).items() if isinstance(v, Tensor | np.ndarray)]


@every
def test_inside_a_memory_and_beside_a_second_view(case):
    if not case.reference:
        for wrapper in (CrossBatchMemory, SelfSupervisedLoss):
            with pytest.raises(Exception, match="not supported"):
                wrapper(case.make(), *([D] if wrapper is CrossBatchMemory else []))
        return
    memory = CrossBatchMemory(case.make(), D, memory_size=3 * N)
    for seed in range(4):
        x = points(seed, dtype=torch.float32)
        loss = memory(x, LABELS)
        loss.backward()
        assert torch.isfinite(loss)
        assert x.grad.abs().sum() > 0
    assert torch.isfinite(SelfSupervisedLoss(case.make())(points(0), points(1)))


@every
def test_inside_the_distributed_wrapper(case):
    x, loss = points(), case.make()
    with pytest.warns(UserWarning, match="non-distributed"):
        wrapped = DistributedLossWrapper(loss)(x, LABELS)
    torch.testing.assert_close(wrapped, loss(x, LABELS))


@every
def test_the_order_of_a_batch_makes_no_difference(case):
    x, loss = points(), case.make()
    order = torch.randperm(N, generator=torch.Generator().manual_seed(3))
    same = torch.allclose(loss(x[order], LABELS[order]), loss(x, LABELS))
    assert same == case.order


@pytest.fixture
def pools() -> Pools:
    """Item i has i + 1 and i + 2 as positives, i + 3 and i + 4 as negatives."""
    ids = np.arange(N)
    near, far = ((ids[:, None] + step) % N for step in (np.array([1, 2]), np.array([3, 4])))
    similar = np.linspace(1, 2, 2 * N, dtype=np.float32).reshape(N, 2)
    return Pools(N, ids, near.astype(np.int32), similar, far.astype(np.int32), similar)


def as_pairs(a: Any, b: Any) -> set[tuple[int, int]]:
    return set(zip(a.tolist(), b.tolist(), strict=True))


def test_the_miner_invents_no_pairs(pools):
    ids = torch.tensor([-1, 0, 1, N, N + 1, 3, -N])
    a1, p, a2, n = PoolMiner(pools)(points(n=7), ids)
    assert as_pairs(a1, p) == {(1, 2), (2, 5)}
    assert as_pairs(a2, n) == {(1, 5)}


def test_what_the_miner_kept_is_in_its_state(pools):
    miner, ids = PoolMiner(pools), torch.arange(N)
    miner.refresh(points(4).detach().numpy(), count=1)
    again = PoolMiner(pools)
    again.load_state_dict(pickle.loads(pickle.dumps(miner.state_dict())))
    kept, loaded = (as_pairs(*one(points(), ids)[2:]) for one in (miner, again))
    assert kept == loaded
    assert len(kept) == N


def test_the_miner_keeps_pairs_when_the_batch_is_permuted(pools):
    ids = torch.randperm(N, generator=torch.Generator().manual_seed(0))
    a1, p, _, _ = PoolMiner(pools)(points(), ids)
    assert as_pairs(ids[a1], ids[p]) == {(i, (i + step) % N) for i in range(N) for step in (1, 2)}
    assert DistributedMinerWrapper(PoolMiner(pools)).miner.pools is pools
