"""The proxy losses (sections 4.1 and 6) as losses of pytorch-metric-learning; labels are meta-classes.

    proxy N-pair (eq. 4)   log(1 + sum_{j != k} exp(scale (x p_j - x p_k) + m))
    intrinsic (eq. 11)     the same with the manifold similarities f_nj of picture n and proxy j
    contextual (eq. 12)    the same with f_n f_pj, how alike n and proxy j see all proxies

Manifold similarities of one batch are small and lie close together, so that with scale = 1, the printed
equation, a loss stays near log K: `scale` sharpens it. Embeddings are scaled to length one. A miner's pairs
weigh pictures by how often they occur in them, as in PML's own proxy losses; there is no reference set, for
proxies stand for all that is not in the batch.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import BaseMetricLossFunction
from pytorch_metric_learning.utils import loss_and_miner_utils as lmu
from torch import Tensor
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.learn.edms.proxies import HardProxies
from foldwalk.learn.edms.walk import Diagonal, Variant, batch_walk, check_walk
from foldwalk.learn.loss_inputs import need_labels, refuse_distance
from foldwalk.learn.npair import BatchNPairLoss, one_plus_sum

Kind = Literal["contextual", "intrinsic"]
MARGIN = 5e-4
# The best MAP@R, or within 0.2 points of it, on held-out training classes of CUB, and the best on those of
# Omniglot: docs/metric-learning-results.md.
PROXY_SCALE = 16.0
MANIFOLD_SCALE = {"contextual": 1000.0, "intrinsic": 400.0}
DIAGONAL: Diagonal = "before"  # recall of the full variant is higher in all of 15 learners; the same page


class ProxyNPairLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """Eq. 4: a picture should be more similar to its own proxy than to others, by cosine or `distance`."""

    def __init__(
        self, proxies: HardProxies, margin: float = MARGIN, scale: float = PROXY_SCALE, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.proxies, self.margin, self.scale = proxies, margin, scale
        self.add_to_recordable_attributes(list_of_names=["margin", "scale"], is_stat=False)

    def compute_loss(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Tensor, ref_labels: Tensor
    ) -> dict[str, Any]:
        own = self._own(need_labels(labels))
        if ref_emb is not embeddings or ref_labels is not labels:
            raise BadInput(f"{type(self).__name__} compares with proxies: it takes no reference set.")
        similar = self.similarities(embeddings, self.proxies.current(embeddings))
        rows = torch.arange(len(own), device=own.device)
        others = torch.ones_like(similar, dtype=torch.bool)
        others[rows, own] = False
        logits = self.scale * (similar - similar[rows, own][:, None]) + self.margin
        weights = lmu.convert_to_weights(indices_tuple, own, dtype=embeddings.dtype)
        losses = one_plus_sum(logits, others).to(embeddings.dtype) * weights
        return {"loss": {"losses": losses, "indices": rows, "reduction_type": "element"}}

    def similarities(self, embeddings: Tensor, proxies: Tensor) -> Tensor:
        """Of each picture to each proxy, (N, K)."""
        values: Tensor = self.distance(embeddings, proxies)
        return values if self.distance.is_inverted else -values

    def get_default_distance(self) -> CosineSimilarity:
        return CosineSimilarity()

    def _own(self, labels: Tensor) -> Tensor:
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(self.proxies):
            raise BadInput(f"labels must be meta-classes, 0 to {len(self.proxies) - 1}, one per embedding.")
        return labels.long()


class ManifoldProxyLoss(ProxyNPairLoss):
    """Eq. 11 or 12: the same along the manifold of pictures and proxies of one batch (eq. 8 to 10)."""

    def __init__(
        self,
        proxies: HardProxies,
        kind: Kind = "contextual",
        alpha: float = 0.8,
        variant: Variant = "paper",
        margin: float = MARGIN,
        scale: float | None = None,
        diagonal: Diagonal = DIAGONAL,
        **kwargs: Any,
    ) -> None:
        if kind not in MANIFOLD_SCALE:
            raise BadParameter(f'kind must be "contextual" or "intrinsic", but it is {kind!r}.')
        refuse_distance(type(self).__name__, kwargs)
        check_walk(alpha, variant, diagonal)
        super().__init__(proxies, margin, MANIFOLD_SCALE[kind] if scale is None else scale, **kwargs)
        self.kind, self.alpha, self.variant, self.diagonal = kind, alpha, variant, diagonal
        self.add_to_recordable_attributes(name="alpha", is_stat=False)

    def similarities(self, embeddings: Tensor, proxies: Tensor) -> Tensor:
        x = functional.normalize(embeddings)
        columns = torch.arange(len(x), len(x) + len(proxies), device=x.device)
        walked = batch_walk(torch.cat([x, proxies]), columns, self.alpha, self.variant, self.diagonal)
        pictures, standing = walked[: len(x)], walked[len(x) :]
        return pictures if self.kind == "intrinsic" else pictures @ standing.T


class BatchManifoldLoss(BatchNPairLoss):
    """Eq. 3 with manifold similarities and no proxies: EDMS (RW) of table 2.

    The walk goes through the batch, and through the reference set if there is one.
    """

    def __init__(
        self,
        alpha: float = 0.8,
        variant: Variant = "paper",
        margin: float = MARGIN,
        scale: float = MANIFOLD_SCALE["intrinsic"],
        diagonal: Diagonal = DIAGONAL,
        **kwargs: Any,
    ) -> None:
        refuse_distance(type(self).__name__, kwargs)
        check_walk(alpha, variant, diagonal)
        super().__init__(margin, scale, **kwargs)
        self.alpha, self.variant, self.diagonal = alpha, variant, diagonal

    def similarities(self, embeddings: Tensor, ref_emb: Tensor) -> Tensor:
        x = functional.normalize(embeddings)
        points = x if ref_emb is embeddings else torch.cat([x, functional.normalize(ref_emb)])
        first = len(points) - len(ref_emb)
        columns = torch.arange(first, len(points), device=x.device)
        return batch_walk(points, columns, self.alpha, self.variant, self.diagonal)[: len(x)]
