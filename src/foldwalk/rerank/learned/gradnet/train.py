"""Training: sextets, losses, Adam with a falling rate; no labels anywhere (section 3.8, eq. 22)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.rerank.learned.gradnet.batches import SextetSampler
from foldwalk.rerank.learned.gradnet.graph import GraphInput
from foldwalk.rerank.learned.gradnet.losses import sextet_losses, sextet_pairs
from foldwalk.rerank.learned.gradnet.network import GradNetwork
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.plan import Plan, needed, whole_graph

# The rate is halved after a tenth and a third of the epochs: 30 and 100 of the paper's 300.
HALVED_AFTER = (10, 3)
# The loss of an epoch counts as lower when it is lower by this share.
LOWER = 1e-3


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


class GraphTrainer:
    """One network on one graph."""

    def __init__(self, graph: GraphInput, params: GradNetParams, seed: int) -> None:
        self.graph, self.params = graph, params
        self.sampler = SextetSampler(graph.affinity, params.batch, generator(seed, "gradnet sextets"))
        self.network = GradNetwork(graph, params, generator(seed, "gradnet network"))
        self.everything = whole_graph(graph, len(params.sizes), params.device)
        self.adam = torch.optim.Adam(self.network.parameters(), lr=params.learning_rate)
        self.epochs, self.lowest, self.since = 0, np.inf, 0

    def run(self, listener: Listener | None = None) -> Float32Array:
        """Train, and return the features of every item, (n, D), scaled to length one."""
        p = self.params
        with task("GRAD-Net", p.epochs) as advance:
            advance(self.epochs)
            while self.epochs < p.epochs and not (p.patience and self.since >= p.patience):
                for group in self.adam.param_groups:
                    group["lr"] = rate_of(p.learning_rate, self.epochs, p.epochs)
                steps = [self.step(sextets) for sextets in self.sampler.epoch() if len(sextets)]
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
        return self.features()

    def step(self, sextets: IntArray) -> tuple[float, ...]:
        """One step of Adam on one batch; the weighted terms of eq. 22."""
        p = self.params
        plan, places = self._plan(sextets)
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

    def _plan(self, sextets: IntArray) -> tuple[Plan, IntArray]:
        """Where the network is needed for a batch, and the sextets as places in its answer."""
        if not self.sampler.batch:
            return self.everything, sextets
        items, places = np.unique(sextets, return_inverse=True)
        p = self.params
        plan = needed(self.graph, items, len(p.sizes), p.second_order, p.device)
        return plan, places.reshape(sextets.shape)

    def features(self) -> Float32Array:
        """The features of all items without dropout, scaled to length one."""
        self.network.eval()
        with torch.no_grad():
            unit = torch.nn.functional.normalize(self.network(self.everything))
        return np.ascontiguousarray(unit.cpu().numpy())

    def weights(self) -> dict[str, AnyArray]:
        """The parameters of the network, as arrays of their own."""
        return {name: value.cpu().numpy().copy() for name, value in self.network.state_dict().items()}

    def start_from(self, weights: dict[str, AnyArray]) -> None:
        """Go on from the weights of another training of the same shape."""
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})

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
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in arrays.items():
            if name.startswith("adam"):
                number, key = name.removeprefix("adam").split(".")
                moments.setdefault(int(number), {})[key] = torch.from_numpy(array)
        self.adam.load_state_dict({**self.adam.state_dict(), "state": moments})
        self.epochs, self.lowest, self.since = facts["epochs"], facts["lowest"], facts["since"]
        for rng, state in zip((self.sampler.rng, self.network.rng), facts["random"], strict=True):
            rng.bit_generator.state = state


def rate_of(rate: float, done: int, epochs: int) -> float:
    """The rate after so many epochs; shares of few epochs are rounded up, so that each rate is had once."""
    return float(rate * 0.5 ** sum(done >= -(-epochs // share) for share in HALVED_AFTER))
