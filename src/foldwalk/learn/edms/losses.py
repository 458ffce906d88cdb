"""The proxy losses (sections 4.1 and 6) as losses of pytorch-metric-learning; labels are meta-classes.

    proxy N-pair (eq. 4)   log(1 + sum_{j != k} exp(scale (x p_j - x p_k) + m))
    intrinsic (eq. 11)     the same with the manifold similarities f_nj of picture n and proxy j
    contextual (eq. 12)    the same with f_n f_pj, how alike n and proxy j see all proxies

Manifold similarities of one batch are small and lie close together, so that with scale = 1, the printed
equation, a loss stays near log K: `scale` sharpens it. Embeddings are scaled to length one.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pytorch_metric_learning.losses import BaseMetricLossFunction
from torch import Tensor
from torch.nn import functional

from foldwalk.core.errors import BadParameter
from foldwalk.learn.edms.proxies import HardProxies
from foldwalk.learn.edms.walk import Variant, batch_walk
from foldwalk.learn.npair import BatchNPairLoss, one_plus_sum

Kind = Literal["contextual", "intrinsic"]
MARGIN = 5e-4
# The best MAP@R, or within 0.2 points of it, on held-out training classes of CUB, and the best on those of
# Omniglot: docs/metric-learning-results.md.
PROXY_SCALE = 16.0
MANIFOLD_SCALE = {"contextual": 1000.0, "intrinsic": 400.0}


class ProxyNPairLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """Eq. 4: a picture should be more similar to its own proxy than to the others."""

    def __init__(
        self, proxies: HardProxies, margin: float = MARGIN, scale: float = PROXY_SCALE, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.proxies, self.margin, self.scale = proxies, margin, scale
        self.add_to_recordable_attributes(list_of_names=["margin", "scale"], is_stat=False)

    def compute_loss(
        self,
        embeddings: Tensor,
        labels: Tensor,
        indices_tuple: Any,  # noqa: ARG002
        ref_emb: Tensor,  # noqa: ARG002
        ref_labels: Tensor,  # noqa: ARG002
    ) -> dict[str, Any]:
        similar = self.similarities(functional.normalize(embeddings), self.proxies.current(embeddings))
        rows = torch.arange(len(labels), device=labels.device)
        others = torch.ones_like(similar, dtype=torch.bool)
        others[rows, labels] = False
        logits = self.scale * (similar - similar[rows, labels][:, None]) + self.margin
        losses = one_plus_sum(logits, others)
        return {"loss": {"losses": losses, "indices": rows, "reduction_type": "element"}}

    def similarities(self, x: Tensor, proxies: Tensor) -> Tensor:
        """Of each picture to each proxy, (N, K)."""
        return x @ proxies.T


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
        **kwargs: Any,
    ) -> None:
        if kind not in MANIFOLD_SCALE:
            raise BadParameter(f'kind must be "contextual" or "intrinsic", but it is {kind!r}.')
        super().__init__(proxies, margin, MANIFOLD_SCALE[kind] if scale is None else scale, **kwargs)
        self.kind, self.alpha, self.variant = kind, alpha, variant
        self.add_to_recordable_attributes(name="alpha", is_stat=False)

    def similarities(self, x: Tensor, proxies: Tensor) -> Tensor:
        columns = torch.arange(len(x), len(x) + len(proxies), device=x.device)
        walked = batch_walk(torch.cat([x, proxies]), columns, self.alpha, self.variant)
        pictures, standing = walked[: len(x)], walked[len(x) :]
        return pictures if self.kind == "intrinsic" else pictures @ standing.T


class BatchManifoldLoss(BatchNPairLoss):
    """Eq. 3 with manifold similarities and no proxies: EDMS (RW) of table 2."""

    def __init__(
        self,
        alpha: float = 0.8,
        variant: Variant = "paper",
        margin: float = MARGIN,
        scale: float = MANIFOLD_SCALE["intrinsic"],
        **kwargs: Any,
    ) -> None:
        super().__init__(margin, scale, **kwargs)
        self.alpha, self.variant = alpha, variant

    def similarities(self, embeddings: Tensor, ref_emb: Tensor) -> Tensor:
        if ref_emb is not embeddings:
            raise BadParameter("the walk goes through one batch: BatchManifoldLoss takes no reference set.")
        everything = torch.arange(len(embeddings), device=embeddings.device)
        return batch_walk(functional.normalize(embeddings), everything, self.alpha, self.variant)
