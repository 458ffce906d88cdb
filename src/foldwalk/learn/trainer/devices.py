"""Where a model is trained: a processor, a GPU, or several processes that share every batch.

The losses look at pairs, so each process needs the embeddings of the whole batch: it computes its own share
and is handed the others. Its loss is that of the whole batch, in which only its share carries a gradient; the
sum over the processes is the gradient of one process with the whole batch.
"""

from __future__ import annotations

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from foldwalk.core.errors import BadParameter
from foldwalk.core.types import AnyArray
from foldwalk.descriptors.networks.shared.devices import device_of
from foldwalk.learn.trainer.settings import TrainingSettings


def make_accelerator(settings: TrainingSettings) -> Accelerator:
    """accelerate's part of the loop: placement, precision, processes."""
    device, precision = settings.device, settings.precision
    on_cpu = device_of(device).type == "cpu"
    if precision == "fp16" and on_cpu:
        raise BadParameter("fp16 needs a GPU: choose the precision bf16 or no.")
    try:
        made = Accelerator(cpu=on_cpu, mixed_precision=precision, step_scheduler_with_optimizer=False)
    except ValueError as error:  # accelerate keeps one state for the whole process
        raise BadParameter(f"this process trains in another precision already: {error}") from None
    if device not in ("auto", made.device.type):
        raise BadParameter(f"this process trains on {made.device.type} already; begin another for {device}.")
    return made


def share(items: AnyArray, accelerator: Accelerator) -> AnyArray:
    """This process's part of the items: as many for each, the first ones again where they do not come out."""
    if accelerator.num_processes == 1:
        return items
    each = -(-len(items) // accelerator.num_processes)
    begin = each * accelerator.process_index
    return np.resize(items, each * accelerator.num_processes)[begin : begin + each]


def joined(own: Tensor, count: int, accelerator: Accelerator) -> Tensor:
    """The rows of all processes for `count` items that were shared out; one's own keep their gradient."""
    if accelerator.num_processes == 1:
        return own
    parts = list(accelerator.gather(own.detach()).split(len(own)))
    parts[accelerator.process_index] = own
    if own.requires_grad:  # gradients are averaged over the processes, but the shares must be added up
        own.register_hook(lambda gradient: gradient * accelerator.num_processes)  # type: ignore[no-untyped-call]
    return torch.cat(parts)[:count]
