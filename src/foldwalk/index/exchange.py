"""Vectors, keys, metadata and neighbours to and from files of other programs: .npz, .parquet; .npy is read.

A .npz file holds the arrays `vectors`, `keys` and `metadata` (one JSON text each), `neighbor_ids` and
`neighbor_similarities`; a .parquet file the columns key, vector, metadata, neighbor_ids and
neighbor_similarities. Neighbour ids count the rows of the same file. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from foldwalk.core.errors import BadInput, MissingData, MissingExtra
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray
from foldwalk.core.whole_files import written_whole
from foldwalk.index.graph.knn import PROMISED, WIDTH, KnnGraph
from foldwalk.index.graph.recall import sampled_recall
from foldwalk.index.types import AddReport
from foldwalk.index.vectors import add_vectors
from foldwalk.index.view import View
from foldwalk.neighbors.similarity import pair_similarities
from foldwalk.stores import Store

VECTOR_NAMES = ("vectors", "x", "features", "vector", "embedding")
KEY_NAMES = ("keys", "key", "paths", "path", "id")


@dataclass(frozen=True)
class _Contents:
    vectors: AnyArray
    keys: list[str] | None = None
    metadata: list[str] | None = None
    neighbor_ids: AnyArray | None = None


def export_file(view: View, path: Path, neighbors: bool) -> Path:
    """Write all items, whole or not at all."""
    writers = {".npz": _write_npz, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise BadInput(f"{path}: an index is exported as .npz or .parquet.")
    if not path.absolute().parent.is_dir():
        raise MissingData(f"{path.absolute().parent} is not a folder; create it first.")
    if len(view) == 0:
        raise BadInput(f"{view.store.place} is empty; there is nothing to export.")
    columns: dict[str, Any] = {
        "key": view.keys,
        "vector": view.all_vectors(),
        "metadata": view.metadata_texts,
    }
    if neighbors:
        known = view.graph().neighbors(view.facts.metric)
        columns |= {"neighbor_ids": known.ids, "neighbor_similarities": known.similarities}
    with written_whole(path) as file:
        writers[path.suffix](file, columns)
    return path


def import_file(store: Store, path: Path) -> AddReport:
    """Add what a file holds. Without keys of its own, row 7 of cats.npy is called cats:7."""
    readers = {".npy": _read_npy, ".npz": _read_npz, ".parquet": _read_parquet}
    if path.suffix not in readers:
        raise BadInput(f"{path}: vectors are read from .npy, .npz or .parquet.")
    if not path.is_file():
        raise MissingData(f"{path} does not exist or is not a file.")
    try:
        contents = readers[path.suffix](path)
    except (BadInput, MissingExtra):
        raise
    except Exception as error:  # broken bytes lead the readers to errors of any kind
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise BadInput(f"{path} is damaged or holds no array of numbers ({reason}).") from None
    keys = contents.keys
    if keys is None:
        keys = [f"{path.stem}:{row}" for row in range(len(contents.vectors))]
    report = add_vectors(store, contents.vectors, keys, _metadata(path, keys, contents.metadata))
    if contents.neighbor_ids is not None:
        view = View(store)
        with suppress(BadInput):  # neighbours that cannot be right are found again
            if view.keys == keys:
                _use_neighbors(view, contents.neighbor_ids)
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
    values = view.all_vectors()
    similarities[known] = pair_similarities(values, values, indptr, checked.ids[known], metric == "cosine")
    sorted_rows = Neighbors.check(checked.ids, similarities, n, metric)
    graph = KnnGraph.of(sorted_rows, view.numbers)
    if sampled_recall(graph, view.prepared, metric) == 1.0:
        view.adopt_graph(graph)


def _metadata(
    path: Path, keys: Sequence[str], texts: Sequence[str] | None
) -> Mapping[str, Mapping[str, Any]] | None:
    if texts is None:
        return None
    try:
        return {key: json.loads(text) for key, text in zip(keys, texts, strict=True)}
    except (ValueError, TypeError):
        raise BadInput(f"{path}: metadata must hold one JSON text for every key.") from None


def _write_npz(file: BinaryIO, columns: Mapping[str, Any]) -> None:
    names = {"key": "keys", "vector": "vectors"}
    arrays = {names.get(name, name): np.asarray(column) for name, column in columns.items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _write_parquet(file: BinaryIO, columns: Mapping[str, Any]) -> None:
    pyarrow, parquet = _pyarrow()

    def column(values: Any) -> Any:
        if isinstance(values, list):
            return pyarrow.array(values, pyarrow.string())
        flat = pyarrow.array(values.reshape(-1))
        return pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])

    parquet.write_table(pyarrow.table({name: column(values) for name, values in columns.items()}), file)


def _read_npy(path: Path) -> _Contents:
    return _Contents(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_npz(path: Path) -> _Contents:
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise BadInput(f"{path} is no .npz archive; write the vectors with numpy.savez.")
        vectors = file[_choose(file.files, VECTOR_NAMES, path)]
        named = next((name for name in KEY_NAMES if name in file.files), None)
        keys = None if named is None else [str(key) for key in file[named].tolist()]
        texts = [str(text) for text in file["metadata"].tolist()] if "metadata" in file.files else None
        ids = file["neighbor_ids"] if "neighbor_ids" in file.files else None
    return _Contents(vectors, keys, texts, ids)


def _read_parquet(path: Path) -> _Contents:
    pyarrow, parquet = _pyarrow()
    table = parquet.read_table(path)
    lists = [f.name for f in table.schema if pyarrow.types.is_nested(f.type)]
    vectors = _matrix(table[_choose(lists, VECTOR_NAMES, path)], path)
    named = next((name for name in KEY_NAMES if name in table.column_names), None)
    keys = None if named is None else [str(key) for key in table[named].to_pylist()]
    texts = table["metadata"].to_pylist() if "metadata" in table.column_names else None
    ids = _matrix(table["neighbor_ids"], path) if "neighbor_ids" in lists else None
    return _Contents(vectors, keys, texts, ids)


def _matrix(column: Any, path: Path) -> AnyArray:
    """A column of lists as a 2-D array."""
    lists = column.combine_chunks()
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    lengths = set(lists.value_lengths().to_pylist()) if hasattr(lists, "value_lengths") else {len(lists[0])}
    if lists.null_count or len(lengths) != 1:
        raise BadInput(f"{path}: every row of {column} must be a list of the same length.")
    return np.asarray(flat.reshape(len(lists), -1))


def _choose(names: Sequence[str], preferred: Sequence[str], path: Path) -> str:
    if len(names) == 1:
        return names[0]
    for name in preferred:
        if name in names:
            return name
    raise BadInput(f"{path} must hold one array of vectors, or one named {', '.join(preferred)}.")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "stores", "Parquet") from None
    return pyarrow, pyarrow.parquet
