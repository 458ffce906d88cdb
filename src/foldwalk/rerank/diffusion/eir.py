"""EIR: diffuse from every item offline and store its row; a query only adds up the rows of its neighbours.

F. Yang, R. Hinami, Y. Matsui, S. Ly and S. Satoh, "Efficient image retrieval via decoupling diffusion into
online and offline processing", AAAI 2019. The graph is that of DFS (mutual neighbours, cosine^gamma,
symmetric normalisation of the whole graph). Offline, for each item i, the system

    (I - alpha S) f_i = e_i                     (eq. 3 of Mining on Manifolds, without the factor 1 - alpha)

is cut to the `keep` nearest of i (its rows and columns, after normalisation: late truncation) and solved by
at most 20 steps of conjugate gradients (step `get_offline_result` of the authors' program). Online, an unseen
query q scores  sum_j s(q, j)^gamma f_j  over its k_query nearest j. Transductive, as the authors evaluate it:
queries get rows too, rows are scaled to length one, and the score is their dot product; `rank_self` does the
same.

The authors' program counts an item among its own k nearest, and so does k here; it takes k = 50 for large
classes, 15 holds on small ones too. Entries that the truncated solver leaves below zero are dropped.
`save` keeps the offline rows, so that loading costs no solving. The first fifty are those of the program; mAP
is 1.1 higher on the reference set grocery, for what no row reaches follows by plain similarity here, and by
chance there.

The `keep` nearest of an item are never listed. Its walk visits few of them; whether a visited item is one of
them, its similarity tells, compared with that of the `keep`-th. That radius is exact up to 5,000 items and
comes from a sample of 2,000 beyond (at 6,000 and 10,000 items .99 of the first fifty stay the same, and mAP
within .05), so that the offline part grows with n, the k-NN graph aside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import Numbering, as_rows, cosine_power, knn_affinity, normalise
from foldwalk.machine.products import product
from foldwalk.rerank.base import SAMPLE, Reranker
from foldwalk.rerank.diffusion.shared.truncated import solve_truncated
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import InvertedList, multiply_capped, scale_rows
from foldwalk.walk.csr import parts
from foldwalk.walk.rows import pack
from foldwalk.walk.select import kth_of_rows

BLOCK = 1024
EXACT_UP_TO = 5_000
MOST_SCORES = 2**24  # at a time, of pairs that were handed in
ROUNDING = np.float32(1e-6)


class EIRParams(Params):
    k: int = neighborhood(15, "nearest of an item that may be joined to it, itself counted", low=2)
    k_query: int = neighborhood(10, "nearest items of an unseen query whose rows are added up")
    keep: int = Field(1000, ge=1, le=1_000_000, description="nearest items to which each offline row is cut")
    gamma: float = Field(3.0, gt=0, le=100, description="power of the similarity")
    alpha: float = Field(0.99, ge=0, lt=1, description="share of relevance that walks on at each step")
    tolerance: float = Field(1e-6, gt=0, le=0.1, description="relative residual at which the solver stops")
    max_iterations: int = Field(20, ge=1, le=10_000, description="steps after which the solver stops")


@register
class EIR(Reranker):
    name = "eir"
    family = "diffusion"
    paper = "Yang et al., Efficient image retrieval via decoupling diffusion, AAAI 2019"
    summary = "diffusion from every item stored offline; a query adds up the rows of its neighbours"
    Parameters = EIRParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(self.params.k) - 1

    def _prepare(self) -> None:
        given, n = self.neighbors(), len(self.vectors)
        # Systems are solved by places, which differ from the items' own numbers in a large gallery.
        renumbered = n > EXACT_UP_TO and self.pairs is None
        numbering = Numbering.along(given) if renumbered else Numbering.as_given(n)
        neighbors = numbering.neighbors(given)
        graph = knn_affinity(neighbors, cosine_power(neighbors, self.params.gamma), "mutual")
        transitions = normalise(graph, "symmetric").matrix
        rows = self._offline_rows(transitions, self.vectors.values[numbering.order])
        self.offline = numbering.matrix_of_items(rows)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self.params.k_query)
        weights = as_rows(found, cosine_power(found, self.params.gamma), self.candidates)
        summed = multiply_capped(weights, self.offline, cap=top)
        return Reached.from_sparse(summed, top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        unit = scale_rows(self.offline, "l2")
        lists = InvertedList(unit[: self.candidates])
        reached = []
        with task("comparing rows", len(rows)) as advance:
            for first in range(0, len(rows), BLOCK):
                part = rows[first : first + BLOCK]
                products = lists.overlap(unit[part], "product")
                reached.append(Reached.from_sparse(products, top, self.candidates, part))
                advance(len(part))
        return Reached.join(reached)

    def _state(self) -> dict[str, Any]:
        return {"offline": self.offline}

    def _restore(self, kept: Kept) -> None:
        n = len(self.vectors)
        self.offline = kept.rows("offline", n, n, rising=False)

    def _offline_rows(self, transitions: sparse.csr_array, vectors: Float32Array) -> sparse.csr_array:
        n = len(self.vectors)
        block = BLOCK if self.pairs is None else max(1, min(BLOCK, MOST_SCORES // n))
        width, size = min(self.params.keep, self.candidates), min(block, n)
        ids, values = np.empty((size, width), np.int32), np.empty((size, width), np.float32)
        everybody = n <= EXACT_UP_TO or self.pairs is not None
        sample = np.ascontiguousarray(self.vectors.values[:: 1 if everybody else n // SAMPLE])
        scores = np.empty((size, len(sample)), np.float32)
        rank = max(1, round(width * len(sample) / n))
        blocks = []
        with task("offline diffusion", n) as advance:
            for first in range(0, n, block):
                items = np.arange(first, min(first + block, n))
                rows, sizes = slice(0, len(items)), np.zeros(len(items), np.int64)
                if self.pairs is None:
                    self._similarities(vectors[items], sample, scores[rows])
                else:
                    scores[rows] = self.pairs.dense(items)
                radius = kth_of_rows(scores[rows], rank) - ROUNDING
                solve_truncated(
                    *parts(transitions), vectors, self.metric == "cosine", items, scores[rows], radius,
                    self.params.alpha, self.params.tolerance, self.params.max_iterations,
                    ids[rows], values[rows], sizes,
                )  # fmt: skip
                blocks.append(pack(ids[rows], values[rows], sizes, n))
                advance(len(items))
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _similarities(self, own: Float32Array, others: Float32Array, scores: Float32Array) -> None:
        """Of some items to all, or to a sample where they are too many."""
        product(own, others, out=scores)
        if self.params.metric == "euclidean":
            squared = (own**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * scores
            scores[:] = 1 / (1 + np.sqrt(np.maximum(squared, 0)))
