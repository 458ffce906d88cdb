"""Running statistics of batch normalisation, taken anew.

While a network learns quickly from nothing its running means lag behind, and what it gives for a picture in
training and in evaluation lie far apart. Proxies and hard negatives compare the two: before they are found
the statistics are taken anew from the weights as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@torch.no_grad()
def settle_statistics(model: nn.Module, batches: Iterable[Tensor]) -> None:
    """The mean over `batches` for all statistics that training changes; frozen ones stay as they are."""
    model.train()
    norms = [part for part in model.modules() if isinstance(part, NORMS) and part.training]
    if not norms:
        return
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # all batches count alike
    for batch in batches:
        model(batch)
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
