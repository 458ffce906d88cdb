"""RDP: pairs of items diffuse at once; two items are alike when the neighbours of both are alike.

S. Bai, X. Bai, Q. Tian and L. J. Latecki, "Regularized diffusion process on bidirectional context for object
retrieval", TPAMI 2019. With W the affinities of the k-NN graph and S = D^-1/2 W D^-1/2, the iteration

    A <- alpha S A S' + (1 - alpha) I,   alpha = 1 / (1 + mu)

smooths the similarity over the graph of pairs; it is that of TPG (eq. 5 of the GRAD-Net paper) with weights.
Twenty steps from A = I, as the authors take, are

    A = (1 - alpha) sum_{t < 20} alpha^t S^t (S')^t + alpha^20 S^20 (S')^20,

a sum in which each row stands alone: a row of A is walked when it is asked for, and nothing is stored but the
graph. Rows are cut to their `keep` largest entries on the way. Against the uncut sum the first 50 agree by
.993 at keep = 400 (synthetic sets of 1,000 and 2,000); `dense=True` cuts nothing, for at most 5,000 items.

Readings. W is the mean of the k-NN affinities of both directions; an item counts among its own k nearest,
with affinity 1. The affinity is

    w(i, j) = exp(-(d^2 / max d^2)^2 / .25),

the largest distance being that of the whole set (above 20,000 items that of a sample). It gives the authors'
first 50 answers on all three reference sets, uncut; with the largest distance of each row .988 to .996 of
them. A is symmetric and S too, so the primes change nothing. k = 30 is the authors' value. Where classes are
small fewer neighbours rank better: with k = 15 mAP is 86.7 against 75.6 on orl (classes of 10), 79.7 against
74.5 on mpeg7 (20), 86.4 against 85.3 on digits (180).

The paper knows no unseen queries. Here a query q is joined to its k - 1 nearest, nobody is joined to it, and
its row of the fixed point is  alpha s_q A S'.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, degrees, normalise
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.fusion import row_maximum
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood, uncut
from foldwalk.rerank.registry import register
from foldwalk.walk import multiply_capped
from foldwalk.walk.series import two_sided_series

BLOCK = 4096
WIDTH = 0.25


class RDPParams(Params):
    k: int = neighborhood(30, "nearest of an item that are joined to it, itself counted", low=2)
    mu: float = Field(0.3, gt=0, le=100, description="pull towards the start; alpha = 1 / (1 + mu)")
    steps: int = Field(20, ge=0, le=1000, description="steps of the iteration")
    keep: int = Field(400, ge=1, le=5000, description="entries to which a row is cut at each step")
    dense: bool = uncut()


@register
class RDP(Reranker):
    name = "rdp"
    family = "diffusion"
    paper = "Bai et al., Regularized diffusion process on bidirectional context, TPAMI 2019"
    summary = "similarity diffuses over pairs: items are alike when the neighbours of both are alike"
    Parameters = RDPParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(self.params.k) - 1

    def _prepare(self) -> None:
        self.keep = self.limit("keep")
        neighbors = self.neighbors()
        self.farthest = float(row_maximum(self.few, self.vectors, neighbors).max())
        directed = as_rows(neighbors, self._affinity(neighbors), len(self.vectors))
        itself = sparse.eye_array(len(self.vectors), format="csr", dtype=np.float32)
        both = sparse.csr_array((directed + directed.T) * np.float32(0.5) + itself)
        graph = Graph(both)
        self.transitions = normalise(graph, "symmetric").matrix
        self.root_degrees = np.sqrt(degrees(graph)).astype(np.float32)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self.params.k - 1)
        joined = as_rows(found, self._affinity(found) / self.root_degrees[found.ids], self.candidates)
        rows = multiply_capped(self._rows(joined), self.transitions, cap=top)
        return Reached.from_sparse(rows, top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        itself = sparse.eye_array(len(self.vectors), format="csr", dtype=np.float32)
        reached = []
        with task("diffusion", len(rows)) as advance:
            for first in range(0, len(rows), BLOCK):
                part = rows[first : first + BLOCK]
                diffused = self._rows(sparse.csr_array(itself[part]))
                reached.append(Reached.from_sparse(diffused, top, self.candidates, part))
                advance(len(part))
        return Reached.join(reached)

    def _affinity(self, neighbors: Neighbors) -> Float32Array:
        """exp(-(d^2 / max d^2)^2 / .25)"""
        relative = neighbors.squared_distances().astype(np.float64) / self.farthest
        return np.exp(-(relative**2) / WIDTH).astype(np.float32)

    def _rows(self, starts: sparse.csr_array) -> sparse.csr_array:
        """starts A: the iteration unfolded."""
        alpha, steps = 1 / (1 + self.params.mu), self.params.steps
        weights = (1 - alpha) * alpha ** np.arange(steps + 1)
        weights[-1] = alpha**steps
        return two_sided_series(self.transitions, self.transitions, starts, weights, self.keep)
