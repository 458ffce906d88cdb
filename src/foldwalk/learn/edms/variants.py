"""The six rows of table 2, and DREML, by name: which proxies and which loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytorch_metric_learning.losses import BaseMetricLossFunction

from foldwalk.core.errors import UnknownName
from foldwalk.core.types import IntArray
from foldwalk.learn.edms.losses import (
    DIAGONAL,
    MARGIN,
    PROXY_SCALE,
    BatchManifoldLoss,
    ManifoldProxyLoss,
    ProxyNPairLoss,
)
from foldwalk.learn.edms.proxies import HardProxies, OneHotProxies
from foldwalk.learn.edms.walk import Diagonal, Variant
from foldwalk.learn.npair import BatchNPairLoss


@dataclass(frozen=True)
class Row:
    """`proxies`: none, the pictures' own embeddings, moved by eq. 7, or one-hot; `walk`: on which loss."""

    title: str
    proxies: Literal["", "pictures", "hard", "one-hot"]
    walk: Literal["", "batch", "intrinsic", "contextual"]


ROWS = {
    "npair": Row("EDMS (w/o)", "", ""),
    "walk": Row("EDMS (RW)", "", "batch"),
    "walk_proxies": Row("EDMS (RW, P)", "pictures", "contextual"),
    "intrinsic_hard": Row("EDMS (RW-int, P*)", "hard", "intrinsic"),
    "hard": Row("EDMS (P*)", "hard", ""),
    "full": Row("EDMS (RW, P*)", "hard", "contextual"),
    "dreml": Row("DREML", "one-hot", ""),
}


def make_row(
    name: str,
    meta_classes: IntArray,
    seed: int = 0,
    *,
    alpha: float = 0.8,
    variant: Variant = "paper",
    diagonal: Diagonal = DIAGONAL,
    scale: float | None = None,
    steps: int = 100,
    proxy_rate: float = 1e-3,
) -> tuple[BaseMetricLossFunction, HardProxies | None]:
    """The loss of a row, and the proxies to refresh before each epoch, if it has any."""
    if name not in ROWS:
        raise UnknownName(f"there is no variant {name!r} of EDMS; there are {', '.join(ROWS)}.")
    row = ROWS[name]
    if not row.proxies:
        if row.walk:
            given = {} if scale is None else {"scale": scale}
            return BatchManifoldLoss(alpha, variant, diagonal=diagonal, **given), None
        return BatchNPairLoss(MARGIN, PROXY_SCALE if scale is None else scale), None
    kind = OneHotProxies if row.proxies == "one-hot" else HardProxies
    proxies = kind(meta_classes, steps if row.proxies == "hard" else 0, proxy_rate, seed)
    if not row.walk:
        return ProxyNPairLoss(proxies, scale=PROXY_SCALE if scale is None else scale), proxies
    return ManifoldProxyLoss(proxies, row.walk, alpha, variant, scale=scale, diagonal=diagonal), proxies  # type: ignore[arg-type]
