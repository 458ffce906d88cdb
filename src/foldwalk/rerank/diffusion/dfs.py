"""DFS: diffusion on a mutual nearest-neighbour graph of the gallery, started at the query's neighbours.

A. Iscen, G. Tolias, Y. Avrithis, T. Furon and O. Chum, "Efficient diffusion on region manifolds", CVPR 2017.
Affinity max(cosine, 0)^gamma between mutual neighbours (eq. 5 and 6), zero diagonal, S = D^-1/2 W D^-1/2; the
query stands outside the graph and starts the walk at its k_query nearest items with the same affinity (step
`ymake` of the authors' program):

    (I - alpha S) f = y,   y_i = s(q, i)^gamma,   by at most 20 steps of conjugate gradients,

the closed form of the walk (eq. 4). Its factor 1 - alpha changes no order and is left out.

The authors' program counts an item among its own k nearest, and so does k here: k = 15 joins an item to at
most 14 others. It takes k = 50 for classes of hundreds; 15 and four starting points hold on small classes
too. The query never joins the graph, so `rerank` equals `fit` and `rank`. The first fifty are those of the
program; mAP is the same on two reference sets and .4 higher on grocery, where the walk does not reach all and
the rest follows by plain similarity here, by chance there. Pictures of several vectors each are ranked by
`RegionalDFS` (`regional.py`).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power, knn_affinity, normalise
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.shared.solve import ranked_by_diffusion
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import NumberedSystem


class DFSParams(Params):
    k: int = neighborhood(15, "nearest of an item that may be joined to it, itself counted", low=2)
    k_query: int = neighborhood(4, "nearest items of the query at which the walk starts")
    gamma: float = Field(3.0, gt=0, le=100, description="power of the similarity")
    alpha: float = Field(0.99, ge=0, lt=1, description="share of relevance that walks on at each step")
    tolerance: float = Field(1e-6, gt=0, le=0.1, description="relative residual at which the solver stops")
    max_iterations: int = Field(20, ge=1, le=10_000, description="steps after which the solver stops")


@register
class DFS(Reranker):
    name = "dfs"
    family = "diffusion"
    paper = "Iscen et al., Efficient diffusion on region manifolds, CVPR 2017"
    summary = "diffusion on the mutual nearest-neighbour graph, started at the query's neighbours"
    Parameters: ClassVar[type[Params]] = DFSParams
    joins_graph = False
    takes_distances = True

    def _wanted(self, _: int) -> int:
        return int(self.params.k) - 1

    def _prepare(self) -> None:
        self.system = NumberedSystem(self.transitions())

    def transitions(self) -> sparse.csr_array:
        neighbors = self.neighbors()
        graph = knn_affinity(neighbors, self._affinity(neighbors), "mutual")
        return normalise(graph, "symmetric").matrix

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self.params.k_query)
        return self._diffuse(as_rows(found, self._affinity(found), self.candidates), top, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        found = self.search_rows(rows, self.params.k_query)
        return self._diffuse(as_rows(found, self._affinity(found), len(self.vectors)), top, rows)

    def _affinity(self, neighbors: Neighbors) -> Float32Array:
        return cosine_power(neighbors, self.params.gamma)

    def _diffuse(self, starts: sparse.csr_array, top: int, own: IntArray | None) -> Reached:
        return ranked_by_diffusion(self.system, starts, self.params, top, self.candidates, own)
