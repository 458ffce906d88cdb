"""Graph consistency: two random samples of the same classes should give the same graph.

B. Chen, P. Li, Z. Yan, B. Wang and L. Zhang, "Deep metric learning with graph consistency", AAAI 2021.

    S_ij = exp(-|x_i - x_j|^2 / sigma)
    |S' - S''|_F^2                  the graphs themselves                                           (eq. 1)
    |S' X'^T - S'' X''^T|_F         their upper bound without its stable factors: the norm, unsquared (eq. 3)

A collapsed embedding is perfectly consistent, so the term is of use only beside a loss that forbids collapse:
L = L_m + lambda L_gc (eq. 4).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pytorch_metric_learning.utils.module_with_records import ModuleWithRecords
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadParameter
from foldwalk.learn.cgml.halves import aligned_halves

Sigma = float | Literal["median"]


def graph_affinity(x: Tensor, sigma: float | Tensor) -> Tensor:
    """exp(-|x_i - x_j|^2 / sigma), (n, n)."""
    return torch.exp(-_squared_distances(x) / sigma)


def graph_consistency(first: Tensor, second: Tensor, sigma: Sigma = 1.0, bound: bool = True) -> Tensor:
    """Eq. 3 (bound=True) or eq. 1 for two class-aligned samples (n, d) each.

    sigma="median" takes the median squared distance within the two samples, as a constant.
    """
    if sigma == "median":
        with torch.no_grad():
            both = torch.stack([_squared_distances(first), _squared_distances(second)])
            apart = ~torch.eye(len(first), dtype=torch.bool, device=first.device)
            width: float | Tensor = both[:, apart].median().clamp(min=1e-12)
    else:
        width = sigma
    one, other = graph_affinity(first, width), graph_affinity(second, width)
    if not bound:
        return ((one - other) ** 2).sum()
    norm: Tensor = torch.linalg.vector_norm(one @ first - other @ second)
    return norm


class GraphConsistencyLoss(ModuleWithRecords):  # type: ignore[misc]
    """`base` + `weight` times the consistency of the batch's two halves; base is any loss of PML.

    The halves are found by label (see aligned_halves). After a call `base_loss` and `consistency` hold the
    two terms; `terms` returns them with their gradients. Embeddings are compared at length one.
    """

    def __init__(
        self, base: nn.Module, weight: float = 0.002, bound: bool = True, sigma: Sigma = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if weight < 0:
            raise BadParameter(f"weight must be 0 or more, but it is {weight}.")
        if sigma != "median" and not (isinstance(sigma, (int, float)) and sigma > 0):
            raise BadParameter(f'sigma must be a number above 0 or "median", but it is {sigma!r}.')
        self.base, self.weight, self.bound, self.sigma = base, weight, bound, sigma
        self.base_loss = self.consistency = 0.0
        self.add_to_recordable_attributes(list_of_names=["weight"], is_stat=False)

    def forward(self, embeddings: Tensor, labels: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Eq. 4: the base loss plus `weight` times the term; further arguments go to the base loss."""
        base, consistency = self.terms(embeddings, labels, *args, **kwargs)
        self.base_loss, self.consistency = float(base.detach()), float(consistency.detach())
        return base + self.weight * consistency

    def terms(self, embeddings: Tensor, labels: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """L_m and L_gc; what else is handed in (pairs of a miner, say) goes to the base loss."""
        first, second = aligned_halves(labels)
        base = self.base(embeddings, labels, *args, **kwargs)
        if not len(first):
            return base, embeddings.sum() * 0
        unit = functional.normalize(embeddings)
        return base, graph_consistency(unit[first], unit[second], self.sigma, self.bound)


def _squared_distances(x: Tensor) -> Tensor:
    lengths = (x * x).sum(1)
    return (lengths[:, None] + lengths[None, :] - 2 * x @ x.T).clamp(min=0)
