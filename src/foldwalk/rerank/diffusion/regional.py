"""Regional DFS: several vectors per picture diffuse on one graph; a picture pools the scores of its regions.

A. Iscen, G. Tolias, Y. Avrithis, T. Furon and O. Chum, "Efficient diffusion on region manifolds", CVPR 2017.
Every region of every picture is a node of the graph of DFS. A query of several regions starts at
the nearest regions of each of them at once,

    y = sum over query regions r of y_r,      (I - alpha S) f = y,

and one system is solved whatever their number. The score of picture p is  sum_i w_i f_i  over its regions i:

    "sum"   w = 1
    "gmp"   generalised max pooling (step `gmpweights` of the authors' program), w = (X X' + ridge I)^-1 1, X
            the regions of p: regions that resemble each other share their vote, so that a picture gains
            nothing by showing one thing many times.

The authors take k = k_query = 200 for regions (graph and start), gamma 3, alpha .99 and 20 steps of
conjugate gradients. That suits classes of hundreds of pictures; on smaller ones it lost to one vector per
picture on three sets of four, so that k is 30 and k_query 10 here (docs/descriptors.md). Pictures that the
walk does not reach follow by their most similar pair of regions. The query stays outside the graph, so
`rerank` equals `fit` and `rank`; `rank_self` starts no picture at its own regions.

    regional = RegionalDFS().fit([regions_of_a, regions_of_b, ...])
    regional.rank([regions_of_query, ...], top=100)          # or fit(vectors, owners=picture of each vector)
    regional.rank_self(top=100)

`backbone(...).regions(pictures)` of `foldwalk.descriptors` gives the regions of R-MAC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput, BadParameter, NotFitted
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.ranking import Ranking, check_top
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power
from foldwalk.neighbors import prepare
from foldwalk.rerank.diffusion.dfs import DFS
from foldwalk.rerank.order import Reached, filled
from foldwalk.walk import columns_per_block
from foldwalk.walk.select import top_of_dense_rows

POOLINGS = ("gmp", "sum")


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries: the regions of all of them, the query of each region, and where it starts."""

    vectors: Vectors
    owner_of: IntArray
    count: int
    found: Neighbors


class RegionalDFS:
    """DFS on regional vectors; ids of its rankings are pictures. `parameters` are those of DFS."""

    def __init__(self, pooling: str = "gmp", ridge: float = 1.0, seed: int = 0, **parameters: Any) -> None:
        if pooling not in POOLINGS:
            raise BadParameter(f"pooling is {pooling!r}, but it must be one of {', '.join(POOLINGS)}.")
        if not ridge > 0:
            raise BadParameter(f"ridge is {ridge!r}, but it must be a number above 0.")
        regional = {"k": 30, "k_query": 10} | parameters
        self.pooling, self.ridge = pooling, ridge
        self.dfs = DFS(seed=seed, **regional)
        self.pictures = 0

    def fit(
        self, regions: Sequence[npt.ArrayLike] | npt.ArrayLike, owners: npt.ArrayLike | None = None
    ) -> Self:
        """A list with one (regions, d) array per picture, or all vectors and the picture of each."""
        vectors, owner_of, self.pictures = _joined(regions, owners, "gallery")
        order = np.argsort(owner_of, kind="stable")
        self.firsts = np.searchsorted(owner_of[order], np.arange(self.pictures))
        self.owner_of = owner_of[order]
        self.dfs.adopt(prepare(Vectors(vectors.values[order]), self.dfs.params.metric))
        entries = (self._weights(), (self.owner_of, np.arange(len(order))))
        self.pool = sparse.csr_array(entries, shape=(self.pictures, len(order)))
        return self

    def rank(
        self,
        queries: Sequence[npt.ArrayLike] | npt.ArrayLike,
        top: int = 100,
        owners: npt.ArrayLike | None = None,
    ) -> Ranking:
        """Rank the pictures for queries of several regions each, given in the same ways as to `fit`."""
        self._need_gallery()
        vectors, owner_of, count = _joined(queries, owners, "queries", self.dfs.vectors.dim)
        vectors = prepare(vectors, self.dfs.params.metric, self.dfs.vector_scale)
        top = check_top(top, self.pictures)
        found = self.dfs.search(vectors, self.dfs.params.k_query)
        return self._rank(Asked(vectors, owner_of, count, found), None, top)

    def rank_self(self, top: int = 100) -> Ranking:
        """Rank the pictures for each of them, the picture itself and its regions left out."""
        self._need_gallery()
        top = check_top(top, self.pictures - 1)
        if top == 0:
            return Ranking(np.zeros((1, 0), np.int64), np.zeros((1, 0), np.float32))
        asked = Asked(self.dfs.vectors, self.owner_of, self.pictures, self._foreign())
        return self._rank(asked, np.arange(self.pictures), top)

    def rerank(
        self, queries: Sequence[npt.ArrayLike], gallery: Sequence[npt.ArrayLike], top: int = 100
    ) -> Ranking:
        """The query stays outside the graph: the same as `fit(gallery)` and `rank(queries)`."""
        parameters = self.dfs.params.model_dump()
        fresh = RegionalDFS(self.pooling, self.ridge, self.dfs.seed, **parameters)
        return fresh.fit(gallery).rank(queries, top)

    def _need_gallery(self) -> None:
        if not self.pictures:
            raise NotFitted("regional DFS has no gallery yet: call fit(regions) first.")

    def _foreign(self) -> Neighbors:
        """The k_query nearest regions of every region, those of its own picture left out."""
        k = self.dfs.params.k_query
        found = self.dfs.neighbors(k + int(np.bincount(self.owner_of).max()) - 1)
        own = self.owner_of[found.ids] == self.owner_of[:, None]
        order = np.argsort(own | (found.ids < 0), axis=1, kind="stable")[:, :k]
        ids = np.take_along_axis(np.where(own, np.int32(-1), found.ids), order, axis=1)
        return Neighbors(ids, np.take_along_axis(found.similarities, order, axis=1), found.metric)

    def _rank(self, asked: Asked, own: IntArray | None, top: int) -> Ranking:
        starts = self._starts(asked)
        block = columns_per_block(starts.shape[1])
        ids, scores = np.empty((asked.count, top), np.int64), np.empty((asked.count, top), np.float32)
        with task("regional diffusion", asked.count) as advance:
            for first in range(0, asked.count, block):
                queries = np.arange(first, min(first + block, asked.count))
                left_out = None if own is None else own[queries]
                pooled = self._pooled(starts[queries])
                reached = Reached.from_dense(pooled, top, self.pictures, left_out)
                plain_of = partial(self._most_similar, asked, queries, own)
                ids[queries], scores[queries] = filled(reached, top, plain_of)
                advance(len(queries))
        return Ranking(ids, scores)

    def _weights(self) -> Float32Array:
        """w of every region, picture by picture."""
        values = self.dfs.vectors.values.astype(np.float64)
        if self.pooling == "sum":
            return np.ones(len(values), np.float32)
        weights = [
            np.linalg.solve(x @ x.T + self.ridge * np.eye(len(x)), np.ones(len(x)))
            for x in np.split(values, self.firsts[1:])
        ]
        return np.concatenate(weights).astype(np.float32)

    def _starts(self, asked: Asked) -> sparse.csr_array:
        """y: the starting points of all regions of a query, added up."""
        weights = cosine_power(asked.found, self.dfs.params.gamma)
        rows = as_rows(asked.found, weights, len(self.dfs.vectors))
        entries = (np.ones(len(asked.owner_of), np.float32), (asked.owner_of, np.arange(len(asked.owner_of))))
        return sparse.csr_array(sparse.csr_array(entries, shape=(asked.count, len(asked.owner_of))) @ rows)

    def _pooled(self, starts: sparse.csr_array) -> Float32Array:
        """The scores of the pictures, (queries, pictures)."""
        p = self.dfs.params
        right = np.ascontiguousarray(starts.toarray().T, dtype=np.float32)
        diffused = self.dfs.system.solve(right, p.alpha, p.tolerance, p.max_iterations)
        return np.ascontiguousarray((self.pool @ np.maximum(diffused, 0)).T, dtype=np.float32)

    def _most_similar(
        self, asked: Asked, queries: IntArray, own: IntArray | None, which: IntArray
    ) -> Neighbors:
        """For some of the queries all pictures, but their own, by their most similar pair of regions."""
        shown = self.pictures - (own is not None)
        ids, best = np.empty((len(which), shown), np.int32), np.empty((len(which), shown), np.float32)
        for place, query in enumerate(queries[which]):
            regions = Vectors(asked.vectors.values[asked.owner_of == query])
            similarities = self._similarities(regions).max(axis=0)
            pictures = np.maximum.reduceat(similarities, self.firsts)[None]
            if own is not None:
                pictures[0, own[query]] = -np.inf
            ids[place], best[place] = (row[0] for row in top_of_dense_rows(pictures, shown)[:2])
        return Neighbors(ids, best, self.dfs.params.metric)

    def _similarities(self, own: Vectors) -> Float32Array:
        products = own.values @ self.dfs.vectors.values.T
        if self.dfs.params.metric == "cosine":
            return products
        squares = [np.einsum("ij,ij->i", v, v) for v in (own.values, self.dfs.vectors.values)]
        squared = np.maximum(squares[0][:, None] + squares[1] - 2 * products, 0)
        return np.asarray(1 / (1 + np.sqrt(squared)), np.float32)


def _joined(
    regions: Sequence[npt.ArrayLike] | npt.ArrayLike,
    owners: npt.ArrayLike | None,
    name: str,
    dim: int | None = None,
) -> tuple[Vectors, IntArray, int]:
    """All regions, the owner of each, and how many owners there are."""
    if owners is None:
        if not isinstance(regions, Sequence) or not len(regions):
            raise BadInput(
                f"{name} must be a list with one array of regions per picture, or come with owners."
            )
        parts = [Vectors.check(part, f"{name}, picture {i}", dim) for i, part in enumerate(regions)]
        dims = {part.dim for part in parts}
        if len(dims) > 1:
            raise BadInput(f"{name} has regions of {' and '.join(map(str, sorted(dims)))} dimensions.")
        counts = [len(part) for part in parts]
        values = np.concatenate([part.values for part in parts])
        return Vectors(values), np.repeat(np.arange(len(parts)), counts), len(parts)
    array: Any = regions
    vectors, owner_of = Vectors.check(array, name, dim, owned=True), np.asarray(owners)
    if owner_of.shape != (len(vectors),) or owner_of.dtype.kind not in "iu":
        raise BadInput(f"owners of {name} must be {len(vectors)} whole numbers, one per vector.")
    present = np.unique(owner_of)
    if present[0] != 0 or present[-1] != len(present) - 1:
        raise BadInput(f"owners of {name} must count from 0 without a gap: every picture needs a region.")
    return vectors, owner_of.astype(np.int64), len(present)
