"""A graph walked in another order gives the same rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core import Graph
from foldwalk.graph import normalise
from foldwalk.walk import bidirectional


def test_the_order_of_the_walk_does_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    dense = np.triu(np.where(rng.random((60, 60)) < 0.08, rng.random((60, 60)), 0), 1)
    graph = Graph(sparse.csr_array((dense + dense.T).astype(np.float32)))
    transitions = normalise(graph).matrix
    straight = bidirectional.two_sided_steps(transitions, graph.matrix, 0.8, 5, cap=60).toarray()
    monkeypatch.setattr(bidirectional, "REORDER_ABOVE", 10)
    reordered = bidirectional.two_sided_steps(transitions, graph.matrix, 0.8, 5, cap=60).toarray()
    assert np.allclose(straight, reordered, atol=1e-6)
