"""An index of a few clustered vectors, and helpers that compare it with what it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from foldwalk.index import Index
from samples import clustered

MakeIndex = Callable[..., Index]


@pytest.fixture
def make_index(tmp_path: Path) -> Iterator[MakeIndex]:
    """Make an index of vectors with keys a0, a1, ...; all are closed in the end."""
    made: list[Index] = []

    def make(vectors: np.ndarray | None = None, name: str = "x.fold", **options: object) -> Index:
        index = Index.create(tmp_path / name, **{"backbone": None, **options})
        made.append(index)
        if vectors is not None:
            index.add_vectors(vectors, [f"a{i}" for i in range(len(vectors))])
        return index

    yield make
    for index in made:
        index.close()


@pytest.fixture
def vectors() -> np.ndarray:
    return clustered(n=120, d=16)[0]


@pytest.fixture
def index(make_index: MakeIndex, vectors: np.ndarray) -> Index:
    return make_index(vectors)
