"""What the methods of ranking references share: how long lists are, and what follows the items reached."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Int32Array, IntArray
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.walk.ranked import append_missing

# Lists have at least so many places, and more as long as those of all items have no more than this together.
SHORT, PLACES = 400, 4_000_000
BLOCK = 2048


class ListParams(Params):
    k: int
    depth: int = neighborhood(
        0,
        "length to which lists are followed, the item itself counted; 0: the whole set up to 2,000 items, "
        "4,000,000 / n places up to 10,000, 400 beyond",
        low=0,
    )


class ListMethod(Reranker):
    """A method that sorts rank lists; the authors' programs follow lists of the whole set."""

    def _wanted(self, _: int) -> int:
        return int(max(self.params.depth or SHORT, self.params.k) - 1)

    def lists_of_all(self) -> Neighbors:
        """The lists of all items by plain similarity; neighbours that were handed in may be fewer."""
        n = len(self.vectors)
        least = self._wanted(n)
        if self.params.depth:
            return self.neighbors(least)
        return self.neighbors(max(least, self.as_many_as_given(PLACES // n - 1)))

    def followed_by_lists(self, reached: Reached, lists_of: Callable[[IntArray], Int32Array]) -> Reached:
        """Behind what a query reached, the rest of its list, as `lists_of` some queries says.

        The method has no score for these: theirs fall from 0 to -1 with the place in the list.
        """
        ids, scores = reached.ids.copy(), reached.scores.copy()
        short = np.flatnonzero((ids < 0).any(axis=1))
        for first in range(0, len(short), BLOCK):
            part = short[first : first + BLOCK]
            some, their, lists = ids[part], scores[part], lists_of(part)
            listed = np.where(lists < self.candidates, lists, np.int32(-1))
            falling = -np.arange(1, lists.shape[1] + 1) / (len(self.vectors) + 1)
            append_missing(some, their, listed, np.tile(falling.astype(np.float32), (len(part), 1)))
            ids[part], scores[part] = some, their
        return Reached(ids, scores)
