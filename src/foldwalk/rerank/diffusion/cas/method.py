"""Cluster-aware similarity diffusion: similarity spreads inside local clusters, and clusters are compared.

J. Luo, H. Yao and C. Xu, "Cluster-aware similarity diffusion for instance retrieval", ICML 2024. With d the
squared Euclidean distance over the largest in its row:

    core xi, cluster C   mutual neighbours, and the expanded mutual neighbours around them      (eq. 4)
    F                    bidirectional diffusion on the graph of the nearest, cut to C          (eq. 2 to 12)
    F-hat                smoothed so that a row agrees with its core                            (eq. 13 to 15)
    F-tilde              averaged over the core and the nearest, divided by (lambda + 1)        (eq. 16)
    F'                   l1(T T), T the markov_k largest of each row of G G, G = l1(F-tilde)    (eq. 17)
    d*                   (1 - omega) d' + omega d, d' the Jensen-Shannon divergence in bits     (eq. 18, 19)

Where paper and program differ we follow the program: E of eq. 3 is the identity, ten steps of eq. 12 instead
of its fixed point, r of eq. 13 the mean of a diagonal, and F' as above. `geodesic=True` is the program's last
step, which the paper does not mention: d' is replaced by the length of the shortest path along neighbours
(the program's 100 are geodesic_k=100; 25 rank as well on the sets we have and need no further neighbours).

Every step works on sparse rows. The inductive form is ours: an unseen query takes the same steps beside the
stored rows, see inductive.py.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import (
    Numbering,
    as_rows,
    degrees,
    expand_sets,
    radius,
    reciprocal_sets,
    relative_exponential,
)
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.cas.compare import Closeness, plain_distances
from foldwalk.rerank.diffusion.cas.geodesic import first_steps, ranked_by_paths, step_lengths
from foldwalk.rerank.diffusion.cas.graphs import affinity_graphs, diffuse_over
from foldwalk.rerank.diffusion.cas.inductive import Stored, query_rows
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.diffusion.cas.similarity import diffuse, restrict
from foldwalk.rerank.diffusion.cas.smoothing import returning_probability, smooth
from foldwalk.rerank.fusion import fuse, row_maximum
from foldwalk.rerank.order import BEHIND, Reached
from foldwalk.rerank.registry import register
from foldwalk.rerank.sparse_state import flatten, unflatten
from foldwalk.walk import multiply_capped, scale_rows
from foldwalk.walk.csr import parts
from foldwalk.walk.divergence import divergences_to
from foldwalk.walk.overlap import ENTROPY
from foldwalk.walk.rows import pack
from foldwalk.walk.scratch import blank

BLOCK = 1024
WIDER = 2  # times as many nearest of an unseen query: who would count it among its own may be further away
WIDEST = 1024  # more than the union of the clusters that eq. 16 averages ever holds


@register
class CAS(Reranker):
    name = "cas"
    family = "diffusion"
    paper = "Luo et al., Cluster-aware similarity diffusion for instance retrieval, ICML 2024"
    summary = "similarity spreads inside local clusters of mutual neighbours, and clusters are compared"
    Parameters = CASParams

    def _wanted(self, _: int) -> int:
        p = self.params
        counted = (p.trusted_k, p.transition_k, p.expand_k, p.geodesic_k, *p.graph_sizes)
        return 0 if p.first else max(p.cluster_k, max(counted) - 1)

    def _prepare(self) -> None:
        p = self.params
        if p.first:
            return
        given = self.neighbors()
        scale = row_maximum(self.few, self.vectors, given)
        self.numbering = self._number(given)
        neighbors, scale = self.numbering.neighbors(given), scale[self.numbering.order]
        stepped = neighbors.first(min(p.transition_k - 1, neighbors.k))
        affinity = relative_exponential(neighbors, scale, p.sigma)
        core = reciprocal_sets(neighbors, p.trusted_k - 1)
        halves = reciprocal_sets(neighbors, p.cluster_k // 2)
        clusters = self._clusters(neighbors, halves)

        graphs = affinity_graphs(neighbors, affinity, core, p.trusted_weight, p.graph_sizes)
        weights = np.ones(1)
        if p.graphs:
            diffused, weights = diffuse_over(graphs, p.mu, self._cap())
        else:
            diffused = diffuse(graphs[0], 1 / (1 + p.mu), p.solver, p.similarity, self._cap())
        similarity = restrict(diffused, clusters)

        steps = as_rows(stepped, affinity[:, : stepped.k], len(neighbors))
        transitions = scale_rows(steps)
        back = transitions.T.tocsr()
        returning = returning_probability(transitions, back)
        smoothed = similarity
        if p.smoothing == "guided":
            smoothed = smooth(similarity, core, transitions, back, returning, p.beta, p.reliability)
        averaged = scale_rows(self._average(smoothed, core, neighbors))
        walk = scale_rows(multiply_capped(averaged, averaged, p.markov_k))
        self.rows = scale_rows(multiply_capped(walk, walk, p.markov_k**2))

        self.stored = Stored(
            scale=scale,
            radius_cluster=radius(neighbors, p.cluster_k),
            radius_trusted=radius(neighbors, p.trusted_k - 1),
            radius_transition=radius(neighbors, p.transition_k - 1),
            degree=np.stack([degrees(graph) for graph in graphs]).astype(np.float32),
            affinity_sum=np.asarray(steps.sum(axis=1)).ravel(),
            returning=returning,
            halves=halves,
            diffused=diffused,
            transitions=transitions,
            transitions_back=back,
            smoothed=smoothed,
            averaged=averaged,
            walk=walk,
            graph_radius=np.stack([radius(neighbors, size - 1) for size in p.graph_sizes]),
            graph_weights=weights.astype(np.float32),
        )
        self._compare_with(neighbors)

    def _number(self, neighbors: Neighbors) -> Numbering:
        """All rows are kept by places, which differ from the items' own numbers in a large gallery."""
        if self.along_graph:
            return Numbering.of(neighbors.first(min(self.params.trusted_k - 1, neighbors.k)))
        return Numbering.as_given(len(neighbors))

    def _cap(self) -> int:
        return int(self.params.cap or max(64, 3 * self.params.cluster_k))

    def _clusters(self, neighbors: Neighbors, halves: sparse.csr_array) -> sparse.csr_array:
        """C[i]: the expanded mutual neighbours of i, or for the ablation its plain ones; i included."""
        if self.params.clusters == "reciprocal":
            return expand_sets(reciprocal_sets(neighbors, self.params.cluster_k), halves)
        nearest = neighbors.first(min(self.params.cluster_k, neighbors.k))
        own = sparse.eye_array(len(neighbors), format="csr", dtype=np.float32)
        return sparse.csr_array(as_rows(nearest, np.ones_like(nearest.similarities), len(neighbors)) + own)

    def _average(
        self, smoothed: sparse.csr_array, core: sparse.csr_array, neighbors: Neighbors
    ) -> sparse.csr_array:
        """Eq. 16; for the ablation the mean over the nearest alone, or nothing."""
        if self.params.smoothing == "none":
            return smoothed
        nearest = neighbors.first(min(self.params.expand_k - 1, neighbors.k))
        own = sparse.eye_array(len(neighbors), format="csr", dtype=np.float32)
        plain = scale_rows(
            sparse.csr_array(as_rows(nearest, np.ones_like(nearest.similarities), len(neighbors)) + own)
        )
        if self.params.smoothing == "average":
            return multiply_capped(plain, smoothed, WIDEST)
        weight = np.float32(self.params.trusted_weight)
        both = sparse.csr_array((scale_rows(core) * weight + plain) / (weight + 1), dtype=np.float32)
        return multiply_capped(both, smoothed, WIDEST)

    def _state(self) -> dict[str, AnyArray]:
        if self.params.first:
            return {}
        fields = {name: value for name, value in vars(self.stored).items() if name != "arrays"}
        return flatten({"order": self.numbering.order, "rows": self.rows} | fields)

    def _restore(self, state: dict[str, AnyArray]) -> None:
        parts = unflatten(state)
        self.rows, self.numbering = parts.pop("rows"), Numbering(parts.pop("order"))
        self.stored = Stored(**parts)  # of before there were several graphs: without the last two
        self._compare_with(self.numbering.neighbors(self.neighbors(self.params.geodesic_k - 1)))

    def _compare_with(self, neighbors: Neighbors) -> None:
        """Build what final distances are looked up in."""
        if self.along_graph:
            nearest = neighbors.first(min(self.params.geodesic_k - 1, neighbors.k))
            self.path_radius = radius(nearest, self.params.geodesic_k - 1)
            self.paths = parts(step_lengths(nearest, self.rows))
            self.row_arrays = parts(self.rows)
        else:
            self.closeness = Closeness(self.rows, self.candidates, self.params.distance)

    @property
    def along_graph(self) -> bool:
        p = self.params
        return bool(p.geodesic and p.distance == "jensen_shannon" and p.fuse_with == "euclidean")

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        p = self.params
        if p.first:
            return self._first_only(queries, None, top)
        sizes = (p.cluster_k, p.trusted_k, p.transition_k, p.expand_k, p.geodesic_k, *p.graph_sizes)
        found = self.search(queries, WIDER * max(sizes))
        scale = row_maximum(self.few, queries, found)
        found = replace(found, ids=self.numbering.renumber(found.ids))
        rows = query_rows(self.stored, found, scale, p)
        if not self.along_graph:
            trusted = found.first(min(p.trusted_k - 1, found.k))
            reached = as_rows(trusted, trusted.similarities, len(self.vectors))
            diffused = multiply_capped(reached, self.stored.diffused, self._cap())
            packed = pack(*rows, len(self.vectors) + 1)
            return self._by_closeness(packed, diffused, queries, scale, None, top)
        starts = first_steps(found, p.geodesic_k - 1, self.path_radius)
        lengths = divergences_to(starts, *rows, *self.row_arrays, ENTROPY)
        known = starts >= 0
        indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        return self._by_paths(indptr, starts[known], lengths[known], queries, scale, None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        queries = Vectors(self.vectors.values[rows])
        if self.params.first:
            return self._first_only(queries, rows, top)
        places = self.numbering.place[rows]
        scale = self.stored.scale[places]
        if not self.along_graph:
            return self._by_closeness(self.rows[rows], self.stored.diffused[rows], queries, scale, rows, top)
        here = np.zeros(len(rows), np.float32)
        return self._by_paths(np.arange(len(rows) + 1), places, here, queries, scale, rows, top)

    def _by_paths(
        self,
        indptr: IntArray,
        starts: AnyArray,
        lengths: Float32Array,
        queries: Vectors,
        scale: Float32Array,
        own: IntArray | None,
        top: int,
    ) -> Reached:
        ids = np.full((len(queries), top), -1, np.int32)
        scores = np.zeros((len(queries), top), np.float32)
        left_out = np.full(len(queries), -1) if own is None else own
        threads = min(numba.get_num_threads(), len(queries))
        paths = blank((threads, len(self.vectors) + 1), np.inf, np.float32)
        ranked_by_paths(
            *self.paths, indptr, starts.astype(np.int32), lengths,
            queries.values, self.vectors.values, scale, np.float32(self.params.omega),
            self.params.metric == "cosine", self.numbering.order, self.candidates, left_out, paths,
            ids, scores,
        )  # fmt: skip
        return Reached(ids, scores)

    def _by_closeness(
        self,
        rows: sparse.csr_array,
        diffused: sparse.csr_array,
        queries: Vectors,
        scale: Float32Array,
        own: IntArray | None,
        top: int,
    ) -> Reached:
        """Eq. 18 without the graph, in blocks of queries."""
        items = Vectors(self.vectors.values[: self.candidates])
        reached = []
        with task("comparing clusters", len(queries)) as advance:
            for first in range(0, len(queries), BLOCK):
                part = slice(first, first + BLOCK)
                some, mine = Vectors(queries.values[part]), sparse.csr_array(rows[part])
                left_out = None if own is None else own[part]
                if self.params.fuse_with == "diffusion":
                    reached.append(self._fused_with_diffusion(mine, diffused[part], left_out, top))
                else:
                    reached.append(self._fused(mine, some, items, scale[part], left_out, top))
                advance(len(some))
        return Reached.join(reached)

    def _fused(
        self,
        rows: sparse.csr_array,
        queries: Vectors,
        items: Vectors,
        scale: Float32Array,
        own: IntArray | None,
        top: int,
    ) -> Reached:
        omega = self.params.omega
        if self.params.distance == "euclidean":
            plain = plain_distances(queries, items, scale, self.params.metric)
            total = (1 - omega) * self.closeness.euclidean(rows) + omega * plain
            return Reached.from_dense((1 / (1 + total)).astype(np.float32), top, self.candidates, own)
        close = self.closeness.of(rows)
        valid = None if own is None else np.where(own < self.candidates, own, -1)
        return fuse(close, self.search(queries, top, valid), queries, items, scale, omega, top, own)

    def _fused_with_diffusion(
        self, rows: sparse.csr_array, diffused: sparse.csr_array, own: IntArray | None, top: int
    ) -> Reached:
        """Eq. 18 with one minus F, over the largest in its row, in place of the plain distance."""
        omega = np.float32(self.params.omega)
        others = sparse.csr_array(diffused[:, : self.candidates])
        if own is not None:
            others.data[others.indices == np.repeat(own, np.diff(others.indptr))] = 0
        largest = np.asarray(others.max(axis=1).todense()).ravel()
        shares = sparse.diags_array((1 / np.where(largest > 0, largest, 1)).astype(np.float32)) @ others
        total = sparse.csr_array(self.closeness.of(rows) * (1 - omega) + shares * omega)
        return Reached.from_sparse(total, top, self.candidates, own)

    def _first_only(self, queries: Vectors, own: IntArray | None, top: int) -> Reached:
        """Each query with the first of plain search as its own gallery (the paper's way at a million)."""
        valid = None if own is None else np.where(own < self.candidates, own, -1)
        found = self.search(queries, self.params.first, valid)
        inner = CAS(**{**self.get_params(), "first": 0})
        ids = np.full((len(queries), top), -1, np.int32)
        scores = np.zeros((len(queries), top), np.float32)
        with task("re-ranking the first", len(queries)) as advance:
            for q, members in enumerate(found.ids):
                members = members[members >= 0]
                if len(members):
                    answer = inner.rerank(queries.values[q : q + 1], self.vectors.values[members], top)
                    ids[q, : answer.ids.shape[1]] = members[answer.ids[0]]
                    scores[q, : answer.ids.shape[1]] = answer.scores[0] + BEHIND + 1
                advance(1)
        return Reached(ids, scores)
