"""GDP: one diffusion process with exchangeable parts; most older processes are among its 72 variants.

M. Donoser and H. Bischof, "Diffusion processes for retrieval revisited", CVPR 2013. A process has a start
(4), a transition matrix (6) and an update (3); `matrices.py` and `updates.py` define them. The defaults are
the variant the authors found best (section 4.1): k-NN start, k-NN transitions, A <- T A T'. Other choices
give known methods: with the full random walk as the start it is a form of LCDP, and walk steps from the
identity with "symmetric" transitions are manifold ranking. Parameters are those of the authors' program: k
10, itself counted, alpha .85, at most 15 steps, and fewer once the rankings settle: when the first 2 k of
successive steps share hardly more items (.3) than one step before.

Everything is sparse. The full affinity, which has all pairs in the paper, goes to each item's `wide` nearest,
and rows are cut to `keep` entries at each step; `dense=True` cuts neither, for at most 5,000 items. Against
that, the first 50 agree by .998 (default variant, synthetic sets of 1,000 and 2,000). The affinity is
exp(-d^2 / (r_i r_j)), r being the distance to the k-th nearest, itself counted; the authors fix one width by
data set, or adapt it likewise.

The result is a matrix over the fitted items, stored by `save`. The paper knows no unseen queries: here one
adds up the rows of its k - 1 nearest items, weighted by its affinity to them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.types import IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import Numbering
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.gdp.matrices import diffusion_matrix
from foldwalk.rerank.diffusion.gdp.updates import Diffusion
from foldwalk.rerank.diffusion.shared.affinity import gaussian_rows, reach_of
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood, uncut
from foldwalk.rerank.registry import register
from foldwalk.walk import multiply_capped

Start = Literal["affinity", "identity", "random_walk", "knn"]
Transition = Literal["random_walk", "pagerank", "symmetric", "knn", "dominant", "affinity"]
Update = Literal["walk", "tensor", "game"]


class GDPParams(Params):
    start: Start = Field("knn", description="the matrix at which the diffusion starts")
    transition: Transition = Field("knn", description="the matrix that each step multiplies with")
    update: Update = Field("tensor", description="one step: T A, T A T', or (A T) * A' entry by entry")
    k: int = neighborhood(10, "nearest of an item that count as its neighbours, itself counted", low=2)
    wide: int = neighborhood(100, "nearest to which the full affinity goes, itself counted", low=2, high=5000)
    alpha: float = Field(0.85, ge=0, lt=1, description="share that walks on, in walk steps and PageRank")
    steps: int = Field(15, ge=0, le=1000, description="steps at most")
    until_settled: bool = Field(True, description="stop when the rankings hardly change any more")
    keep: int = Field(300, ge=1, le=5000, description="entries to which a row is cut at each step")
    dense: bool = uncut("take all pairs and cut no row")


@register
class GDP(Reranker):
    name = "gdp"
    family = "diffusion"
    paper = "Donoser and Bischof, Diffusion processes for retrieval revisited, CVPR 2013"
    summary = "a diffusion process with exchangeable start, transition matrix and update: 72 variants"
    Parameters = GDPParams
    answers_from_rows = True
    takes_distances = True

    def _wanted(self, n: int) -> int:
        return int(max(self.params.k, self.limit("wide", n))) - 1

    def _prepare(self) -> None:
        p, keep = self.params, self.limit("keep")
        given = self.neighbors()
        # The process runs by places, which differ from the items' own numbers in a large gallery.
        numbering = Numbering.of(given)
        neighbors = numbering.neighbors(given)
        reach = reach_of(neighbors, p.k)
        directed = gaussian_rows(neighbors, p.k, reach, itself=True)
        affinity = sparse.csr_array(directed.maximum(directed.T))
        affinity.sort_indices()
        process = Diffusion(
            diffusion_matrix(affinity, p.transition, p.k, p.alpha, keep),
            diffusion_matrix(affinity, p.start, p.k, p.alpha, keep),
            p.update,
            p.alpha,
            keep,
        )
        process.run(p.steps, watched=2 * p.k if p.until_settled else 0)
        self.diffused, self.reach = numbering.matrix_of_items(process.similarity), reach[numbering.place]

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self.params.k - 1)
        weights = gaussian_rows(found, self.params.k, self.reach, itself=False)
        return Reached.from_sparse(multiply_capped(weights, self.diffused, top), top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return Reached.from_sparse(sparse.csr_array(self.diffused[rows]), top, self.candidates, rows)

    def _state(self) -> dict[str, Any]:
        return {"diffused": self.diffused, "reach": self.reach}

    def _restore(self, kept: Kept) -> None:
        n = len(self.vectors)
        self.diffused = kept.rows("diffused", n, n, rising=False)
        self.reach = kept.numbers("reach", n, low=0, dtype=np.float64)
