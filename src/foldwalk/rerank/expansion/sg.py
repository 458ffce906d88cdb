"""SuperGlobal re-ranking: the first items are refined by each other, then compared with the query both ways.

S. Shao, K. Chen, A. Karpur, Q. Cui, A. Araujo and B. Cao, "Global features are all you need for image
retrieval and reranking", ICCV 2023. Of the `shortlist` nearest items of query q, each x_i is replaced by a
weighted mean of itself and its k - 1 nearest within the shortlist, and the query by the element-wise maximum
over the k refined items that suit it best:

    x'_i = (x_i + beta sum over j of s_ij x_j) / (1 + beta sum over j of s_ij)            (step `MDescAug`)
    S1(i) = s(q, x'_i),   q' = max of x'_i over the k largest S1,   S2(i) = s(q', x'_i)   (step `RerankwMDA`)
    score = (S1 + S2) / 2

The steps are named as in the authors' program, and the values are its values: shortlist 400, k = 10 (nine and
the item itself), beta = .15. Where the paper takes S2 with the items as they were, we follow the program,
which takes the refined ones. Table 1 of the CAS paper compares it with the other expansions. Only the
re-ranking is here; the pooling that the paper also changes belongs to the descriptors. Similarities below
zero count as zero in the mean. Scores of a query are divided by the length of q', which changes no order.

`dba=True` takes the `dba_k` - 1 nearest of an item in the whole gallery (as many as k, at least 10) and
refines all of it once, when fitted: a query then costs no products within its shortlist. What is outside the
shortlist follows by plain similarity, and a query never joins the gallery: `rerank` equals `fit` and `rank`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.expansion.shared.base import ExpansionParams
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import top_of_dense_rows
from foldwalk.walk.sums import weighted_sums

BLOCK_BYTES = 64 * 2**20


class SGParams(ExpansionParams):
    k: int = neighborhood(10, "nearest items that refine an item or the query, the item itself counted")
    shortlist: int = neighborhood(400, "nearest items of the query that are re-ranked")
    beta: float = Field(0.15, ge=0, le=100, description="weight of the neighbours beside the item itself")
    dba: bool = Field(False, description="refine all items once by their nearest in the whole gallery")


@register
class SuperGlobal(Reranker):
    name = "sg"
    family = "expansion"
    paper = "Shao et al., Global features are all you need for image retrieval and reranking, ICCV 2023"
    summary = "the first items are refined by each other, then compared with the query both ways"
    Parameters = SGParams
    joins_graph = False

    def _wanted(self, _: int) -> int:
        return int(self.params.around_an_item)

    def _prepare(self) -> None:
        self.refined = self.vectors.values
        if self.params.dba:
            around = self.neighbors()
            self.refined = self._refine(self.vectors.values, around.ids, around.similarities)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._refine_and_compare(queries, self.search(queries, self.params.shortlist), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        queries = Vectors(self.vectors.values[rows])
        return self._refine_and_compare(queries, self.search_rows(rows, self.params.shortlist), top)

    def _refine_and_compare(self, queries: Vectors, found: Neighbors, top: int) -> Reached:
        width = found.k
        block = max(1, BLOCK_BYTES // (4 * width * (width + queries.dim)))
        scores = np.empty(found.ids.shape, np.float32)
        with task("refining shortlists", len(queries)) as advance:
            for first in range(0, len(queries), block):
                part = slice(first, first + block)
                ids = found.ids[part]
                # An absent item is a zero vector here, refines nobody and is left out of the answer.
                items = np.where((ids >= 0)[:, :, None], self.refined[ids], np.float32(0))
                if not self.params.dba:
                    items = self._refined_shortlists(items, ids >= 0)
                scores[part] = self._both_ways(queries.values[part], items, ids >= 0)
                advance(len(ids))
        # `as_rows` leaves out what is not above zero, so scores are shifted meanwhile.
        reached = Reached.from_sparse(as_rows(found, scores + 2, self.candidates), top, self.candidates, None)
        return Reached(reached.ids, reached.scores - 2)

    def _refined_shortlists(self, items: Float32Array, known: npt.NDArray[np.bool_]) -> Float32Array:
        """x' of the items of each shortlist (q, m, d), from their nearest within it."""
        count, width, dim = items.shape
        similarity = self._similarity(items, items)
        similarity[~np.broadcast_to(known[:, None, :], similarity.shape)] = -np.inf
        similarity[:, np.arange(width), np.arange(width)] = -np.inf
        near, value, _ = top_of_dense_rows(similarity.reshape(count * width, width), self.params.k - 1)
        begin = np.repeat(np.arange(count, dtype=np.int32) * width, width)[:, None]
        ids = np.where(np.isfinite(value), near + begin, np.int32(-1))
        return self._refine(items.reshape(count * width, dim), ids, value).reshape(items.shape)

    def _refine(self, items: Float32Array, ids: Int32Array, similarity: Float32Array) -> Float32Array:
        weights = np.where(ids >= 0, self.params.beta * np.maximum(similarity, 0), 0).astype(np.float32)
        sums = weighted_sums(items, items, ids, weights)
        return np.asarray(sums / (1 + weights.sum(axis=1, keepdims=True)), dtype=np.float32)

    def _both_ways(
        self, queries: Float32Array, items: Float32Array, known: npt.NDArray[np.bool_]
    ) -> Float32Array:
        """(S1 + S2) / 2 over the length of q', or over 1 if that is more."""
        first = self._similarity(queries[:, None], items)[:, 0]
        first[~known] = -np.inf
        best, value, _ = top_of_dense_rows(first, self.params.k)
        chosen = np.take_along_axis(items, best[:, :, None], axis=1)
        chosen[~np.isfinite(value)] = -np.inf
        expanded = chosen.max(axis=1)
        expanded[~known.any(axis=1)] = 0
        second = self._similarity(expanded[:, None], items)[:, 0]
        length = np.maximum(np.linalg.norm(expanded, axis=1, keepdims=True), 1)
        return np.where(known, (np.where(known, first, 0) + second) / 2 / length, 0).astype(np.float32)

    def _similarity(self, a: Float32Array, b: Float32Array) -> Float32Array:
        """Dot products of two stacks of vectors, or 1 / (1 + distance) by the Euclidean metric."""
        products = a @ b.transpose(0, 2, 1)
        if self.params.metric == "cosine":
            return np.asarray(products)
        lengths = [np.einsum("qmd,qmd->qm", v, v) for v in (a, b)]
        squared = lengths[0][:, :, None] + lengths[1][:, None, :] - 2 * products
        return np.asarray(1 / (1 + np.sqrt(np.maximum(squared, 0))), dtype=np.float32)
