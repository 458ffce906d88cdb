"""Self-attention over a query and its nearest items."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Encoder(nn.Module):
    """Transformer blocks whose residual branches start at zero: before training nothing changes."""

    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        for block in self.blocks:
            for last in (block.self_attn.out_proj, block.linear2):  # type: ignore[union-attr]
                nn.init.zeros_(last.weight)  # type: ignore[union-attr, arg-type]
                nn.init.zeros_(last.bias)  # type: ignore[union-attr, arg-type]

    def forward(self, tokens: Tensor, absent: Tensor) -> Tensor:
        """Tokens (b, m, width), of which nobody attends to the absent ones."""
        for block in self.blocks:
            tokens = block(tokens, src_key_padding_mask=absent)
        return tokens


class AffinityAggregation(nn.Module):
    """CSA: affinity features in, similarity of the query's context to those of its items out."""

    def __init__(self, anchors: int, layers: int, heads: int) -> None:
        super().__init__()
        width = heads * math.ceil(anchors / heads)
        self.project = nn.Linear(anchors, width)
        nn.init.orthogonal_(self.project.weight)  # keeps cosines
        nn.init.zeros_(self.project.bias)
        self.encoder = Encoder(width, layers, heads)
        self.reconstruct = nn.Linear(width, anchors)
        self.sharpness = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, affinity: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        """(b, 1 + k, anchors), the query first: cosines (b, k), and how badly affinities are had back."""
        context = self.encoder(self.project(affinity), absent)
        unit = functional.normalize(context, dim=2)
        again = functional.normalize(self.reconstruct(context), dim=2)
        lost = (again - functional.normalize(affinity, dim=2)).square().sum(dim=2)[~absent].mean()
        return torch.einsum("bw,bkw->bk", unit[:, 0], unit[:, 1:]), lost


class ExpansionWeights(nn.Module):
    """LAttQE: how much each of a query's nearest items adds to it."""

    def __init__(self, width: int, k: int, layers: int, heads: int) -> None:
        super().__init__()
        self.pad = -width % heads
        self.places = nn.Parameter(torch.zeros(1 + k, width + self.pad))
        self.encoder = Encoder(width + self.pad, layers, heads)
        self.log_power = nn.Parameter(torch.tensor(math.log(3.0)))
        self.sharpness = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, tokens: Tensor, absent: Tensor) -> Tensor:
        """Tokens (b, 1 + k, width), the query first; weights (b, k), zero for absent items."""
        context = self.encoder(functional.pad(tokens, (0, self.pad)) + self.places, absent)
        unit = functional.normalize(context, dim=2)
        cosine = torch.einsum("bw,bkw->bk", unit[:, 0], unit[:, 1:])
        # A power of zero has no gradient: what is not similar weighs next to nothing instead.
        weights = cosine.clamp(min=1e-4) ** self.log_power.exp()
        return weights.masked_fill(absent[:, 1:], 0.0)
