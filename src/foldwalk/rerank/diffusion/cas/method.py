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
`fit(gallery, target=E)` takes another E, for at most 5,000 items.

Every step works on sparse rows. The inductive form is ours: an unseen query takes the same steps beside the
stored rows, see inductive.py.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Int32Array, IntArray
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
from foldwalk.neighbors.beside import BESIDE
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.cas.asked import Asked, Rows
from foldwalk.rerank.diffusion.cas.compare import Direct, ranked_among, shares_of
from foldwalk.rerank.diffusion.cas.dense import check_target
from foldwalk.rerank.diffusion.cas.first import rerank_first
from foldwalk.rerank.diffusion.cas.geodesic import Paths
from foldwalk.rerank.diffusion.cas.graphs import affinity_graphs, diffuse_over
from foldwalk.rerank.diffusion.cas.inductive import Stored, query_rows
from foldwalk.rerank.diffusion.cas.parameters import CASParams
from foldwalk.rerank.diffusion.cas.similarity import diffuse, original, restrict
from foldwalk.rerank.diffusion.cas.smoothing import returning_probability, smooth
from foldwalk.rerank.fusion import row_maximum
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.order import Reached
from foldwalk.rerank.registry import register
from foldwalk.walk import multiply_capped, scale_rows

WIDER = 2  # times as many nearest of an unseen query: who would count it among its own may be further away
WIDEST = 1024  # more than the union of the clusters that eq. 16 averages ever holds
TOWARDS = ("ten_steps", "iterate", "cg", "lyapunov")  # solvers that take any E


@register
class CAS(Reranker):
    name = "cas"
    family = "diffusion"
    paper = "Luo et al., Cluster-aware similarity diffusion for instance retrieval, ICML 2024"
    summary = "similarity spreads inside local clusters of mutual neighbours, and clusters are compared"
    Parameters = CASParams
    takes_distances = True
    params: CASParams
    _target: Any = None

    def fit(
        self, gallery: npt.ArrayLike | None = None, y: Any = None, *, target: Any = None, **options: Any
    ) -> Self:
        """Learn the gallery, (n, d). `target` is E of eq. 3, n x n: similarities towards which F is pulled.

        E is an array or a sparse matrix, symmetric and not negative; without it E is the identity. Its rows
        are the items, so that it is for this gallery alone: queries, joining or unseen, have the identity's.
        """
        self._target = target
        try:
            return super().fit(gallery, y, **options)
        finally:
            self._target = None

    def _wanted(self, _: int) -> int:
        p = self.params
        sizes = (p.cluster_k, p.trusted_k - 1, p.transition_k - 1, p.expand_k - 1, p.geodesic_k - 1)
        return 0 if p.first else max(*sizes, *p.graph_sizes)

    def _prepare(self) -> None:
        p = self.params
        target = self._checked_target()
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
        if p.similarity == "original":
            diffused = sparse.csr_array((len(neighbors), len(neighbors)), dtype=np.float32)
            similarities_of = partial(self.similarities, self.vectors)
            similarity = scale_rows(original(clusters, similarities_of, scale, p.sigma, self.metric))
        else:
            if p.graphs:
                diffused, weights = diffuse_over(graphs, p.mu, p.rows_kept)
            else:
                diffused = diffuse(graphs[0], 1 / (1 + p.mu), p.solver, p.similarity, p.rows_kept, target)
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
            graph_radius=np.stack([radius(neighbors, size) for size in p.graph_sizes]),
            graph_weights=weights.astype(np.float32),
        )
        self._compare_with(neighbors)

    def _number(self, neighbors: Neighbors) -> Numbering:
        """All rows are kept by places, which differ from the items' own numbers in a large gallery."""
        p = self.params
        if p.geodesic and p.similarity != "original" and self._target is None:
            return Numbering.of(neighbors.first(min(p.trusted_k - 1, neighbors.k)))
        return Numbering.as_given(len(neighbors))

    def _checked_target(self) -> sparse.csr_array | None:
        """E, refused where the parameters leave no place for it; places are the items' own numbers then."""
        p = self.params
        if self._target is None:
            return None
        if p.first:
            raise BadInput("cas: target belongs to a whole gallery, but first=... takes one for each query.")
        if p.similarity != "bidirectional":
            raise BadInput(f"cas: target belongs to similarity='bidirectional', but it is {p.similarity!r}.")
        if p.graphs:
            raise BadInput("cas: target belongs to one graph, but graphs=... names several: leave one out.")
        if p.solver not in TOWARDS:
            raise BadInput(
                f"cas: solver={p.solver!r} holds for the identity alone; with a target use one of "
                f"{', '.join(TOWARDS)}."
            )
        return check_target(self._target, len(self.vectors))

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

    def _state(self) -> dict[str, Any]:
        if self.params.first:
            return {}
        fields = {name: value for name, value in vars(self.stored).items() if name != "arrays"}
        return {"order": self.numbering.order, "rows": self.rows} | fields

    def _restore(self, kept: Kept) -> None:
        if kept.names() != {"order", "rows", *(field.name for field in fields(Stored))}:
            kept.handed_on()
            self._prepare()  # kept by a version that kept other things
            return
        n = len(self.vectors)
        self.rows, self.numbering = kept.rows("rows", n, n), Numbering(kept.order("order", n))
        self.stored = Stored.restore(kept, n, len(self.params.graph_sizes))
        self._compare_with(self.numbering.neighbors(self.neighbors(self.params.geodesic_k - 1)))

    def _compare_with(self, neighbors: Neighbors) -> None:
        """Build what final distances are looked up in."""
        p = self.params
        self.__dict__.pop("direct", None)
        if p.geodesic:
            nearest = neighbors.first(min(p.geodesic_k - 1, neighbors.k))
            self.paths = Paths(nearest, self.rows, p, self.pairs)

    @cached_property
    def direct(self) -> Direct:
        """Rows of the items in their own order; columns stay places, which no comparison minds."""
        rows = sparse.csr_array(self.rows[self.numbering.place])
        return Direct(rows, self.candidates, self.params, self.search, self.similarities)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        if self.params.first:
            return self._first_only(queries, None, top)
        return self._ranked(self.ask(queries, self.search(queries, self.looks_at)), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        if self.params.first:
            return self._first_only(Vectors(self.vectors.values[rows]), rows, top)
        return self._ranked(self.ask_from_rows(rows), top)

    def _ranked(self, asked: Asked, top: int) -> Reached:
        return self.along_paths(asked, top) if self.params.geodesic else self.directly(asked, top)

    # One fit, several ways to answer ----------------------------------------------------------------------

    @property
    def looks_at(self) -> int:
        """How many of its nearest decide about an unseen query."""
        p = self.params
        sizes = (p.cluster_k, p.trusted_k, p.transition_k, p.expand_k, p.geodesic_k, *p.graph_sizes)
        return WIDER * max(sizes)

    def ask(self, queries: Vectors, near: Neighbors) -> Asked:
        """New queries; `near` are their nearest, at least as many as are looked at."""
        p, near = self.params, near.first(min(self.looks_at, near.k))
        places = self.numbering.renumber(near.ids)
        if near.how == BESIDE:  # nobody looked for the farthest; that of the nearest item will do
            scale = np.where(places[:, 0] >= 0, self.stored.scale[places[:, 0]], np.float32(1))
        else:
            scale = row_maximum(self.few, queries, near)
        near = replace(near, ids=places)
        rows = Rows.of_width(*query_rows(self.stored, near, scale, p, queries, self.vectors))
        shares = None
        if p.fuse_with == "diffusion":
            joined = near.first(min(max(p.graph_sizes), near.k))
            reached = as_rows(joined, joined.similarities, len(self.vectors))
            diffused = multiply_capped(reached, self.stored.diffused, p.rows_kept)
            shares = shares_of(diffused, self.numbering.order, self.candidates, None)
        return Asked(queries, scale, rows, near, None, shares)

    def ask_from_rows(self, rows: IntArray) -> Asked:
        """Rows of the adopted vectors."""
        places, shares = self.numbering.place[rows], None
        if self.params.fuse_with == "diffusion":
            shares = shares_of(self.stored.diffused[places], self.numbering.order, self.candidates, rows)
        queries, mine = Vectors(self.vectors.values[rows]), Rows.of_matrix(self.rows, places)
        return Asked(queries, self.stored.scale[places], mine, None, rows, shares)

    def along_paths(self, asked: Asked, top: int) -> Reached:
        """The best by the shortest paths along neighbours."""
        if asked.near is not None:
            starts = self.paths.starts(asked.near, asked.rows)
        else:
            own = np.asarray(asked.own)
            starts = np.arange(len(own) + 1), self.numbering.place[own], np.zeros(len(own), np.float32)
        return self.paths.rank(starts, asked, self.vectors, self.numbering.order, self.candidates, top)

    def directly(self, asked: Asked, top: int) -> Reached:
        """The best by the distance of rows itself."""
        mine = asked.rows.matrix(len(self.vectors) + 1)
        return self.direct.rank(mine, asked.shares, asked.queries, asked.scale, asked.own, top)

    def among(self, asked: Asked, items: Int32Array, top: int) -> Reached:
        """The same among listed items alone, (q, c) with -1 for none: no other is looked at."""
        similarities = partial(self.similarities, asked.queries)
        places = self.numbering.renumber(items)
        return ranked_among(asked, items, places, self.rows, similarities, self.params, self.metric, top)

    def _first_only(self, queries: Vectors, own: IntArray | None, top: int) -> Reached:
        if self.pairs is not None:
            raise BadInput("cas: first needs vectors, which distances and graphs do not have: leave it out.")
        valid = None if own is None else np.where(own < self.candidates, own, -1)
        found = self.search(queries, self.params.first, valid)
        inner = CAS(**{**self.get_params(), "first": 0})
        return rerank_first(inner, queries, self.vectors, found, top)
