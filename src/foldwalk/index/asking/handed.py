"""A fitted method on its way from one process to another: all of it that the other one cannot find itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from foldwalk.core.array_files import read_npz
from foldwalk.core.errors import BadInput
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import AnyArray
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.saving import neighbor_arrays, neighbors_from, state_arrays, state_from


@dataclass(frozen=True, eq=False)
class Handed:
    """The state, empty where a method prepares itself, and neighbours where the index keeps too few."""

    state: dict[str, AnyArray]
    neighbors: Neighbors | None

    @classmethod
    def of(cls, method: Reranker, of_index: Neighbors) -> Self:
        own = method.known_neighbors
        return cls(method.state(), own if own is not None and own.k > of_index.k else None)

    def write(self, path: str | os.PathLike[str]) -> None:
        arrays = state_arrays(self.state) | neighbor_arrays(self.neighbors)
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | os.PathLike[str], items: int, metric: str) -> Self:
        try:
            arrays = read_npz(Path(path))
            return cls(state_from(arrays), neighbors_from(arrays, items, metric))
        except BadInput:
            raise
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            raise BadInput(f"{path} holds no fitted method: {error}.") from None
