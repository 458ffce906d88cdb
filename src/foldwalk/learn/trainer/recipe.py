"""How a training goes: which batches an epoch has, and what their loss is.

A recipe is told at the beginning of an epoch how to embed all training items; what it draws depends on the
seed and the number of the epoch alone, so that training can stop after any epoch and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from foldwalk.core.types import Float32Array, IntArray

Embed = Callable[[], Float32Array]


class Recipe:
    """Base: `module` holds the loss and whatever it learns."""

    module: nn.Module

    def begin_epoch(self, epoch: int, embed: Embed) -> None:
        """Called before the batches of an epoch are drawn; epochs count from 1."""

    def batches(self, epoch: int) -> Iterator[IntArray]:
        raise NotImplementedError

    def loss(self, embeddings: Tensor, items: IntArray) -> Tensor:
        """The loss of a batch; items are those that `batches` gave."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        return {"module": self.module.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["module"])
