"""A collection to and from files of other programs: vectors, keys, metadata and neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.json_text import read_json_object
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.targets import check_file
from foldwalk.core.types import AnyArray
from foldwalk.core.vector_files import VectorFile, check_target, read_vector_file, write_vector_file
from foldwalk.index.graph.knn import PROMISED, WIDTH, KnnGraph
from foldwalk.index.graph.recall import sampled_recall
from foldwalk.index.types import AddReport
from foldwalk.index.vectors import add_vectors
from foldwalk.index.view import View
from foldwalk.neighbors.scale import in_scale, scale_for_all
from foldwalk.neighbors.similarity import pair_similarities
from foldwalk.stores import Store


def export_file(view: View, path: Path, neighbors: bool, overwrite: bool) -> Path:
    """Write all items, whole or not at all."""
    check_target(path, (".npz", ".parquet"))
    check_file(path, overwrite, "overwrite=True")
    file = contents(view)
    if neighbors:
        known = view.graph().neighbors(view.facts.metric)
        file = replace(file, neighbor_ids=known.ids, neighbor_similarities=known.similarities)
    return write_vector_file(path, file)


def contents(view: View) -> VectorFile:
    """All items, as a file would hold them."""
    if len(view) == 0:
        raise BadInput(f"{view.store.place} is empty; there is nothing to export or to learn from.")
    return VectorFile(view.all_vectors(), list(view.keys), list(view.metadata_texts))


def import_file(store: Store, path: Path) -> AddReport:
    """Add what a file holds. Without keys of its own, row 7 of cats.npy is called cats:7."""
    file = read_vector_file(path, ("keys", "metadata", "neighbor_ids"))
    keys = file.keys
    if keys is None:
        keys = [f"{path.stem}:{row}" for row in range(len(file))]
    report = add_vectors(store, file.vectors, keys, _metadata(path, keys, file.metadata))
    if file.neighbor_ids is not None:
        view = View(store)
        with suppress(BadInput):  # neighbours that cannot be right are found again
            if view.keys == keys:
                _use_neighbors(view, file.neighbor_ids)
    return report


def _use_neighbors(view: View, ids: AnyArray) -> None:
    """Take over the file's neighbours as the graph, if they are enough and prove right.

    Their similarities are computed again: rows must be sorted by the same numbers everywhere.
    """
    n, metric = len(view), view.facts.metric
    if len(ids) != n or ids.ndim != 2 or not min(PROMISED, n - 1) <= ids.shape[1] <= WIDTH:
        return
    checked = Neighbors.check(ids, np.zeros(ids.shape), n, metric)
    known = checked.ids >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    similarities = np.zeros(ids.shape, np.float32)
    vectors = in_scale(view.stored, scale_for_all(view.stored, metric))
    values = vectors.values
    similarities[known] = pair_similarities(values, values, indptr, checked.ids[known], metric == "cosine")
    sorted_rows = Neighbors.check(checked.ids, similarities, n, metric)
    graph = KnnGraph.of(sorted_rows, view.numbers, vectors.scale)
    if sampled_recall(graph, vectors, metric) == 1.0:
        view.adopt_graph(graph)


def _metadata(
    path: Path, keys: Sequence[str], texts: Sequence[str] | None
) -> Mapping[str, Mapping[str, Any]] | None:
    if texts is None:
        return None
    try:
        return {
            key: read_json_object(text, f"{path}, the metadata of {key!r}")
            for key, text in zip(keys, texts, strict=True)
        }
    except TypeError:
        raise BadInput(f"{path}: metadata must hold one JSON text for every key.") from None
