"""The N-pair loss over every positive pair of a batch (Sohn 2016; EDMS eq. 3, CGML eq. 6).

L(a, p) = log(1 + sum_n exp(scale (s(a, n) - s(a, p)) + m)),    n the negatives of a

The papers print dot products and no scale: long embeddings then count more than alike ones. Here s is the
cosine, which needs the scale. What is printed is
`BatchNPairLoss(scale=1, distance=DotProductSimilarity(normalize_embeddings=False))`.
"""

from __future__ import annotations

from typing import Any

import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import BaseMetricLossFunction
from pytorch_metric_learning.utils import loss_and_miner_utils as lmu
from torch import Tensor

from foldwalk.learn.loss_inputs import need_labels_or_indices

SCALE = 16.0  # of cosines: docs/metric-learning-results.md


def one_plus_sum(logits: Tensor, present: Tensor) -> Tensor:
    """log(1 + sum of exp(logits) over the present entries of each row)."""
    kept = logits.masked_fill(~present, -torch.inf)
    return torch.logsumexp(torch.cat([kept, kept.new_zeros(len(kept), 1)], dim=1), dim=1)


class BatchNPairLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """Similarities are cosines, or what `distance` says.

    PML's NPairsLoss takes one pair of each class; this one takes all pairs of the batch, or those of a miner.
    """

    def __init__(self, margin: float = 0.0, scale: float = SCALE, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.margin, self.scale = margin, scale
        self.add_to_recordable_attributes(list_of_names=["margin", "scale"], is_stat=False)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        need_labels_or_indices(labels, indices_tuple, ref_labels)
        a1, p, a2, n = lmu.convert_to_pairs(indices_tuple, labels, ref_labels)
        if not len(a1) or not len(a2):
            zero: dict[str, Any] = self.zero_losses()
            return zero
        similar = self.similarities(embeddings, ref_emb)
        negative = torch.zeros_like(similar, dtype=torch.bool)
        negative[a2, n] = True
        logits = self.scale * (similar[a1] - similar[a1, p][:, None]) + self.margin
        losses = one_plus_sum(logits, negative[a1]).to(embeddings.dtype)
        return {"loss": {"losses": losses, "indices": (a1, p), "reduction_type": "pos_pair"}}

    def similarities(self, embeddings: Tensor, ref_emb: Tensor) -> Tensor:
        values: Tensor = self.distance(embeddings, ref_emb)
        return values if self.distance.is_inverted else -values

    def get_default_distance(self) -> CosineSimilarity:
        return CosineSimilarity()
