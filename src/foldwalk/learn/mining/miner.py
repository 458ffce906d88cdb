"""Training examples without labels: where Euclidean and manifold similarity disagree.

A. Iscen, G. Tolias, Y. Avrithis and O. Chum, "Mining on Manifolds: metric learning without labels", CVPR
2018, section 3.3.

    P+(r) = NN^m(r) minus NN^e(r)    far apart, yet on one manifold: should come closer          (eq. 5)
    P-(r) = NN^e(r) minus NN^m(r)    close, yet on different manifolds: should go apart          (eq. 6)

The paper's baselines are choices of the same miner: `positives="euclidean"` takes the 5 nearest,
`negatives="euclidean"` a random choice among all but those; "cyclic" see baselines.py;
`anchor_choice="random"`. Its oracles are "labels", the only choice that looks at labels: what perfect pools
would bring.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput, NotFitted
from foldwalk.core.graph import Graph
from foldwalk.core.labels import check_labels
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.seeds import check_seed
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining.baselines import cyclic_positives, other_label, random_others, same_label
from foldwalk.learn.mining.graph import manifold_neighbors, modes, mutual_graph, random_anchors
from foldwalk.learn.mining.parameters import MinerParams
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.report import PoolReport, report_pools
from foldwalk.learn.mining.sets import difference
from foldwalk.neighbors import knn_graph, prepare

Pool = tuple[Int32Array, Float32Array]


class ManifoldMiner:
    """Pools of positives and negatives for the anchors of a collection.

    >>> miner = ManifoldMiner(graph_k=5, positive_k=10, negative_k=20)
    >>> x = np.random.default_rng(0).normal(size=(60, 4))
    >>> len(miner.fit(x).pools)
    60
    """

    graph: Graph
    seconds: float

    def __init__(self, *, seed: int = 0, **parameters: Any) -> None:
        self.params = MinerParams.make("ManifoldMiner", parameters)
        self.seed = check_seed(seed)
        self._pools: Pools | None = None
        self._vectors: Vectors | None = None

    def fit(self, features: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> ManifoldMiner:
        """Mine from features (n, d); called again with a new embedding, graph and pools are built anew.

        `labels` are for the oracles alone.
        """
        began = time.perf_counter()
        vectors = prepare(Vectors.check(features, "features"), self.params.metric)
        if len(vectors) < 3:
            raise BadInput(f"mining needs at least three items, but there are {len(vectors)}.")
        codes = self._codes(labels, len(vectors))
        p = self.params.within(len(vectors))
        wanted = max(p.graph_k, p.positive_k, p.negative_k, p.euclidean_k, p.cyclic_k)
        nearest = knn_graph(vectors, min(wanted, len(vectors) - 1), p.metric, p.search, self.seed)
        self.graph = mutual_graph(nearest, p.graph_k, p.gamma)
        anchors = self._anchors()
        by_walk = None
        if "manifold" in (p.positives, p.negatives):
            k = min(max(p.positive_k, p.negative_k), len(vectors) - 1)
            by_walk = manifold_neighbors(self.graph, anchors, k, p.alpha, p.tolerance, p.steps)
        pools = Pools(
            len(vectors),
            anchors,
            *(
                same_label(vectors.unit().values, codes, anchors, p.keep_positives)
                if p.positives == "labels"
                else _positives(p, anchors, nearest, by_walk)
            ),
            *(
                other_label(nearest, codes, anchors, p.keep_negatives)
                if p.negatives == "labels"
                else _negatives(p, anchors, nearest, by_walk, self.seed)
            ),
        )
        pools.need_usable()
        self._vectors, self._pools = vectors, pools
        self.seconds = time.perf_counter() - began
        return self

    @property
    def pools(self) -> Pools:
        """The pools of positives and negatives that `fit` has mined."""
        if self._pools is None:
            raise NotFitted("the miner has no pools yet: call fit(features) first.")
        return self._pools

    def report(self, labels: npt.ArrayLike | None = None) -> PoolReport:
        """Sizes and hardness of the pools; with labels, which are used for nothing else, their precision."""
        pools = self.pools
        assert self._vectors is not None
        return report_pools(pools, self._vectors.unit(), labels, self.seconds)

    def _codes(self, labels: npt.ArrayLike | None, items: int) -> IntArray:
        if "labels" not in (self.params.positives, self.params.negatives):
            return np.zeros(0, np.int64)
        if labels is None:
            raise BadInput('pools by "labels" need them: call fit(features, labels).')
        codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
        if len(codes) != items:
            raise BadInput(f"there are {len(codes)} labels for {items} items; pass one per item.")
        return np.asarray(codes, dtype=np.int64)

    def _anchors(self) -> IntArray:
        p, items = self.params, len(self.graph)
        if not p.anchors:
            return np.arange(items)
        chosen = modes(self.graph, p.anchors)
        return chosen if p.anchor_choice == "modes" else random_anchors(items, p.anchors, self.seed)


def _positives(p: MinerParams, anchors: IntArray, nearest: Neighbors, by_walk: Neighbors | None) -> Pool:
    if p.positives == "euclidean":
        close = nearest.first(min(p.euclidean_k, nearest.k))
        kept = close.first(min(p.keep_positives, close.k))
        return kept.ids[anchors], kept.similarities[anchors]
    if p.positives == "cyclic":
        return cyclic_positives(nearest.first(min(p.cyclic_k, nearest.k)), anchors, p.cycle, p.keep_positives)
    assert by_walk is not None
    far = by_walk.first(min(p.positive_k, by_walk.k))
    close = nearest.first(min(p.positive_k, nearest.k))
    return difference(far.ids, far.similarities, close.ids[anchors], len(nearest), p.keep_positives)


def _negatives(
    p: MinerParams, anchors: IntArray, nearest: Neighbors, by_walk: Neighbors | None, seed: int
) -> Pool:
    if p.negatives == "euclidean":
        close = nearest.first(min(p.euclidean_k, nearest.k))
        return random_others(close.ids[anchors], anchors, len(nearest), p.keep_negatives, seed)
    assert by_walk is not None
    close = nearest.first(min(p.negative_k, nearest.k))
    on_manifold = by_walk.first(min(p.negative_k, by_walk.k)).ids
    return difference(
        close.ids[anchors], close.similarities[anchors], on_manifold, len(nearest), p.keep_negatives
    )
