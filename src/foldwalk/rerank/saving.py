"""A fitted method in one .npz file: arrays and a line of JSON, nothing that runs when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.array_files import read_npz
from foldwalk.core.checked_arrays import checked_numbers, checked_scale
from foldwalk.core.errors import BadInput, MissingData, MissingExtra, one_line
from foldwalk.core.json_text import read_json_object
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.precomputed import KnownPairs
from foldwalk.rerank.registry import create

FORMAT = 1
LONGEST = 1.001  # of a vector of length one, rounded


def save(method: Reranker, path: str | os.PathLike[str]) -> Path:
    """Write a fitted method to a .npz file, whole or not at all."""
    target = Path(path)
    if target.suffix != ".npz":
        raise BadInput(f"{target}: a fitted method is saved as .npz.")
    if not target.parent.is_dir():
        raise MissingData(f"{target.parent} is not a folder; create it first.")
    arrays: dict[str, Any] = as_arrays(method)
    with written_whole(target) as file:
        np.savez(file, **arrays)
    return target


def load(path: str | os.PathLike[str]) -> Reranker:
    """A method as `save` wrote it, ready to rank."""
    source = Path(path)
    if not source.is_file():
        raise MissingData(f"{source} does not exist.")
    try:
        return from_arrays(read_npz(source))
    except MissingExtra:
        raise
    except Exception as error:  # broken bytes lead the readers to errors of any kind
        raise BadInput(f"{source} is not a method saved by foldwalk: {one_line(error)}.") from None


def as_arrays(method: Reranker) -> dict[str, AnyArray]:
    """A fitted method as named arrays, which a file or a store can keep."""
    header = {
        "format": FORMAT,
        "method": method.name,
        "parameters": method.params.model_dump(),
        "seed": method.seed,
        "scale": method.vectors.scale,
    }
    arrays: dict[str, AnyArray] = {"vectors": method.vectors.values}
    if method.pairs is not None:
        header["pairs"] = method.pairs.metric
        arrays = method.pairs.saved()
    else:
        arrays |= neighbor_arrays(method.known_neighbors)
    arrays["header"] = np.array(json.dumps(header))
    return arrays | state_arrays(method.state())


def from_arrays(arrays: Mapping[str, AnyArray]) -> Reranker:
    """The method that `as_arrays` was given."""
    header = _text_of(arrays, "header")
    if header.get("format") != FORMAT:
        raise BadInput("it was written by another version of foldwalk; fit and save it again.")
    method = create(header["method"], seed=header["seed"], **header["parameters"])
    pairs = None
    if "pairs" in header:
        pairs = KnownPairs.from_saved(arrays, header["pairs"])
        vectors = pairs.items
    else:
        scale = checked_scale(header.get("scale", 1.0))  # an earlier version has none: vectors as given
        values = Vectors.check(arrays["vectors"], "vectors").values
        if method.params.metric == "cosine" and np.abs(values).max() > LONGEST:
            raise BadInput("vectors must be of length one.")
        vectors = Vectors(values, scale)
    neighbors = neighbors_from(arrays, len(vectors), method.params.metric)
    return method.adopt(vectors, neighbors=neighbors, state=state_from(arrays), pairs=pairs)


def state_arrays(state: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    return {f"state_{name}": array for name, array in state.items()}


def state_from(arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """The opposite of `state_arrays`; other arrays are passed over."""
    return {name.removeprefix("state_"): a for name, a in arrays.items() if name.startswith("state_")}


def neighbor_arrays(neighbors: Neighbors | None) -> dict[str, AnyArray]:
    if neighbors is None:
        return {}
    origin = np.array(json.dumps({"recall": neighbors.recall, "how": neighbors.how}))
    arrays: dict[str, AnyArray] = {"neighbor_ids": neighbors.ids, "neighbor_origin": origin}
    arrays["neighbor_similarities"] = neighbors.similarities
    if neighbors.least is not None:
        arrays["neighbor_least"] = neighbors.least
    return arrays


def neighbors_from(arrays: Mapping[str, AnyArray], items: int, metric: str) -> Neighbors | None:
    """The opposite of `neighbor_arrays`, checked; None where there are none among the arrays."""
    if "neighbor_ids" not in arrays:
        return None
    origin = _text_of(arrays, "neighbor_origin")
    checked = Neighbors.check(arrays["neighbor_ids"], arrays["neighbor_similarities"], items, metric)
    checked_numbers(checked.similarities, "neighbor_similarities", checked.ids.shape)
    least = arrays.get("neighbor_least")
    if least is not None:
        least = checked_numbers(least, "neighbor_least", (items,))
    return replace(checked, recall=float(origin["recall"]), how=str(origin["how"]), least=least)


def _text_of(arrays: Mapping[str, AnyArray], name: str) -> dict[str, Any]:
    text = np.asarray(arrays[name])
    if text.shape != () or text.dtype.kind != "U":
        raise BadInput(f"{name} must be one text.")
    return read_json_object(str(text), name)
