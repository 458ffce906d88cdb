"""k-reciprocal encoding: two items are alike when their sets of mutual neighbours are alike.

Z. Zhong, L. Zheng, D. Cao and S. Li, "Re-ranking person re-identification with k-reciprocal encoding",
CVPR 2017. With d the squared Euclidean distance over the largest in its row:

    R(i, k1)      the mutual nearest of i among the first k1 + 1, itself included         (eq. 3)
    R*(i, k1)     R joined with R(j, round(k1 / 2) + 1 nearest) that mostly lie in it      (eq. 4)
    V_i(j)        exp(-d(i, j)) on R*, scaled to sum one                                   (eq. 7)
    V_i           mean of V over the k2 nearest, itself included                           (eq. 11)
    J(i, j)       1 - m / (2 - m),  m = sum min(V_i, V_j)                                  (eq. 10)
    final         (1 - lambda_) J + lambda_ d                                              (eq. 12)

Programs differ in which power of the distance goes in; ours takes the squared one, as the authors' does.
Rows are sparse and J is taken through an inverted list, only where rows overlap. An unseen query is tested
for mutuality by each item's distance to its own k1-th neighbour; it is nobody's neighbour in the stored rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import Numbering, as_rows, expand_sets, radius, reciprocal_sets
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.fusion import distance_from_similarity, fuse, row_maximum
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList, multiply
from foldwalk.walk.csr import parts

BLOCK = 2048


class KReciprocalParams(Params):
    k1: int = neighborhood(20, "nearest items among which mutual ones are looked for")
    k2: int = neighborhood(6, "nearest items, itself counted, over which the encoding is averaged")
    lambda_: float = Field(0.3, ge=0, le=1, description="weight of the plain distance")


@register
class KReciprocal(Reranker):
    name = "k_reciprocal"
    family = "context"
    paper = "Zhong et al., Re-ranking person re-identification with k-reciprocal encoding, CVPR 2017"
    summary = "items are alike when their sets of mutual neighbours are alike"
    Parameters = KReciprocalParams
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(max(self.params.k1, self.params.k2 - 1))

    def _prepare(self) -> None:
        given = self.neighbors()
        self.scale = row_maximum(self.few, self.vectors, given)
        # All rows are kept by places, which differ from the items' own numbers in a large gallery.
        self.numbering = Numbering.of(given)
        neighbors, order = self.numbering.neighbors(given), self.numbering.order
        self.halves = reciprocal_sets(neighbors, round(self.params.k1 / 2))
        members = expand_sets(reciprocal_sets(neighbors, self.params.k1), self.halves)
        ordered = Vectors(self.vectors.values[order])
        self.encoding = self._encode(members, ordered, self.scale[order])
        self.averaged = self._average(neighbors)
        self.radius = radius(neighbors, self.params.k1)
        self.lists = InvertedList(self.averaged, order)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, max(self.params.k1, self.params.k2 - 1, 1))
        scale = row_maximum(self.few, queries, found)
        found = replace(found, ids=self.numbering.renumber(found.ids))
        nearest = found.first(min(self.params.k1, found.k))
        mutual = (nearest.similarities >= self.radius[nearest.ids]).astype(np.float32)
        sets = as_rows(nearest, mutual, self.candidates)
        encoding = self._encode(expand_sets(sets, self.halves), queries, scale, own_share=1.0)
        return self._compare(self._average(found, encoding), queries, scale, None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        queries = Vectors(self.vectors.values[rows])
        return self._compare(self.averaged[self.numbering.place[rows]], queries, self.scale[rows], rows, top)

    def _encode(
        self, members: sparse.csr_array, queries: Vectors, scale: Float32Array, own_share: float = 0.0
    ) -> sparse.csr_array:
        """Eq. 7: exp(-d) on the members, scaled to sum one.

        `own_share` is what an unseen query's own entry would add to that sum: it has no column here.
        """
        pairs = parts(members)[0], self.numbering.order[members.indices]
        similarities = self.similarities(queries, *pairs)
        rows = np.repeat(np.arange(len(queries)), np.diff(members.indptr))
        weights = np.exp(-distance_from_similarity(similarities, self.metric) / scale[rows])
        sums = np.bincount(rows, weights=weights, minlength=len(queries)) + own_share
        data = (weights / np.maximum(sums, 1e-12)[rows]).astype(np.float32)
        return sparse.csr_array((data, members.indices, members.indptr), shape=members.shape)

    def _average(self, neighbors: Neighbors, own: sparse.csr_array | None = None) -> sparse.csr_array:
        """Eq. 11: the mean of a row and the stored rows of its k2 - 1 nearest.

        `own` are the rows of unseen queries, which are not among the stored ones.
        """
        around = neighbors.first(min(self.params.k2 - 1, neighbors.k))
        chosen = as_rows(around, np.ones(around.ids.shape, np.float32), self.encoding.shape[0])
        counts = 1 + np.diff(chosen.indptr)
        if own is None:
            itself = sparse.eye_array(len(around), format="csr", dtype=np.float32)
            averaged = multiply(sparse.csr_array(chosen + itself), self.encoding)
        else:
            averaged = sparse.csr_array(own + multiply(chosen, self.encoding))
        averaged.data /= np.repeat(counts, np.diff(averaged.indptr)).astype(np.float32)
        return averaged

    def _compare(
        self, rows: sparse.csr_array, queries: Vectors, scale: Float32Array, own: IntArray | None, top: int
    ) -> Reached:
        """Eq. 10 and 12, in blocks of queries."""
        reached = []
        with task("comparing neighbourhoods", len(queries)) as advance:
            for first in range(0, len(queries), BLOCK):
                part = slice(first, first + BLOCK)
                common = self.lists.overlap(sparse.csr_array(rows[part]), "minimum")
                common.data = common.data / (2 - common.data)
                some = Vectors(queries.values[part])
                left_out = None if own is None else own[part]
                valid = None if left_out is None else np.where(left_out < self.candidates, left_out, -1)
                plain = self.search(some, top, valid)
                reached.append(
                    fuse(
                        common, plain, partial(self.similarities, some), scale[part], self.params.lambda_,
                        top, self.candidates, left_out,
                    )
                )  # fmt: skip
                advance(len(some))
        return Reached.join(reached)
