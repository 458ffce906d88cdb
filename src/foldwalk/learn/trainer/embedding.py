"""The vectors that a model gives for all items of a source, shared out among the processes."""

from __future__ import annotations

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional

from foldwalk.core.types import Float32Array
from foldwalk.learn.trainer.batches import Source, pieces_of
from foldwalk.learn.trainer.devices import joined, share
from foldwalk.learn.trainer.statistics import settle_statistics

SETTLE_ITEMS = 256  # in a batch for statistics, evenly spread over the items


@torch.no_grad()
def embedded(model: nn.Module, source: Source, accelerator: Accelerator) -> Float32Array:
    """Unit vectors of all items, the same in every process."""
    own = share(np.arange(len(source)), accelerator)
    model.eval()
    parts = [
        functional.normalize(model(some.to(accelerator.device)))
        for some in source.as_they_are(pieces_of(own, source.at_once))
    ]
    whole = joined(torch.cat(parts), len(source), accelerator)
    return np.asarray(whole.cpu().numpy(), dtype=np.float32)


def settle(model: nn.Module, source: Source, accelerator: Accelerator) -> None:
    """Statistics of normalisation as the next batch will see them."""
    apart = max(1, len(source) // SETTLE_ITEMS)
    some = source.as_they_are([np.arange(i, len(source), apart) for i in range(min(4, apart))])
    settle_statistics(model, (batch.to(accelerator.device) for batch in some))
