"""Batches of two class-aligned halves: the two sub-graphs that should agree, X' and X'' of eq. 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.core.labels import check_labels
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray


def aligned_halves(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Places of two halves with labels[first] equal to labels[second], classes in ascending order.

    Of each class the items are dealt out in turn; an odd one is left out.

    >>> aligned_halves(torch.tensor([7, 5, 7, 5, 5]))
    (tensor([1, 0]), tensor([3, 2]))
    """
    order = torch.argsort(labels, stable=True)
    ordered = labels[order]
    starts = torch.searchsorted(ordered, ordered)  # where the class of each item begins
    place = torch.arange(len(labels), device=labels.device) - starts
    size = torch.searchsorted(ordered, ordered, right=True) - starts
    paired = place < size - size % 2
    return order[paired & (place % 2 == 0)], order[paired & (place % 2 == 1)]


class HalvesSampler:
    """Batches of `classes` random classes with `per_class` items each, one half after the other.

    A class of fewer items gives some of them twice. One pass is as many batches as cover the data once. It
    serves as the `batch_sampler` of a DataLoader; epoch e of a seed always draws the same batches.
    """

    def __init__(self, labels: npt.ArrayLike, classes: int = 13, per_class: int = 10, seed: int = 0) -> None:
        codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
        self.members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        if per_class < 2 or per_class % 2:
            raise BadParameter(f"per_class must be an even number of at least 2, but it is {per_class}.")
        if not 2 <= classes <= len(self.members):
            raise BadInput(f"a batch of {classes} classes needs 2 to {len(self.members)} of them.")
        self.classes, self.per_class, self.seed, self.epoch = classes, per_class, seed, 0
        self.batches = max(1, len(codes) // (classes * per_class))

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        self.epoch += 1
        for batch in self.draw(self.epoch):
            yield batch.tolist()

    def draw(self, epoch: int) -> Iterator[IntArray]:
        """The batches of an epoch, items as numbers."""
        rng = generator(self.seed, f"class batches of epoch {epoch}")
        for _ in range(self.batches):
            chosen = rng.choice(len(self.members), self.classes, replace=False)
            drawn = np.stack([self._of_class(self.members[c], rng) for c in chosen])
            half = self.per_class // 2
            yield np.concatenate([drawn[:, :half].ravel(), drawn[:, half:].ravel()])

    def _of_class(self, members: IntArray, rng: np.random.Generator) -> IntArray:
        return rng.choice(members, self.per_class, replace=len(members) < self.per_class)
