"""The losses of a tuple, anchor, positive and negative (eq. 7 and 8), as losses of pytorch-metric-learning.

Both are means over all tuples of a batch, those that are zero among them: a weight +W then weighs against the
same number with any tuple.
"""

from __future__ import annotations

from typing import Any

import torch
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import BaseMetricLossFunction, TripletMarginLoss
from pytorch_metric_learning.reducers import MeanReducer
from pytorch_metric_learning.utils import loss_and_miner_utils as lmu
from torch import Tensor
from torch.nn import functional

from foldwalk.core.errors import BadParameter
from foldwalk.learn.loss_inputs import at_least_single, need_labels_or_indices
from foldwalk.learn.mining.pool_weights import tell_reference


class TupleTripletLoss(TripletMarginLoss):  # type: ignore[misc]
    """[m + |zr - z+|^2 - |zr - z-|^2]_+ for each triplet (eq. 8); options are those of TripletMarginLoss.

    PML's own computes all distances of a batch; a batch of tuples has a few that matter, and only these are
    computed here, unless `distance` is another than the squared Euclidean one.
    """

    def __init__(self, margin: float = 0.05, **kwargs: Any) -> None:
        super().__init__(margin, **kwargs)
        self.register_forward_pre_hook(tell_reference, with_kwargs=True)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        need_labels_or_indices(labels, indices_tuple, ref_labels)
        triplets = lmu.convert_to_triplets(
            indices_tuple, labels, ref_labels, t_per_anchor=self.triplets_per_anchor
        )
        anchors, positives, negatives = triplets
        if not len(anchors):
            zero: dict[str, Any] = self.zero_losses()
            return zero
        near = self._between(embeddings, anchors, ref_emb, positives)
        far = self._between(embeddings, anchors, ref_emb, negatives)
        if self.swap:
            far = self.distance.smallest_dist(far, self._between(ref_emb, positives, ref_emb, negatives))
        violation = self.distance.margin(near, far) + self.margin
        losses = functional.softplus(violation) if self.smooth_loss else torch.relu(violation)
        return {"loss": {"losses": losses, "indices": triplets, "reduction_type": "triplet"}}

    def _between(self, x: Tensor, rows: Tensor, y: Tensor, columns: Tensor) -> Tensor:
        """The distance of x[rows[i]] and y[columns[i]] for each i."""
        distance = self.distance
        if type(distance) is not LpDistance or not distance.p == distance.power == 2:
            found: Tensor = distance(x, y)[rows, columns]
            return found
        gap: Tensor = distance.maybe_normalize(x)[rows] - distance.maybe_normalize(y)[columns]
        return gap.square().sum(1)

    def get_default_distance(self) -> LpDistance:
        return LpDistance(power=2)

    def get_default_reducer(self) -> MeanReducer:
        return MeanReducer()


class TupleContrastiveLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """|zr - z+|^2 + [m - |zr - z-|]_+^2 for each triplet (eq. 7)."""

    def __init__(self, margin: float = 0.7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.distance.is_inverted:
            raise BadParameter("TupleContrastiveLoss needs a distance, but it is given a similarity.")
        self.margin = margin
        self.add_to_recordable_attributes(name="margin", is_stat=False)
        self.register_forward_pre_hook(tell_reference, with_kwargs=True)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        need_labels_or_indices(labels, indices_tuple, ref_labels)
        triplets = lmu.convert_to_triplets(indices_tuple, labels, ref_labels, t_per_anchor="all")
        anchors, positives, negatives = triplets
        if not len(anchors):
            zero: dict[str, Any] = self.zero_losses()
            return zero
        distances = self.distance(at_least_single(embeddings), at_least_single(ref_emb))
        gap = torch.relu(self.margin - distances[anchors, negatives])
        losses = (distances[anchors, positives] ** 2 + gap**2).to(embeddings.dtype)
        return {"loss": {"losses": losses, "indices": triplets, "reduction_type": "triplet"}}

    def get_default_distance(self) -> LpDistance:
        return LpDistance(p=2, power=1)
