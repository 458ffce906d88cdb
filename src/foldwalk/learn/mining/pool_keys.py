"""Pairs of items as single numbers, in which those of the pools are looked up."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from foldwalk.core.types import AnyArray, Int32Array
from foldwalk.learn.mining.pools import Pools

NO_PAIR = -1  # the key of items that the pools do not know


def sorted_keys(pools: Pools, ids: Int32Array) -> tuple[Tensor, AnyArray]:
    """anchor * items + example for every example, ascending; and the order that sorts them."""
    keys = (pools.anchors[:, None] * pools.items + ids)[ids >= 0]
    order = np.argsort(keys, kind="stable")
    return torch.from_numpy(keys[order]), order


def pair_keys(anchors: Tensor, others: Tensor, items: int) -> Tensor:
    """The same for any pairs; an id that is none of the `items` makes no pair."""
    known = [(ids >= 0) & (ids < items) for ids in (anchors, others)]
    return torch.where(known[0] & known[1], anchors.long() * items + others.long(), NO_PAIR)


def find(keys: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """Where each key stands among sorted ones, and whether it is there at all."""
    if not len(among):
        return torch.zeros_like(keys), torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(among, keys).clamp(max=len(among) - 1)
    return place, among[place] == keys
