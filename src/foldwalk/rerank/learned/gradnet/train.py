"""Training: sextets, losses, Adam with a falling rate; no labels anywhere (section 3.8, eq. 22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from foldwalk.core.errors import BadInput
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet.batches import Batch, SextetSampler
from foldwalk.rerank.learned.gradnet.graph import GraphInput
from foldwalk.rerank.learned.gradnet.losses import sextet_losses, sextet_pairs
from foldwalk.rerank.learned.gradnet.network import GradNetwork
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.plan import Plan, hop_everywhere, needed, whole_graph, within

# The rate is halved after a tenth and a third of the epochs: 30 and 100 of the paper's 300.
HALVED_AFTER = (10, 3)
# The loss of an epoch counts as lower when it is lower by this share.
LOWER = 1e-3
# Above so many items `batch=0` means clustered batches of so many sextets: one would need 100 KB an item.
LARGE, CLUSTERED_BATCH = 10_000, 2_048


@dataclass(frozen=True, eq=False)
class Epoch:
    """What a listener is told after each epoch: the weighted terms of eq. 22, means over the batches.

    `features()` computes the learned features as they are now.
    """

    number: int
    local: float
    global_: float
    penalty: float
    features: Callable[[], Float32Array]

    @property
    def loss(self) -> float:
        return self.local + self.global_ + self.penalty


Listener = Callable[[Epoch], None]


def batch_size(params: GradNetParams, items: int) -> int:
    """Sextets in a batch; 0: one batch for all."""
    many = params.batches == "clustered" and items > LARGE
    return CLUSTERED_BATCH if many and not params.batch else params.batch


class GraphTrainer:
    """One network on one graph."""

    def __init__(self, graph: GraphInput, params: GradNetParams, seed: int) -> None:
        self.graph, self.params = graph, params
        batch = batch_size(params, len(graph))
        self.sampler = SextetSampler(graph.affinity, batch, generator(seed, "gradnet sextets"))
        self.network = GradNetwork(graph, params, generator(seed, "gradnet network"))
        self.adam = torch.optim.Adam(self.network.parameters(), lr=params.learning_rate)
        self.epochs, self.lowest, self.since = 0, np.inf, 0

    def run(self, listener: Listener | None = None) -> Float32Array:
        """Train, and return the features of every item, (n, D), scaled to length one."""
        self.train(listener)
        return self.features()

    def train(self, listener: Listener | None = None) -> None:
        """Train; the features are then asked for by `features` or, where they are many, `feature_blocks`."""
        p = self.params
        with task("GRAD-Net", p.epochs) as advance:
            advance(self.epochs)
            while self.epochs < p.epochs and not (p.patience and self.since >= p.patience):
                for group in self.adam.param_groups:
                    group["lr"] = rate_of(p.learning_rate, self.epochs, p.epochs)
                steps = [self.step(batch) for batch in self.sampler.epoch() if len(batch.sextets)]
                if not steps:  # nobody has both a neighbour and a stranger: nothing can be learned
                    break
                self.epochs += 1
                local, global_, penalty = (float(term) for term in np.mean(steps, axis=0))
                epoch = Epoch(self.epochs, local, global_, penalty, self.features)
                self.since = 0 if epoch.loss < self.lowest * (1 - LOWER) else self.since + 1
                self.lowest = min(self.lowest, epoch.loss)
                if listener is not None:
                    listener(epoch)
                advance(1)

    def step(self, batch: Batch) -> tuple[float, ...]:
        """One step of Adam on one batch; the weighted terms of eq. 22."""
        p, sextets = self.params, batch.sextets
        plan, places = self._plan(batch)
        i, j, k, l = sextets[:, :4].T  # noqa: E741
        affinity = torch.from_numpy(self.sampler.affinity(i, j) * self.sampler.affinity(k, l)).to(p.device)
        self.network.train()
        features = self.network(plan)
        pairs = sextet_pairs(places, len(features), p.device)
        local, global_ = sextet_losses(features, pairs, affinity, p.beta)
        weighted = torch.stack(
            [
                p.local_weight * local,
                p.global_weight * global_,
                p.penalty * self.network.squared_parameters(),
            ]
        )
        self.adam.zero_grad()
        weighted.sum().backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        return tuple(weighted.tolist())

    def _plan(self, batch: Batch) -> tuple[Plan, IntArray]:
        """What the network computes for a batch, and the sextets as places in its answer."""
        p = self.params
        if not self.sampler.batch:
            return self._everything, batch.sextets
        if p.batches == "exact":
            items = np.unique(batch.sextets)
            plan = needed(self.graph, self._everything, items, p.second_order, p.device)
        else:
            items = np.union1d(batch.sextets, batch.pool)
            plan = self._whole(within(self.graph, items, p.renormalise))
        return plan, np.searchsorted(items, batch.sextets)

    def _whole(self, graph: GraphInput) -> Plan:
        return whole_graph(graph, len(self.params.sizes), self.params.second_order, self.params.device)

    @cached_property
    def _everything(self) -> Plan:
        return self._whole(self.graph)

    def features(self) -> Float32Array:
        """The features of all items without dropout, scaled to length one, (n, D)."""
        everything = np.empty((len(self.graph), self.dimensions), np.float32)
        start = 0
        for block in self.feature_blocks():
            everything[start : start + len(block)] = block
            start += len(block)
        return everything

    @property
    def dimensions(self) -> int:
        """D, the dimensions of the features."""
        sizes = self.params.sizes
        return self.graph.features.shape[1] + sum(sizes) if self.params.concatenate else sizes[-1]

    def feature_blocks(self, rows_at_a_time: int = 4096) -> Iterator[Float32Array]:
        """What `features` returns, block after block of rows, (rows_at_a_time, D), never all at once.

        Layers are computed when the first block is asked for; beside H(0) they are all that is in memory.
        """
        inputs = torch.from_numpy(self.graph.features).to(self.params.device)
        layers = self.network.layers(inputs, hop_everywhere(self.graph, self.params.device))
        for start in range(0, len(inputs), rows_at_a_time):
            rows = slice(start, start + rows_at_a_time)
            above = [layer[rows] for layer in layers]
            if self.params.concatenate:
                block = torch.cat([functional.normalize(inputs[rows]), *above], dim=1)
            else:
                block = above[-1]
            yield np.ascontiguousarray(functional.normalize(block).cpu().numpy())

    def weights(self) -> dict[str, AnyArray]:
        """The parameters of the network, as arrays of their own."""
        return {name: value.cpu().numpy().copy() for name, value in self.network.state_dict().items()}

    def start_from(self, weights: dict[str, AnyArray]) -> None:
        """Go on from the weights of another training of the same shape."""
        known = Kept(weights).like(self.weights())
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in known.items()})

    def state(self) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Everything the training goes on from: arrays, and facts for a line of JSON."""
        arrays = self.weights()
        for number, moments in self.adam.state_dict()["state"].items():
            arrays |= {f"adam{number}.{name}": value.cpu().numpy().copy() for name, value in moments.items()}
        rngs = [rng.bit_generator.state for rng in (self.sampler.rng, self.network.rng)]
        facts = {"epochs": self.epochs, "lowest": self.lowest, "since": self.since, "random": rngs}
        return arrays, facts

    def restore(self, arrays: dict[str, AnyArray], facts: dict[str, Any]) -> None:
        """The opposite of `state`."""
        self.start_from({name: array for name, array in arrays.items() if not name.startswith("adam")})
        kept, moments = Kept(arrays), {}
        for number, weights in enumerate(self.weights().values()):
            shapes = {"step": (), "exp_avg": weights.shape, "exp_avg_sq": weights.shape}
            own = {name: kept.numbers(f"adam{number}.{name}", *shape) for name, shape in shapes.items()}
            moments[number] = {name: torch.from_numpy(array) for name, array in own.items()}
        self.adam.load_state_dict({**self.adam.state_dict(), "state": moments})
        self.epochs, self.since = int(facts["epochs"]), int(facts["since"])
        self.lowest = float(facts["lowest"])
        for rng, state in zip((self.sampler.rng, self.network.rng), facts["random"], strict=True):
            rng.bit_generator.state = state


def check_device(device: str) -> None:
    """Refuse a device that this machine, or this torch, does not have."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[device]:
        raise BadInput(f"gradnet: device={device} is not available to torch here; train with device=cpu.")


def rate_of(rate: float, done: int, epochs: int) -> float:
    """The rate after so many epochs; shares of few epochs are rounded up, so that each rate is had once."""
    return float(rate * 0.5 ** sum(done >= -(-epochs // share) for share in HALVED_AFTER))
