"""The random walk inside one batch, in closed form (section 5).

    F = (1 - alpha)(I - alpha S)^-1,    S = D^-1/2 A D^-1/2, the diagonal of A zero                 (eq. 9)

alpha is the weight of walking, 1 - alpha that of the restart. The paper sets the diagonal to zero after
normalising (above eq. 9); here it is zero before, so that degrees do not count a point itself. Only the
columns asked for are computed, by one linear solve. variant="paper": A = max(x y, 0); dot products below zero
would make degrees negative. variant="author": A = exp(max(x y, 0) / .05), which tells near from far more
sharply.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from foldwalk.core.errors import BadParameter

Variant = Literal["paper", "author"]
TEMPERATURE = 0.05


def batch_affinity(points: Tensor, variant: Variant = "paper") -> Tensor:
    """S: the symmetrically normalised affinities of unit vectors (n, d)."""
    if variant not in ("paper", "author"):
        raise BadParameter(f'variant must be "paper" or "author", but it is {variant!r}.')
    similar = (points @ points.T).clamp(min=0)
    if variant == "author":
        # exp(s / t) / exp(1 / t) differs by a factor only, which the normalisation takes out again.
        similar = torch.exp((similar - 1) / TEMPERATURE)
    itself = torch.eye(len(points), dtype=torch.bool, device=points.device)
    affinity = similar.masked_fill(itself, 0)
    root = affinity.sum(1).clamp(min=torch.finfo(points.dtype).tiny).rsqrt()
    # A point similar to nothing has a row of zeros: any finite root leaves it so.
    root = torch.where(affinity.sum(1) > 0, root, torch.zeros_like(root))
    return root[:, None] * affinity * root[None, :]


def batch_walk(points: Tensor, columns: Tensor, alpha: float = 0.8, variant: Variant = "paper") -> Tensor:
    """F[:, columns], (n, columns): the manifold similarity of every point to those in `columns`."""
    if not 0 < alpha < 1:
        raise BadParameter(f"alpha must lie between 0 and 1, but it is {alpha}.")
    identity = torch.eye(len(points), dtype=points.dtype, device=points.device)
    system = identity - alpha * batch_affinity(points, variant)
    solution: Tensor = torch.linalg.solve(system, (1 - alpha) * identity[:, columns])
    return solution
