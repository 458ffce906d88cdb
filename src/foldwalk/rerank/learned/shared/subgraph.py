"""Refining a small similarity graph, seen from each of its members."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class SubgraphRefiner(nn.Module):
    """SSR: every round adds to each row what a perceptron reads in the graph sorted as that row sees it."""

    def __init__(self, members: int, hidden: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.perceptron = nn.Sequential(
            nn.Linear(members * members, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, members),
        )
        nn.init.zeros_(self.perceptron[-1].weight)  # type: ignore[arg-type]
        nn.init.zeros_(self.perceptron[-1].bias)  # type: ignore[arg-type]
        self.sharpness = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, similarity: Tensor) -> Tensor:
        """Symmetric similarities (b, m, m) of m members to improved ones."""
        for _ in range(self.rounds):
            similarity = similarity + self._update(similarity)
            similarity = (similarity + similarity.transpose(1, 2)) / 2
        return similarity

    def _update(self, similarity: Tensor) -> Tensor:
        count, members, _ = similarity.shape
        order = similarity.detach().argsort(dim=2, descending=True, stable=True)
        graphs = similarity[:, None].expand(count, members, members, members)
        rows = order[:, :, :, None].expand(count, members, members, members)
        columns = order[:, :, None, :].expand(count, members, members, members)
        ordered = graphs.gather(2, rows).gather(3, columns)
        change = self.perceptron(ordered.flatten(2))
        return torch.zeros_like(similarity).scatter(2, order, change)
