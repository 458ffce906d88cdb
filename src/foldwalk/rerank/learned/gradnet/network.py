"""The graph diffusion layers (eq. 11 to 17).

    H(l+1) = LeakyReLU( (I + S) H(l) W1(l) + S (S H(l) * H(l)) W2(l) )      (eq. 16; * is element by element)
    H      = H(0) | H(1) | ... | H(L)                                       (eq. 17)

Each layer's output is scaled to length one per item, then dropout follows (section 3.8). A `Plan` says at
which items each layer is needed. Features of all items are computed layer by layer (`layers`), a few columns
of H(l) at a time: the messages of eq. 16 belong to one column each, and their products with the rows of W1
and W2 add up.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.rerank.learned.gradnet.diffusion import Hop, diffuse
from foldwalk.rerank.learned.gradnet.forward import LEAK, SHORTEST, few_columns
from foldwalk.rerank.learned.gradnet.graph import GraphInput
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.plan import Plan


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

    def forward(self, plan: Plan) -> Tensor:
        """Learned features at the items of the plan's answer."""
        outputs = [self._output(*plan.messages, 0)]
        for layer, hop in enumerate(plan.hops, start=1):
            outputs.append(self._output(*diffuse(outputs[-1], hop, self.second_order), layer))
        if not self.concatenate:
            return outputs[-1]
        at_items = [h if at is None else at.of(h) for h, at in zip(outputs, plan.places, strict=True)]
        return torch.cat([plan.inputs, *at_items], dim=1)

    def layers(self, inputs: Tensor, hop: Hop) -> list[Tensor]:
        """H(1) to H(L) at all items without dropout, given H(0) and the hop from all items to all."""
        outputs = [inputs]
        with torch.no_grad():
            for layer in range(len(self.first)):
                outputs.append(self._everywhere(outputs[-1], hop, layer))
        return outputs[1:]

    def _everywhere(self, below: Tensor, hop: Hop, layer: int) -> Tensor:
        total = below.new_zeros(len(below), self.first[layer].shape[1])
        for some in few_columns(*below.shape):
            first, second = diffuse(below[:, some].contiguous(), hop, self.second_order)
            total.addmm_(first, self.first[layer][some])
            if self.second_order:
                total.addmm_(second, self.second[layer][some])
        functional.leaky_relu_(total, LEAK)
        return total.div_(total.norm(dim=1, keepdim=True).clamp_min_(SHORTEST))

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


def _glorot(shape: tuple[int, int], rng: torch.Generator) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape), generator=rng))
