"""The losses on sextets (i, j, k, l, u, v): local smoothness and global order (eq. 18 to 22).

    local  = -ln sigmoid(s_ij - s_iu) - ln sigmoid(s_kl - s_kv)                                (eq. 19)
    global = ln(1 + beta [a_ij a_kl s_ki s_lj]_+ (s_ki - s_lj)^2)                              (eq. 20)

with s the cosine of learned features and a the affinity of the graph. Eq. 19 as printed, -ln(s_ij - s_iu), is
undefined for negative differences: the sigmoid is that of the ranking loss the paper names. The product in
eq. 20 is cut at zero so that the logarithm exists.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from foldwalk.core.types import IntArray
from foldwalk.rerank.learned.gradnet.sparse import Pairs


def sextet_pairs(sextets: IntArray, count: int, device: str = "cpu") -> Pairs:
    """The pairs that the losses compare: ij, iu, kl, kv, ki, lj, for rows i, j, k, l, u, v of `sextets`."""
    i, j, k, l, u, v = sextets.T  # noqa: E741
    first, second = np.concatenate([i, i, k, k, k, l]), np.concatenate([j, u, l, v, i, j])
    return Pairs(first, second, count, device)


def sextet_losses(features: Tensor, pairs: Pairs, affinity: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """The mean local and the mean global loss of a batch; `affinity` holds a_ij a_kl of each sextet."""
    s_ij, s_iu, s_kl, s_kv, s_ki, s_lj = pairs.dot(functional.normalize(features)).chunk(6)  # eq. 18
    local = local_loss(s_ij, s_iu) + local_loss(s_kl, s_kv)
    return local.mean(), global_loss(affinity, s_ki, s_lj, beta).mean()


def local_loss(near: Tensor, far: Tensor) -> Tensor:
    """A neighbour should be more similar than an item that is none (eq. 19)."""
    return -functional.logsigmoid(near - far)


def global_loss(affinity: Tensor, s_ki: Tensor, s_lj: Tensor, beta: float) -> Tensor:
    """Two neighbourhoods should be as similar by one pair as by another (eq. 20)."""
    weight = (affinity * s_ki * s_lj).clamp(min=0)
    return torch.log1p(beta * weight * (s_ki - s_lj) ** 2)
