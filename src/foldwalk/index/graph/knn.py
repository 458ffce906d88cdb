"""The k-NN graph of the collection: derived data, kept up to date row by row.

A row holds up to 64 neighbours, of which 50 are promised; the rest is slack for removals. Every row lists the
nearest of all items, as many as it knows, so that

- a new item enters exactly those rows whose last entry it beats, which one matrix product finds;
- a removed item only shortens the rows it was in; a row with fewer than 50 left is searched again.

Items keep their numbers for ever, so the numbers a graph was made of tell what has changed since: no matter
where a writer was stopped, the next one goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import BoolArray, Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index.graph.insert import insert_columns, keep_rows
from foldwalk.neighbors import EXACT_WORK, knn_graph
from foldwalk.neighbors.exact import BLOCK_BYTES, exact_search
from foldwalk.neighbors.similarity import ROUNDING

PROMISED, WIDTH = 50, 64
# An update costs two matrix products of new rows with all rows: beyond this share a build is the cheaper one.
LARGEST_UPDATE = 0.25
NEW_AT_A_TIME = 1024
EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class KnnGraph:
    """`numbers` are the items, in order; ids are places in it, -1 at the end of short rows.

    `touched` marks rows that changed since the graph was built, `unsaved` counts the changed items since it
    was saved. `scale` is that of the vectors whose similarities these are.
    """

    numbers: IntArray
    ids: Int32Array
    similarities: Float32Array
    touched: BoolArray
    unsaved: int = 0
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def build(cls, vectors: Vectors, numbers: IntArray, metric: str) -> KnnGraph:
        """From scratch."""
        k = min(WIDTH, len(numbers) - 1)
        if k < 1:
            nobody = np.zeros((len(numbers), 0))
            found = Neighbors(nobody.astype(np.int32), nobody.astype(np.float32))
            return cls.of(found, numbers, vectors.scale)
        return cls.of(knn_graph(vectors, k, metric), numbers, vectors.scale)

    @classmethod
    def of(cls, found: Neighbors, numbers: IntArray, scale: float) -> KnnGraph:
        """Neighbours of these items, by vectors in that scale, as a graph that was just built."""
        ids = np.full((len(numbers), WIDTH), -1, np.int32)
        similarities = np.zeros((len(numbers), WIDTH), np.float32)
        ids[:, : found.k], similarities[:, : found.k] = found.ids, found.similarities
        return cls(numbers, ids, similarities, np.zeros(len(numbers), bool), max(len(numbers), 1), scale)

    @classmethod
    def current(cls, older: KnnGraph | None, vectors: Vectors, numbers: IntArray, metric: str) -> KnnGraph:
        """The graph of these items, made from an older one where it is in the same scale and less work."""
        if older is None or not len(older) or not len(numbers) or older.scale != vectors.scale:
            return cls.build(vectors, numbers, metric)
        if np.array_equal(older.numbers, numbers):
            return older
        added = np.flatnonzero(~np.isin(numbers, older.numbers))
        if len(added) > LARGEST_UPDATE * len(numbers) or _work(added, vectors) > EXACT_WORK:
            return cls.build(vectors, numbers, metric)
        graph = older._without_removed(numbers, len(added))
        present = ~vectors.zero_rows if metric == "cosine" else np.ones(len(vectors), bool)
        known = int(present.sum() - present[added].sum())
        complete = ~present | (graph.filled() >= known - 1)
        complete[added] = False
        graph._insert(added[present[added]], complete, vectors, metric)
        everyone = ~present | (graph.filled() >= min(WIDTH, present.sum() - 1))
        short = np.flatnonzero((graph.filled() < PROMISED) & ~everyone)
        again = np.union1d(added, short)
        if len(again) > LARGEST_UPDATE * len(numbers) or _work(again, vectors) > EXACT_WORK:
            return cls.build(vectors, numbers, metric)
        graph._search(again, vectors, metric)
        return graph

    def _without_removed(self, numbers: IntArray, n_added: int) -> KnnGraph:
        """The rows of items that are still there, at their new places; the rows of new items are empty."""
        places = np.searchsorted(numbers, self.numbers)
        places[places == len(numbers)] = 0
        stays = numbers[places] == self.numbers
        rows = np.flatnonzero(stays)
        out = KnnGraph(
            numbers,
            np.full((len(numbers), WIDTH), -1, np.int32),
            np.zeros((len(numbers), WIDTH), np.float32),
            np.zeros(len(numbers), bool),
            self.unsaved + n_added + int((~stays).sum()),
            self.scale,
        )
        out.touched[places[rows]] = self.touched[rows]
        new_place = np.where(stays, places, -1)
        keep_rows(
            self.ids, self.similarities, rows, places[rows], new_place,
            out.ids, out.similarities, out.touched,
        )  # fmt: skip
        return out

    def _insert(self, added: IntArray, complete: BoolArray, vectors: Vectors, metric: str) -> None:
        """Offer the new items to every row that is not new."""
        cosine, values = metric == "cosine", vectors.values
        for start in range(0, len(added), NEW_AT_A_TIME):
            items = added[start : start + NEW_AT_A_TIME]
            new = values[items]
            lengths = np.zeros(len(items), np.float32) if cosine else np.einsum("ij,ij->i", new, new) / 2
            floors = self._floors(complete, vectors, cosine, float(lengths.max()))
            block = max(256, BLOCK_BYTES // (4 * len(items)))
            for first in range(0, len(values), block):
                scores = values[first : first + block] @ new.T
                if not cosine:
                    scores -= lengths
                insert_columns(
                    scores, floors[first : first + block], first, items.astype(np.int32), complete,
                    values, cosine, self.ids, self.similarities, self.touched,
                )  # fmt: skip

    def _floors(self, complete: BoolArray, vectors: Vectors, cosine: bool, longest: float) -> Float32Array:
        """For each row x the score, x.y or x.y - y.y / 2, below which a new y cannot beat its last entry."""
        filled = self.filled()
        last = np.take_along_axis(self.similarities, np.maximum(filled - 1, 0)[:, None], axis=1)[:, 0]
        if cosine:
            floors = last - np.float32(ROUNDING)
        else:
            own = np.einsum("ij,ij->i", vectors.values, vectors.values)
            # A similarity of 32 bits leaves its distance open by so much.
            distance = (1 + 4 * EPSILON) / np.maximum(last, np.float32(1e-30)).astype(np.float64) - 1
            slack = ROUNDING * (np.sqrt(own) + np.sqrt(2 * longest)) ** 2
            with np.errstate(over="ignore"):  # minus infinity: everyone is looked at
                floors = ((own - distance**2) / 2 - slack).astype(np.float32)
        grows = complete & (filled < WIDTH)
        if cosine:
            floors[vectors.zero_rows] = np.inf
            grows &= ~vectors.zero_rows
        floors[grows] = -np.inf
        floors[(filled == 0) & ~grows] = np.inf
        return floors

    def _search(self, rows: IntArray, vectors: Vectors, metric: str) -> None:
        """Find the neighbours of these rows anew."""
        if len(rows) == 0 or len(vectors) < 2:
            return
        k = min(WIDTH, len(vectors) - 1)
        found = exact_search(vectors, Vectors(vectors.values[rows]), k, metric, own=rows)
        self.ids[rows, :k], self.similarities[rows, :k] = found.ids, found.similarities
        self.touched[rows] = True

    def filled(self) -> IntArray:
        """How many neighbours each row has."""
        return np.asarray((self.ids >= 0).sum(axis=1))

    def neighbors(self, metric: str) -> Neighbors:
        """The 50 nearest of each item, or all others where there are fewer."""
        k = min(PROMISED, max(len(self) - 1, 0))
        ids, similarities = self.ids[:, :k], self.similarities[:, :k]
        return Neighbors(np.ascontiguousarray(ids), np.ascontiguousarray(similarities), metric, how="index")

    def drift(self) -> float:
        """The share of rows that changed since the graph was built."""
        return float(self.touched.mean()) if len(self) else 0.0

    def worth_saving(self) -> bool:
        """A saved graph may lag behind by one item in 200: bringing it up to date is quick."""
        return self.unsaved * 200 >= len(self)


def _work(rows: IntArray, vectors: Vectors) -> float:
    """Multiplications of an update with so many rows."""
    return 2.0 * len(rows) * len(vectors) * vectors.dim
