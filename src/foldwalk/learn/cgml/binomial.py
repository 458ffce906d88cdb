"""Binomial deviance (Yi et al. 2014), as CGML writes it.

    log(1 + exp(-alpha (D_ij - beta)))        for pairs of one class
    log(1 + exp(eta alpha (D_ij - beta)))     for pairs of two classes                              (eq. 7)

D is the cosine, eta (25) the penalty of negatives. Positive and negative pairs are averaged each by itself.
"""

from __future__ import annotations

from typing import Any

from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import GenericPairLoss
from pytorch_metric_learning.utils import loss_and_miner_utils as lmu
from torch import Tensor
from torch.nn import functional

from foldwalk.learn.loss_inputs import need_labels_or_indices


class BinomialDevianceLoss(GenericPairLoss):  # type: ignore[misc]
    """alpha scales and beta shifts the cosine; negatives weigh `eta` times as much inside the exponent."""

    def __init__(self, alpha: float = 2.0, beta: float = 0.5, eta: float = 25.0, **kwargs: Any) -> None:
        super().__init__(mat_based_loss=False, **kwargs)
        self.alpha, self.beta, self.eta = alpha, beta, eta
        self.add_to_recordable_attributes(list_of_names=["alpha", "beta", "eta"], is_stat=False)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        need_labels_or_indices(labels, indices_tuple, ref_labels)
        found: dict[str, Any] = super().compute_loss(embeddings, labels, indices_tuple, ref_emb, ref_labels)
        return found

    def _compute_loss(
        self, positive: Tensor | list[Any], negative: Tensor | list[Any], indices_tuple: Any
    ) -> dict[str, Any]:
        # PML hands in an empty list where there is no pair; 0 stands for no loss.
        attract = functional.softplus(-self.alpha * (positive - self.beta)) if len(positive) else 0  # type: ignore[arg-type,operator]
        repel = functional.softplus(self.eta * self.alpha * (negative - self.beta)) if len(negative) else 0  # type: ignore[arg-type,operator]
        return {
            "pos_loss": {
                "losses": attract,
                "indices": lmu.pos_pairs_from_tuple(indices_tuple),
                "reduction_type": "pos_pair",
            },
            "neg_loss": {
                "losses": repel,
                "indices": lmu.neg_pairs_from_tuple(indices_tuple),
                "reduction_type": "neg_pair",
            },
        }

    def get_default_distance(self) -> CosineSimilarity:
        return CosineSimilarity()

    def _sub_loss_names(self) -> list[str]:
        return ["pos_loss", "neg_loss"]
