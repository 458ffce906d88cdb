"""The random walk inside one batch, in closed form (section 5).

    F = (1 - alpha)(I - alpha S)^-1,    S = D^-1/2 A D^-1/2, its diagonal zero                      (eq. 9)

alpha is the weight of walking, 1 - alpha that of the restart. diagonal="after" sets it to zero after
normalising, as the paper does (above eq. 9): degrees then count a point itself, and rows of S fall short of
one. diagonal="before" sets that of A to zero. Only the columns asked for are computed, by one linear solve;
half precision is solved in single.

variant="paper": A = max(x y, 0); dot products below zero would make degrees negative.
variant="exponential": A = exp(max(x y, 0) / .05), which tells near from far more sharply: the affinity of the
authors' program, and nothing else of it.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from foldwalk.core.errors import BadParameter
from foldwalk.learn.loss_inputs import at_least_single

Variant = Literal["paper", "exponential"]
Diagonal = Literal["before", "after"]
TEMPERATURE = 0.05


def check_walk(alpha: float, variant: str, diagonal: str) -> None:
    """Refuse what no walk goes by."""
    if not 0 < alpha < 1:
        raise BadParameter(f"alpha must lie between 0 and 1, but it is {alpha}.")
    if variant not in ("paper", "exponential"):
        raise BadParameter(f'variant must be "paper" or "exponential", but it is {variant!r}.')
    if diagonal not in ("before", "after"):
        raise BadParameter(f'diagonal must be "before" or "after", but it is {diagonal!r}.')


def batch_affinity(points: Tensor, variant: Variant = "paper", diagonal: Diagonal = "before") -> Tensor:
    """S: the symmetrically normalised affinities of unit vectors (n, d)."""
    check_walk(0.5, variant, diagonal)
    affinity = (points @ points.T).clamp(min=0)
    if variant == "exponential":
        # exp(s / t) / exp(1 / t) differs by a factor only, which the normalisation takes out again.
        affinity = torch.exp((affinity - 1) / TEMPERATURE)
    itself = torch.eye(len(points), dtype=torch.bool, device=points.device)
    degrees = (affinity if diagonal == "after" else affinity.masked_fill(itself, 0)).sum(1)
    # A point similar to nothing has a row of zeros: any finite root leaves it so.
    root = degrees.clamp(min=torch.finfo(points.dtype).tiny).rsqrt()
    root = torch.where(degrees > 0, root, torch.zeros_like(root))
    return root[:, None] * affinity.masked_fill(itself, 0) * root[None, :]


def batch_walk(
    points: Tensor,
    columns: Tensor,
    alpha: float = 0.8,
    variant: Variant = "paper",
    diagonal: Diagonal = "before",
) -> Tensor:
    """F[:, columns], (n, columns): the manifold similarity of every point to those in `columns`."""
    check_walk(alpha, variant, diagonal)
    points = at_least_single(points)
    identity = torch.eye(len(points), dtype=points.dtype, device=points.device)
    system = identity - alpha * batch_affinity(points, variant, diagonal)
    solution: Tensor = torch.linalg.solve(system, (1 - alpha) * identity[:, columns])
    return solution
