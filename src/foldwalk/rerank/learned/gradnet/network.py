"""The graph diffusion layers (eq. 11 to 17).

    H(l+1) = LeakyReLU( (I + S) H(l) W1(l) + S (S H(l) * H(l)) W2(l) )      (eq. 16; * is element by element)
    H      = H(0) | H(1) | ... | H(L)                                       (eq. 17)

Each layer's output is scaled to length one per item, then dropout follows (section 3.8). H(0) never changes,
so the two products that the first layer reads, (I + S) H(0) and S (S H(0) * H(0)), are computed once.
A `Plan` says at which items each layer is needed; for the whole graph that is everywhere.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.rerank.learned.gradnet.graph import GraphInput
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.plan import Hop, Plan
from foldwalk.rerank.learned.gradnet.sparse import SparseMatrix

LEAK = 0.01
# Below this length features are not stretched: an item without any has gradients, but finite ones.
SHORTEST = 1e-6


class GradNetwork(nn.Module):
    def __init__(self, graph: GraphInput, params: GradNetParams, rng: np.random.Generator) -> None:
        super().__init__()
        self.second_order, self.concatenate = params.second_order, params.concatenate
        self.drop, self.rng, self.device = params.dropout, rng, params.device
        sizes = (graph.features.shape[1], *params.sizes)
        steps = list(pairwise(sizes))
        torch_rng = torch.Generator().manual_seed(int(rng.integers(2**31)))
        self.first = nn.ParameterList([_glorot(step, torch_rng) for step in steps])
        self.second = nn.ParameterList([_glorot(step, torch_rng) for step in steps if self.second_order])
        self.to(self.device)
        # What the first layer reads of the constant H(0), computed once.
        h0 = torch.from_numpy(graph.features).to(self.device)
        loop = torch.from_numpy(graph.self_loop).to(self.device)[:, None]
        transitions = SparseMatrix(graph.transitions, self.device)
        self.h0 = functional.normalize(h0)
        self.messages = diffuse(h0, Hop(loop, transitions, transitions), self.second_order)

    def forward(self, plan: Plan) -> Tensor:
        """Learned features at the items `plan.items`."""
        first, second = (message.index_select(0, plan.first_items) for message in self.messages)
        outputs = [self._output(first, second, 0)]
        for layer, hop in enumerate(plan.hops, start=1):
            outputs.append(self._output(*diffuse(outputs[-1], hop, self.second_order), layer))
        if not self.concatenate:
            return outputs[-1]
        at_items = [h if at is None else at.of(h) for h, at in zip(outputs, plan.places, strict=True)]
        return torch.cat([self.h0.index_select(0, plan.items), *at_items], dim=1)

    def _output(self, first: Tensor, second: Tensor, layer: int) -> Tensor:
        total = first @ self.first[layer]
        if self.second_order:
            total = torch.addmm(total, second, self.second[layer])
        unit = functional.normalize(functional.leaky_relu(total, LEAK), eps=SHORTEST)
        return self._dropout(unit) if self.training and self.drop else unit

    def _dropout(self, features: Tensor) -> Tensor:
        """Dropout by raw random bits: drawing a Bernoulli number each would cost as much as the layer."""
        threshold = round(self.drop * 65536)
        bits = np.frombuffer(self.rng.bytes(2 * features.numel()), np.uint16)
        kept = torch.from_numpy((bits >= threshold).reshape(tuple(features.shape))).to(features.device)
        return features * (kept / (1 - threshold / 65536))

    def squared_parameters(self) -> Tensor:
        """The squared l2 norm of all parameters (eq. 21)."""
        return torch.stack([(weights * weights).sum() for weights in self.parameters()]).sum()


def diffuse(features: Tensor, hop: Hop, second_order: bool) -> tuple[Tensor, Tensor]:
    """(I + S) H and S (S H * H), the two messages of eq. 16 before their weights."""
    one_step = hop.inner @ features
    middle = features if hop.middle is None else hop.middle.of(features)
    if not second_order:
        return hop.loop * middle + one_step, one_step
    two_steps = hop.outer @ (one_step * middle)
    first = hop.loop * middle + one_step
    return (first if hop.ends is None else hop.ends.of(first)), two_steps


def _glorot(shape: tuple[int, int], rng: torch.Generator) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape), generator=rng))
