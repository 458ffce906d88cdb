"""The collection in the plane, before and after the walk, by t-SNE (van der Maaten & Hinton 2008).

Before: neighbours by plain similarity. After: neighbours by the method's own ranking of every item, at the
distance d with d^2 = 1 - score / highest score. The second drawing starts from the first, so that what moves
between them moved because of the walk. With the drawings goes a sheet of small pictures, one for each point.

Run as a program (``python -m foldwalk.service.map_layout METHOD ITEMS PARAMETERS``, the index's address as
its input) it works in a process of its own at low priority: the service goes on answering, and can stop it at
any time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.manifold import TSNE
from sklearn.neighbors import sort_graph_by_row_values

from foldwalk import rerank
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.index import Index
from foldwalk.index.tuning.preference import full_name
from foldwalk.neighbors.scale import in_scale, scale_for_all
from foldwalk.service.map_job import KIND
from foldwalk.service.map_sheet import contact_sheet
from foldwalk.stores.arrays import put_arrays

_PERPLEXITY = 30.0
_FEWEST = 5


def lay_out(
    vectors: Float32Array, method: str, metric: str, parameters: Mapping[str, Any] | None = None
) -> tuple[Float32Array, Float32Array]:
    """Two (n, 2) drawings, each centred and scaled to reach 1."""
    ranker = rerank.create(method, **{**(parameters or {}), "metric": metric})
    n = len(vectors)
    stored = Vectors(vectors)
    vectors = in_scale(stored, scale_for_all(stored, metric)).values
    if n < _FEWEST or (vectors == vectors[0]).all():
        line = np.column_stack([np.linspace(-1, 1, n), np.zeros(n)]).astype(np.float32)
        return line, line
    perplexity = min(_PERPLEXITY, (n - 1) / 4)
    before = TSNE(perplexity=perplexity, init="pca", metric=metric, random_state=0).fit_transform(vectors)
    walked = _walk_distances(ranker.fit(vectors), neighbors=min(n - 1, int(3 * perplexity) + 1))
    start = before / before[:, 0].std() * 1e-4  # the spread that t-SNE recommends for a start
    after = TSNE(perplexity=perplexity, init=start, metric="precomputed", random_state=0).fit_transform(
        walked
    )
    return _scaled(before), _scaled(after)


def _walk_distances(fitted: rerank.Reranker, neighbors: int) -> csr_array:
    ranking = fitted.rank_self(top=neighbors)
    n, depth = ranking.ids.shape
    best = max(float(ranking.scores.max()), 1e-30)
    squared = np.clip(1 - ranking.scores.astype(np.float64) / best, 1e-9, None)
    # scikit-learn expects every item at the head of its own list, and takes it off again.
    itself = np.arange(n)[:, None]
    ids = np.hstack([itself, ranking.ids])
    distances = np.hstack([np.zeros((n, 1)), np.sqrt(squared)])
    rows = np.repeat(np.arange(n), depth + 1)
    graph = csr_array((distances.ravel(), (rows, ids.ravel())), shape=(n, n))
    return sort_graph_by_row_values(graph, warn_when_not_sorted=False)


def _scaled(points: Float32Array) -> Float32Array:
    centred = points - (points.max(axis=0) + points.min(axis=0)) / 2
    scaled: Float32Array = (centred / max(float(np.abs(centred).max()), 1e-12)).astype(np.float32)
    return scaled


def sample_rows(n: int, most: int) -> IntArray:
    """All rows, or `most` of them at even distances."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def main(index: str, method: str, items: int, parameters: Mapping[str, Any]) -> None:
    with Index.open(index) as opened:
        keys, vectors, version, metric = opened.keys(), opened.vectors(), opened.version, opened.metric
        rows = sample_rows(len(keys), items)
        chosen = [keys[row] for row in rows]
        sheet = contact_sheet([opened.thumbnail(key) for key in chosen])
        before, after = lay_out(np.ascontiguousarray(vectors[rows]), method, metric, parameters)
        drawn = {
            "version": np.array(version),
            "total": np.array(len(keys)),
            "method": np.array(full_name(method, parameters)),
            "keys": np.array(chosen, dtype=np.str_),
            "before": before,
            "after": after,
            "sheet": np.frombuffer(sheet, np.uint8),
        }
        if not put_arrays(opened.store, KIND, version, drawn):
            raise SystemExit(f"{opened.store.place} cannot be written")
        for group in opened.store.groups(KIND):
            if group.version < version:
                opened.store.drop_rows(*group)


if __name__ == "__main__":
    os.nice(10)
    main(sys.stdin.read(), sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
