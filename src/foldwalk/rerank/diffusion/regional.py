"""Regional DFS: several vectors per picture diffuse on one graph; a picture pools the scores of its regions.

A. Iscen, G. Tolias, Y. Avrithis, T. Furon and O. Chum, "Efficient diffusion on region manifolds", CVPR 2017,
section 4. Every region of every picture is a node of the graph of DFS. A query of several regions starts at
the nearest regions of each of them at once,

    y = sum over query regions r of y_r,      (I - alpha S) f = y,

and one system is solved whatever their number. The score of picture p is  sum_i w_i f_i  over its regions i:

    "sum"   w = 1
    "gmp"   generalised max pooling, w = (X X' + ridge I)^-1 1, X the regions of p: regions that resemble each
            other share their vote, so that a picture gains nothing by showing one thing many times.

The authors take k = k_query = 200 for regions (graph and start), gamma 3, alpha .99 and 20 steps of conjugate
gradients. Pictures that the walk does not reach follow by their most similar pair of regions.

    regional = RegionalDFS(pooling="gmp", k=200, k_query=200).fit([regions_of_a, regions_of_b, ...])
    regional.rank([regions_of_query, ...], top=100)          # or fit(vectors, owners=picture of each vector)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput, BadParameter, NotFitted
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.ranking import Ranking
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power
from foldwalk.neighbors import prepare
from foldwalk.rerank.diffusion.dfs import DFS, DFSParams
from foldwalk.rerank.order import Reached, merge
from foldwalk.walk import columns_per_block
from foldwalk.walk.select import top_of_dense_rows

POOLINGS = ("gmp", "sum")


class RegionalDFS:
    """DFS on regional vectors; ids of its rankings are pictures. `parameters` are those of DFS."""

    def __init__(self, pooling: str = "gmp", ridge: float = 1.0, seed: int = 0, **parameters: Any) -> None:
        if pooling not in POOLINGS:
            raise BadParameter(f"pooling is {pooling!r}, but it must be one of {', '.join(POOLINGS)}.")
        if not ridge > 0:
            raise BadParameter(f"ridge is {ridge!r}, but it must be a number above 0.")
        regional = {"k": 200, "k_query": 200} | parameters
        self.pooling, self.ridge = pooling, ridge
        self.dfs = DFS(DFSParams.make("dfs", regional), seed)
        self.pictures = 0

    def fit(
        self, regions: Sequence[npt.ArrayLike] | npt.ArrayLike, owners: npt.ArrayLike | None = None
    ) -> Self:
        """A list with one (regions, d) array per picture, or all vectors and the picture of each."""
        vectors, owner_of, self.pictures = _joined(regions, owners, "gallery")
        order = np.argsort(owner_of, kind="stable")
        self.firsts = np.searchsorted(owner_of[order], np.arange(self.pictures))
        self.dfs.fit(vectors.values[order])
        entries = (self._weights(), (owner_of[order], np.arange(len(order))))
        self.pool = sparse.csr_array(entries, shape=(self.pictures, len(order)))
        return self

    def rank(
        self,
        queries: Sequence[npt.ArrayLike] | npt.ArrayLike,
        top: int = 100,
        owners: npt.ArrayLike | None = None,
    ) -> Ranking:
        """Rank the pictures for queries of several regions each, given in the same ways as to `fit`."""
        if not self.pictures:
            raise NotFitted("regional DFS has no gallery yet: call fit(regions) first.")
        vectors, owner_of, count = _joined(queries, owners, "queries", self.dfs.vectors.dim)
        vectors = prepare(vectors, self.dfs.params.metric)
        top = self.dfs._check_top(top, self.pictures)
        starts = self._starts(vectors, owner_of, count)
        block = columns_per_block(starts.shape[1])
        ids, scores = np.empty((count, top), np.int64), np.empty((count, top), np.float32)
        with task("regional diffusion", count) as advance:
            for first in range(0, count, block):
                part = slice(first, min(first + block, count))
                reached = Reached.from_dense(self._pooled(starts[part]), top, self.pictures, None)
                plain = self._most_similar(vectors, owner_of, np.arange(part.start, part.stop))
                ids[part], scores[part] = merge(reached, plain, top)
                advance(part.stop - part.start)
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

    def _starts(self, vectors: Vectors, owner_of: IntArray, count: int) -> sparse.csr_array:
        """y: the starting points of all regions of a query, added up."""
        found = self.dfs.search(vectors, self.dfs.params.k_query)
        rows = as_rows(found, cosine_power(found, self.dfs.params.gamma), len(self.dfs.vectors))
        entries = (np.ones(len(owner_of), np.float32), (owner_of, np.arange(len(owner_of))))
        return sparse.csr_array(sparse.csr_array(entries, shape=(count, len(owner_of))) @ rows)

    def _pooled(self, starts: sparse.csr_array) -> Float32Array:
        """The scores of the pictures, (queries, pictures)."""
        p = self.dfs.params
        right = np.ascontiguousarray(starts.toarray().T, dtype=np.float32)
        diffused = self.dfs.system.solve(right, p.alpha, p.tolerance, p.max_iterations)
        return np.ascontiguousarray((self.pool @ np.maximum(diffused, 0)).T, dtype=np.float32)

    def _most_similar(self, vectors: Vectors, owner_of: IntArray, queries: IntArray) -> Neighbors:
        """All pictures by their most similar pair of regions."""
        ids = np.empty((len(queries), self.pictures), np.int32)
        best = np.empty((len(queries), self.pictures), np.float32)
        for place, query in enumerate(queries):
            own = Vectors(vectors.values[owner_of == query])
            similarities = self._similarities(own).max(axis=0)
            pictures = np.maximum.reduceat(similarities, self.firsts)[None]
            ids[place], best[place] = (row[0] for row in top_of_dense_rows(pictures, self.pictures)[:2])
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
    vectors, owner_of = Vectors.check(np.asarray(regions), name, dim), np.asarray(owners)
    if owner_of.shape != (len(vectors),) or owner_of.dtype.kind not in "iu":
        raise BadInput(f"owners of {name} must be {len(vectors)} whole numbers, one per vector.")
    present = np.unique(owner_of)
    if present[0] != 0 or present[-1] != len(present) - 1:
        raise BadInput(f"owners of {name} must count from 0 without a gap: every picture needs a region.")
    return vectors, owner_of.astype(np.int64), len(present)
