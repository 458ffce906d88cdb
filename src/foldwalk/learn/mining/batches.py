"""Batches of mined tuples for a DataLoader: random ones of a large collection hardly hold a mined pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

from foldwalk.core.errors import BadParameter
from foldwalk.core.seeds import check_seed, generator
from foldwalk.core.types import IntArray
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.tuples import draw_tuples, hardest_negatives


class TupleBatches(Sampler[list[int]]):
    """Items of `tuples` tuples a batch: anchors, a positive and a negative of each, every item once.

    Each epoch visits every anchor that has both. It serves as the `batch_sampler` of a DataLoader, with
    PoolMiner to find the pairs again; epoch e of a seed always draws the same batches.

    >>> sizes = [len(batch) for batch in TupleBatches(pools, tuples=2)]    # doctest: +SKIP
    """

    def __init__(self, pools: Pools, tuples: int = 42, seed: int = 0) -> None:
        if tuples < 1:
            raise BadParameter(f"tuples must be at least 1, but it is {tuples}.")
        self.pools, self.tuples, self.seed, self.epoch = pools, tuples, check_seed(seed), 0
        self._drawn_from = pools
        pools.need_usable()

    def __len__(self) -> int:
        return -(-int(self.pools.usable.sum()) // self.tuples)

    def __iter__(self) -> Iterator[list[int]]:
        self.epoch += 1
        for batch in self.draw(self.epoch):
            yield batch.tolist()

    def set_epoch(self, epoch: int) -> None:
        """The next pass is that of `epoch`, counted from 1, as when a training goes on."""
        self.epoch = epoch - 1

    def refresh(self, embedding: npt.ArrayLike, count: int = 10) -> None:
        """Draw only negatives that are hardest in the current embedding of all items."""
        self._drawn_from = hardest_negatives(self.pools, embedding, count)

    def draw(self, epoch: int) -> Iterator[IntArray]:
        """The batches of an epoch, items as numbers."""
        drawn = draw_tuples(self._drawn_from, generator(self.seed, f"tuple batches of epoch {epoch}"))
        columns = np.stack([drawn.anchors, drawn.positives, drawn.negatives])
        for start in range(0, len(drawn), self.tuples):
            items = columns[:, start : start + self.tuples].ravel()
            yield items[np.sort(np.unique(items, return_index=True)[1])]
