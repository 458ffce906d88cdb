"""Where batches come from: rows of an array, or pictures that are read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from foldwalk.core.types import AnyArray, IntArray
from foldwalk.learn.trainer.checkpoint import fingerprint

Part = tuple[IntArray, IntArray]  # items, and their places in the batch of which they are a part


class Source(Protocol):
    """Training or test items as a model takes them."""

    @property
    def at_once(self) -> int:
        """How many items are looked at together where nothing is trained."""
        ...

    def __len__(self) -> int: ...

    def for_training(self, epoch: int, parts: Sequence[Part]) -> Iterator[Tensor]:
        """One tensor for each part; what is drawn at random depends on epoch, part and place alone."""
        ...

    def as_they_are(self, parts: Sequence[IntArray]) -> Iterator[Tensor]:
        """The same for evaluation: nothing is drawn."""
        ...

    def fingerprint(self) -> str:
        """What tells these items from others."""
        ...


class Rows:
    """Items that are rows of an array."""

    at_once = 512

    def __init__(self, values: AnyArray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def for_training(self, epoch: int, parts: Sequence[Part]) -> Iterator[Tensor]:  # noqa: ARG002
        return self.as_they_are([items for items, _ in parts])

    def as_they_are(self, parts: Sequence[IntArray]) -> Iterator[Tensor]:
        for items in parts:
            yield torch.from_numpy(np.ascontiguousarray(self.values[items], dtype=np.float32))

    def fingerprint(self) -> str:
        return fingerprint(self.values)


def as_source(inputs: AnyArray | Source) -> Source:
    return Rows(inputs) if isinstance(inputs, np.ndarray) else inputs


def pieces_of(items: IntArray, at_once: int) -> list[IntArray]:
    """The items in order, a few at a time."""
    return [items[start : start + at_once] for start in range(0, len(items), at_once)]
