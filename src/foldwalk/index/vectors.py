"""Vectors into the index: checked, named, stored in one change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.vectors import Vectors
from foldwalk.index.types import AddReport
from foldwalk.stores import Record, Store, Writer
from foldwalk.stores.checks import check_keys, metadata_texts


def add_vectors(
    store: Store,
    array: npt.ArrayLike,
    keys: Sequence[str] | None,
    metadata: Mapping[str, Mapping[str, Any]] | None,
) -> AddReport:
    with store.writing() as writer:
        vectors = Vectors.check(array, dim=writer.facts().dim)
        named = _numbered(writer, len(vectors)) if keys is None else check_keys(keys)
        if len(named) != len(vectors):
            raise BadInput(f"there are {len(vectors)} vectors, but {len(named)} keys.")
        texts = metadata_texts(named, metadata)
        records = [Record(key, text) for key, text in zip(named, texts, strict=True)]
        return AddReport(*writer.upsert(vectors, records))


def _numbered(writer: Writer, count: int) -> list[str]:
    """Keys for vectors that came without: the numbers the items will have."""
    first = writer.facts().next_number
    keys = [str(number) for number in range(first, first + count)]
    for key in writer.known(keys):
        raise BadInput(f"key {key!r} would be the next number, but it is taken; hand in keys.")
    return keys
