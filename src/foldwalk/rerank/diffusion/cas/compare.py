"""The distance of two rows of F', fused with the plain distance or with F (CAS, eq. 18, 19 and 64)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.diffusion.cas.asked import Asked
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.fusion import distance_from_similarity, fuse
from foldwalk.rerank.order import Reached
from foldwalk.walk import InvertedList, scale_rows
from foldwalk.walk.csr import csr, parts

BLOCK = 1024
PAIRS = 16_384

Search = Callable[[Vectors, int, IntArray | None], Neighbors]
Similarities = Callable[[Vectors, IntArray, AnyArray], Float32Array]


class Direct:
    """Eq. 18 without the graph: rows that overlap are compared, in blocks of queries."""

    def __init__(
        self,
        rows: sparse.csr_array,
        candidates: int,
        params: CASParams,
        search: Search,
        similarities: Similarities,
    ) -> None:
        """`search` and `similarities` are the method's: items by plain similarity, and that of pairs."""
        self.candidates, self.params = candidates, params
        self.search, self.similarities = search, similarities
        self.closeness = Closeness(rows, candidates, params.distance)

    def rank(
        self,
        rows: sparse.csr_array,
        shares: sparse.csr_array | None,
        queries: Vectors,
        scale: Float32Array,
        own: IntArray | None,
        top: int,
    ) -> Reached:
        """The best of each query. `shares`, if given, are fused in place of the plain distance."""
        reached = []
        with task("comparing clusters", len(queries)) as advance:
            for first in range(0, len(queries), BLOCK):
                part = slice(first, first + BLOCK)
                some, mine = Vectors(queries.values[part]), sparse.csr_array(rows[part])
                left_out = None if own is None else own[part]
                if shares is not None:
                    reached.append(self._fused_with_shares(mine, shares[part], left_out, top))
                else:
                    reached.append(self._fused(mine, some, scale[part], left_out, top))
                advance(len(some))
        return Reached.join(reached)

    def _fused(
        self, rows: sparse.csr_array, queries: Vectors, scale: Float32Array, own: IntArray | None, top: int
    ) -> Reached:
        omega, candidates = self.params.omega, self.candidates
        similarities_of = partial(self.similarities, queries)
        valid = None if own is None else np.where(own < candidates, own, -1)
        plain = self.search(queries, top, valid)
        if self.params.distance == "euclidean":
            apart = plain_distances(similarities_of, candidates, scale, plain.metric)
            total = (1 - omega) * self.closeness.euclidean(rows) + omega * apart
            return Reached.from_dense((1 / (1 + total)).astype(np.float32), top, candidates, own)
        close = self.closeness.of(rows)
        return fuse(close, plain, similarities_of, scale, omega, top, candidates, own)

    def _fused_with_shares(
        self, rows: sparse.csr_array, shares: sparse.csr_array, own: IntArray | None, top: int
    ) -> Reached:
        omega, candidates = np.float32(self.params.omega), self.candidates
        if self.params.distance == "euclidean":
            apart = 1 - shares[:, :candidates].toarray()
            total = (1 - omega) * self.closeness.euclidean(rows) + omega * apart
            return Reached.from_dense((1 / (1 + total)).astype(np.float32), top, candidates, own)
        close = self.closeness.of(rows) * (1 - omega) + shares[:, :candidates] * omega
        return Reached.from_sparse(sparse.csr_array(close), top, candidates, own)


def shares_of(
    diffused: sparse.csr_array, order: Int32Array, candidates: int, own: IntArray | None
) -> sparse.csr_array:
    """Rows of F over their largest entry, without the query itself and what may not be answered.

    One minus them is the diffusion's distance, which eq. 18 may fuse. `order[p]` is the item at place p.
    """
    items = order[diffused.indices]
    owner = np.repeat(np.arange(diffused.shape[0]), np.diff(diffused.indptr))
    kept = items < candidates
    if own is not None:
        kept &= items != own[owner]
    values, owner = diffused.data[kept], owner[kept]
    largest = np.zeros(diffused.shape[0], np.float32)
    np.maximum.at(largest, owner, values)
    shares = values / np.where(largest > 0, largest, 1)[owner]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=diffused.shape[0]))])
    return csr(indptr, diffused.indices[kept], shares, diffused.shape[1])


def with_query_column(rows: sparse.csr_array) -> sparse.csr_array:
    """One more column than items: that of an unseen query itself, which no stored row has."""
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], rows.shape[1] + 1))


class Closeness:
    """One minus the distance of rows of F', for pairs of rows that overlap; built once for the items."""

    def __init__(self, rows: sparse.csr_array, candidates: int, distance: str) -> None:
        self.distance, self.candidates = distance, candidates
        self.items = with_query_column(rows)[:candidates]
        self.lists = InvertedList(scale_rows(self.items, "l2") if distance == "cosine" else self.items)

    def of(self, rows: sparse.csr_array) -> sparse.csr_array:
        """(q, candidates), entries between 0 and 1, none where rows have nothing in common."""
        if self.distance == "jensen_shannon":
            common = self.lists.overlap(rows, "jensen_shannon")
        elif self.distance == "cosine":
            common = self.lists.overlap(scale_rows(rows, "l2"), "product")
        elif self.distance == "jaccard":
            common = self.lists.overlap(rows, "minimum")
            common.data = common.data / (2 - common.data)
        else:  # the similarity F' itself, its largest entry as one
            kept = rows.indices < self.candidates
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[kept]
            largest = np.zeros(rows.shape[0], np.float32)
            np.maximum.at(largest, owner, rows.data[kept])
            values = rows.data[kept] / largest[owner]
            shape = (rows.shape[0], self.candidates)
            common = sparse.csr_array((values, (owner, rows.indices[kept])), shape=shape)
        common.data = np.clip(common.data, 0, 1)
        return common

    def euclidean(self, rows: sparse.csr_array) -> Float32Array:
        """|F'_q - F'_j|_2 for every candidate, (q, candidates): also where rows do not overlap."""
        products = self.lists.overlap(rows, "product").toarray()
        own = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1, 1)
        theirs = np.asarray(self.items.multiply(self.items).sum(axis=1)).reshape(1, -1)
        return np.asarray(np.sqrt(np.maximum(own + theirs - 2 * products, 0)), dtype=np.float32)


def ranked_among(
    asked: Asked,
    items: Int32Array,
    places: Int32Array,
    rows: sparse.csr_array,
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    params: CASParams,
    metric: str,
    top: int,
) -> Reached:
    """The best of the listed items, (q, c) with -1 for none, by eq. 18; `rows` are kept by places.

    For the Jensen-Shannon divergence fused with the plain distance, CAS as it is without settings.
    """
    known, omega = items >= 0, np.float32(params.omega)
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    apart = np.zeros(items.shape, np.float32)
    apart[known] = distance_from_similarity(similarities_of(indptr, items[known]), metric)
    far = asked.rows.divergences(places, parts(rows))
    scores = 1 - (1 - omega) * far - omega * (apart / asked.scale[:, None])
    scores[~known] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return Reached(np.take_along_axis(items, order, axis=1), np.take_along_axis(scores, order, axis=1))


def distances_at(
    left: sparse.csr_array, right: sparse.csr_array, indptr: AnyArray, items: AnyArray, distance: str
) -> Float32Array:
    """The distance of row q of `left` and each row of `right` that items[indptr[q] : indptr[q + 1]] lists.

    For every distance of table 6 but the Jensen-Shannon divergence, which has kernels of its own.
    """
    if distance == "cosine":
        left, right = scale_rows(left, "l2"), scale_rows(right, "l2")
    owner, largest = np.repeat(np.arange(left.shape[0]), np.diff(indptr)), left.max(axis=1).toarray().ravel()
    out = np.empty(len(items), np.float32)
    for first in range(0, len(items), PAIRS):
        part = slice(first, first + PAIRS)
        mine, theirs = left[owner[part]], right[items[part]]
        if distance == "cosine":
            out[part] = 1 - mine.multiply(theirs).sum(axis=1)
        elif distance == "jaccard":
            common = mine.minimum(theirs).sum(axis=1)
            out[part] = 1 - common / (2 - common)
        elif distance == "euclidean":
            out[part] = np.sqrt((mine - theirs).power(2).sum(axis=1))
        else:  # the similarity F' itself, its largest entry as one
            out[part] = 1 - mine[np.arange(mine.shape[0]), items[part]] / largest[owner[part]]
    return np.maximum(out, 0)


def plain_distances(
    similarities_of: Callable[[IntArray, AnyArray], Float32Array],
    items: int,
    scale: Float32Array,
    metric: str,
) -> Float32Array:
    """d of eq. 1 for every pair, over the largest in its row, (q, items)."""
    every = np.tile(np.arange(items), len(scale))
    ends = np.arange(len(scale) + 1) * items
    squared = distance_from_similarity(similarities_of(ends, every), metric).reshape(len(scale), -1)
    return np.asarray(squared / scale[:, None], dtype=np.float32)
