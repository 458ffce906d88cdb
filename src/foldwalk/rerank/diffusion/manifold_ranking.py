"""Manifold ranking: relevance spreads from the query over the nearest-neighbour graph until it settles.

D. Zhou, J. Weston, A. Gretton, O. Bousquet and B. Schoelkopf, "Ranking on data manifolds", NIPS 2003, section
2; the numbers of equations are those of the GRAD-Net paper, which restates it. With W the affinities of the
k-NN graph (zero diagonal), D its degrees and S = D^-1/2 W D^-1/2 (eq. 2), the walk f <- alpha S f + (1 -
alpha) y (eq. 3) settles at

    f* = (1 - alpha) (I - alpha S)^-1 y,                                                               (eq. 4)

where y is one at the query. alpha -> 0 gives no walk at all: what is left is plain search.

Affinities: a Gaussian whose width adapts to the density around each item, 1 / (1 + distance), or
cosine^gamma. Unseen queries are not nodes: y is then their affinity to their own k_query nearest items.
`solver="cg"` solves many queries at once, memory grows with n k; "closed" factorises the dense system.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power, gaussian, inverse_distance, knn_affinity, normalise, reach
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.shared.solve import ranked_by_diffusion
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import NumberedSystem

CLOSED_FORM_LIMIT = 10_000


class ManifoldRankingParams(Params):
    k: int = neighborhood(5, "neighbours of each item in the graph")
    k_query: int = neighborhood(5, "nearest items at which the walk of an unseen query starts")
    alpha: float = Field(0.95, ge=0, lt=1, description="share of relevance that walks on at each step")
    kernel: Literal["gaussian", "cosine", "inverse"] = Field("gaussian", description="affinity of neighbours")
    gamma: float = Field(3.0, gt=0, le=100, description="power of the cosine kernel")
    links: Literal["union", "mutual"] = Field("union", description="edge if either or if both are neighbours")
    solver: Literal["cg", "closed"] = Field("cg", description="conjugate gradients, or the dense closed form")
    tolerance: float = Field(1e-6, gt=0, le=0.1, description="relative residual at which the solver stops")
    max_iterations: int = Field(100, ge=1, le=10_000, description="steps after which the solver stops")


@register
class ManifoldRanking(Reranker):
    name = "manifold_ranking"
    family = "diffusion"
    paper = "Zhou et al., Ranking on data manifolds, NIPS 2003"
    summary = "relevance spreads from the query over the nearest-neighbour graph until it settles"
    Parameters = ManifoldRankingParams
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(self.params.k)

    def _prepare(self) -> None:
        if self.params.solver == "closed" and len(self.vectors) > CLOSED_FORM_LIMIT:
            raise BadInput(
                f"manifold_ranking: solver='closed' holds an n x n array and is refused above "
                f"{CLOSED_FORM_LIMIT} items; use solver='cg'."
            )
        neighbors = self.neighbors()
        graph = knn_affinity(neighbors, self._affinity(neighbors, graph_edges=True), self.params.links)
        self.system = NumberedSystem(normalise(graph, "symmetric").matrix)
        self.reach = reach(neighbors)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        # All k are searched, because the local width of a query is its distance to the last of them.
        found = self.search(queries, max(self.params.k, self.params.k_query))
        affinity = self._affinity(found)
        affinity[:, self.params.k_query :] = 0
        starts = as_rows(found, affinity, self.candidates)
        return ranked_by_diffusion(self.system, starts, self.params, top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        own = Neighbors(rows[:, None].astype(np.int32), np.ones((len(rows), 1), np.float32))
        starts = as_rows(own, own.similarities, len(self.vectors))
        return ranked_by_diffusion(self.system, starts, self.params, top, self.candidates, rows)

    def _affinity(self, neighbors: Neighbors, graph_edges: bool = False) -> Float32Array:
        if self.params.kernel == "cosine":
            return cosine_power(neighbors, self.params.gamma)
        if self.params.kernel == "inverse":
            return inverse_distance(neighbors)
        return gaussian(neighbors, "local", reach_of_items=None if graph_edges else self.reach)
