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
from pytorch_metric_learning.distances import BaseDistance, LpDistance
from pytorch_metric_learning.losses import BaseMetricLossFunction
from torch import Tensor, nn

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.learn.cgml.halves import aligned_halves
from foldwalk.learn.loss_inputs import at_least_single, need_labels

Sigma = float | Literal["median"]
SQUARED = LpDistance(power=2, normalize_embeddings=False)


def graph_affinity(x: Tensor, sigma: float | Tensor, distance: BaseDistance = SQUARED) -> Tensor:
    """exp(-|x_i - x_j|^2 / sigma), (n, n); `distance` takes the place of |x_i - x_j|^2."""
    return torch.exp(-distance(x) / sigma)


def graph_consistency(
    first: Tensor,
    second: Tensor,
    sigma: Sigma = 1.0,
    bound: bool = True,
    distance: BaseDistance = SQUARED,
) -> Tensor:
    """Eq. 3 (bound=True) or eq. 1 for two class-aligned samples (n, d) each.

    sigma="median" takes the median squared distance within the two samples, as a constant.
    """
    width = _median_within(first, second, distance) if sigma == "median" else sigma
    one, other = (graph_affinity(half, width, distance) for half in (first, second))
    if not bound:
        return ((one - other) ** 2).sum()
    norm: Tensor = torch.linalg.vector_norm(one @ first - other @ second)
    return norm


@torch.no_grad()
def _median_within(first: Tensor, second: Tensor, distance: BaseDistance) -> Tensor:
    both = torch.stack([distance(first), distance(second)])
    apart = both[:, ~torch.eye(len(first), dtype=torch.bool, device=first.device)]
    # Halves of one item each are at distance zero from themselves alone: any width gives the same.
    return apart.median().clamp(min=1e-12) if apart.numel() else both.new_ones(())


class GraphConsistencyLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """`base` + `weight` times the consistency of the batch's two halves; base is any loss of PML.

    The halves are found by label (see aligned_halves); a batch without two items of one class is refused.
    After a call `base_loss` and `consistency` hold the two terms; `terms` returns them with their gradients.
    Embeddings are compared at length one, by `distance` if it is given.

    `base` has its own reducer. If that is a DoNothingReducer, so that it gives parts and no number, these
    come back with the part `consistency_loss` beside them. `reducer` is for what is left: the two terms and
    that of a regularizer, which are added up.
    """

    def __init__(
        self, base: nn.Module, weight: float = 0.002, bound: bool = True, sigma: Sigma = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if weight < 0:
            raise BadParameter(f"weight must be 0 or more, but it is {weight}.")
        if sigma != "median" and not (isinstance(sigma, (int, float)) and sigma > 0):
            raise BadParameter(f'sigma must be a number above 0 or "median", but it is {sigma!r}.')
        if self.distance.is_inverted:
            raise BadParameter("GraphConsistencyLoss needs a distance, but it is given a similarity.")
        self.base, self.weight, self.bound, self.sigma = base, weight, bound, sigma
        self.base_loss = self.consistency = 0.0
        self.add_to_recordable_attributes(list_of_names=["weight"], is_stat=False)

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor | None = None,
        indices_tuple: Any = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Eq. 4: the base loss plus `weight` times the term; what else is handed in goes to the base loss."""
        further = {"indices_tuple": indices_tuple, "ref_emb": ref_emb, "ref_labels": ref_labels} | kwargs
        base, consistency = self.terms(embeddings, need_labels(labels), **further)
        parts = {"consistency_loss": _reduced(self.weight * consistency)}
        in_parts = isinstance(base, dict)
        parts = base | parts if in_parts else {"base_loss": _reduced(base)} | parts
        self.base_loss = float("nan") if in_parts else float(base.detach())
        self.consistency = float(consistency.detach())
        self.add_embedding_regularization_to_loss_dict(parts, embeddings)
        return parts if in_parts else self.reducer(parts, embeddings, labels)

    def terms(self, embeddings: Tensor, labels: Tensor, *args: Any, **kwargs: Any) -> tuple[Any, Tensor]:
        """L_m and L_gc; what else is handed in (pairs of a miner, say) goes to the base loss."""
        first, second = aligned_halves(labels.to(embeddings.device))
        if not len(first):
            raise BadInput(
                "no class of the batch has two items, so nothing can be compared: draw batches with several "
                "of each class, by HalvesSampler for instance."
            )
        base = self.base(embeddings, labels, *args, **{n: v for n, v in kwargs.items() if v is not None})
        x = self.distance.maybe_normalize(at_least_single(embeddings))
        term = graph_consistency(x[first], x[second], self.sigma, self.bound, self.distance)
        return base, term.to(embeddings.dtype)

    def get_default_distance(self) -> LpDistance:
        return LpDistance(power=2)

    def _sub_loss_names(self) -> list[str]:
        return ["base_loss", "consistency_loss"]


def _reduced(loss: Tensor) -> dict[str, Any]:
    return {"losses": loss, "indices": None, "reduction_type": "already_reduced"}
