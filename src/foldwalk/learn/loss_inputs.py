"""What losses of pytorch-metric-learning are handed in: what cannot be used is refused in one sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foldwalk.core.errors import BadInput, BadParameter


def need_labels_or_indices(labels: Tensor | None, indices_tuple: Any, ref_labels: Tensor | None) -> None:
    """Pairs come from a miner, or from the labels of both sets."""
    if indices_tuple is None and (labels is None or ref_labels is None):
        raise BadInput("a loss needs labels, of the reference set too, or the pairs of a miner; pass either.")


def need_labels(labels: Tensor | None) -> Tensor:
    if labels is None:
        raise BadInput("this loss needs the label of every embedding; pass labels.")
    return labels


def refuse_distance(name: str, given: dict[str, Any]) -> None:
    """Losses on similarities of their own take none from outside."""
    if given.get("distance") is not None:
        raise BadParameter(f"{name} walks along cosines: it takes no distance.")


def at_least_single(x: Tensor) -> Tensor:
    """Half precision as single, in which a linear system can be solved; anything else as it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
