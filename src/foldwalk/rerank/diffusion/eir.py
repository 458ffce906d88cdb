"""EIR: diffuse from every item offline and store its row; a query only adds up the rows of its neighbours.

F. Yang, R. Hinami, Y. Matsui, S. Ly and S. Satoh, "Efficient image retrieval via decoupling diffusion into
online and offline processing", AAAI 2019. The graph is that of DFS (mutual neighbours, cosine^gamma,
symmetric normalisation of the whole graph). Offline, for each item i, the system

    (I - alpha S) f_i = e_i

is cut to the `keep` nearest of i (its rows and columns, after normalisation) and solved by at most 20 steps
of conjugate gradients. Online, an unseen query q scores  sum_j s(q, j)^gamma f_j  over its k_query nearest j.
Transductive, as the authors evaluate it: queries get rows too, rows are scaled to length one, and the score
is their dot product; `rank_self` does the same.

The authors' program counts an item among its own k nearest, and so does k here; it takes k = 50 for large
classes, 15 holds on small ones too. Entries that the truncated solver leaves below zero are dropped.
`save` keeps the offline rows, so that loading costs no solving.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from pydantic import Field
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, Int32Array, IntArray, Scalar
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, cosine_power, knn_affinity, normalise
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register
from foldwalk.rerank.sparse_state import flatten, unflatten
from foldwalk.walk import InvertedList, multiply_capped, scale_rows
from foldwalk.walk.csr import parts

BLOCK = 1024


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

    def _prepare(self) -> None:
        neighbors = self.neighbors(self.params.k - 1)
        graph = knn_affinity(neighbors, cosine_power(neighbors, self.params.gamma), "mutual")
        self.offline = self._offline_rows(normalise(graph, "symmetric").matrix)

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

    def _state(self) -> dict[str, AnyArray]:
        return flatten({"offline": self.offline})

    def _restore(self, state: dict[str, AnyArray]) -> None:
        self.offline = unflatten(state)["offline"]

    def _offline_rows(self, transitions: sparse.csr_array) -> sparse.csr_array:
        n = len(self.vectors)
        width = min(self.params.keep, self.candidates, n)
        rows, columns, values = [], [], []
        with task("offline diffusion", n) as advance:
            for first in range(0, n, BLOCK):
                items = np.arange(first, min(first + BLOCK, n))
                members = items[:, None].astype(np.int32)
                if width > 1:
                    members = np.hstack([members, self._nearest_of(items, width - 1)])
                solved = _solve_truncated(
                    *parts(transitions), members,
                    self.params.alpha, self.params.tolerance, self.params.max_iterations,
                )  # fmt: skip
                positive = solved > 0
                rows.append(np.repeat(items, positive.sum(axis=1)))
                columns.append(members[positive])
                values.append(solved[positive])
                advance(len(items))
        entries = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.concatenate(values), entries), shape=(n, n))

    def _nearest_of(self, items: IntArray, k: int) -> Int32Array:
        """The k nearest others among all fitted items, queries that joined them included."""
        return self.everyone.search(Vectors(self.vectors.values[items]), k, items).ids


@njit(cache=True, parallel=True)
def _solve_truncated(
    indptr: AnyArray,
    indices: AnyArray,
    data: AnyArray,
    members: Int32Array,
    alpha: Scalar,
    tolerance: Scalar,
    max_iterations: int,
) -> Float32Array:
    """(I - alpha S) f = e_0 on the sub-graph of each row's members, the first of which is the start."""
    count, width = members.shape
    solved = np.zeros((count, width), np.float32)
    chunks = 32
    for chunk in prange(chunks):
        place_of = np.full(indptr.shape[0] - 1, -1, np.int32)
        for row in range(chunk * count // chunks, (chunk + 1) * count // chunks):
            for place in range(width):
                if members[row, place] >= 0:
                    place_of[members[row, place]] = place
            x, r, p, q = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
            # Only what the walk has reached is touched: places in the order they were reached.
            reached = np.empty(width, np.int32)
            known = np.zeros(width, np.bool_)
            reached[0], known[0], size = 0, True, 1
            r[0] = p[0] = 1.0
            squared = 1.0
            for _ in range(max_iterations):
                if squared <= tolerance * tolerance:
                    break
                before = size
                for a in range(before):
                    q[reached[a]] = p[reached[a]]
                for a in range(before):
                    origin = reached[a]
                    mass = alpha * p[origin]
                    if mass == 0.0:
                        continue
                    item = members[row, origin]
                    for edge in range(indptr[item], indptr[item + 1]):
                        place = place_of[indices[edge]]
                        if place >= 0:
                            if not known[place]:
                                known[place] = True
                                reached[size] = place
                                size += 1
                            q[place] -= data[edge] * mass
                curvature = 0.0
                for a in range(before):
                    curvature += p[reached[a]] * q[reached[a]]
                if curvature <= 0.0:
                    break
                step = squared / curvature
                after = 0.0
                for a in range(size):
                    place = reached[a]
                    x[place] += step * p[place]
                    r[place] -= step * q[place]
                    after += r[place] * r[place]
                for a in range(size):
                    place = reached[a]
                    p[place] = r[place] + after / squared * p[place]
                    q[place] = 0.0
                squared = after
            for place in range(width):
                solved[row, place] = x[place]
                if members[row, place] >= 0:
                    place_of[members[row, place]] = -1
    return solved
