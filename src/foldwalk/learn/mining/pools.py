"""Pools of training examples (eq. 5 and 6): each anchor's positives and negatives, the most telling first."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foldwalk.core.array_files import read_npz
from foldwalk.core.errors import BadInput, MissingData, MissingExtra, one_line
from foldwalk.core.memory import need_memory
from foldwalk.core.parquet import load_pyarrow, read_table
from foldwalk.core.types import AnyArray, BoolArray, Float32Array, Int32Array, IntArray
from foldwalk.core.whole_files import written_whole

ARRAYS = ("anchors", "positives", "positive_similarities", "negatives", "negative_similarities")


@dataclass(frozen=True, eq=False)
class Pools:
    """Row a belongs to item `anchors[a]`; rows of ids end in -1, whose similarity is 0.

    Positives come by descending manifold similarity, negatives by descending Euclidean similarity (section
    3.3 of the paper); baselines order theirs by Euclidean similarity. `items` is the size of the collection.
    """

    items: int
    anchors: IntArray
    positives: Int32Array
    positive_similarities: Float32Array
    negatives: Int32Array
    negative_similarities: Float32Array

    def __post_init__(self) -> None:
        if self.anchors.ndim != 1 or self.anchors.dtype.kind not in "iu":
            raise BadInput("pools: anchors must be a list of whole numbers.")
        rows = len(self.anchors)
        for kind in ("positive", "negative"):
            ids, values = getattr(self, f"{kind}s"), getattr(self, f"{kind}_similarities")
            if ids.ndim != 2 or ids.shape != values.shape or len(ids) != rows:
                raise BadInput(f"pools: {kind}s {ids.shape} do not fit {rows} anchors and {values.shape}.")
            if ids.dtype.kind not in "iu" or not np.isfinite(values).all():
                raise BadInput(f"pools: {kind}s must be whole numbers, and their similarities finite.")
            if ids.size and (ids.min() < -1 or ids.max() >= self.items):
                raise BadInput(f"pools: {kind}s must be ids between -1 (none) and {self.items - 1}.")
        if rows and not 0 <= self.anchors.min() <= self.anchors.max() < self.items:
            raise BadInput(f"pools: anchors must be ids between 0 and {self.items - 1}.")

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def positive_counts(self) -> IntArray:
        return np.asarray((self.positives >= 0).sum(axis=1))

    @property
    def negative_counts(self) -> IntArray:
        return np.asarray((self.negatives >= 0).sum(axis=1))

    @property
    def usable(self) -> BoolArray:
        """Which anchors have both a positive and a negative."""
        return np.asarray((self.positive_counts > 0) & (self.negative_counts > 0))

    def need_usable(self) -> None:
        """Refuse pools that no tuple can be drawn from."""
        if not self.usable.any():
            raise BadInput(
                f"no anchor of {self.items} items has both a positive and a negative to learn from: mine "
                "with smaller positive_k and negative_k, or from more items."
            )

    @property
    def positive_weights(self) -> Float32Array:
        """The weights +W: manifold similarity of anchor and positive, scaled to a mean of 1."""
        present = self.positives >= 0
        mean = self.positive_similarities[present].mean(dtype=np.float64) if present.any() else 1.0
        return np.asarray(self.positive_similarities / np.float32(max(mean, 1e-30)), dtype=np.float32)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to .npz, or to .parquet as one row per example; whole or not at all."""
        target = Path(path)
        if target.suffix not in (".npz", ".parquet"):
            raise BadInput(f"{target}: pools are saved as .npz or .parquet.")
        if not target.parent.is_dir():
            raise MissingData(f"{target.parent} is not a folder; create it first.")
        with written_whole(target) as file:
            if target.suffix == ".npz":
                np.savez_compressed(file, items=np.array(self.items), **{n: getattr(self, n) for n in ARRAYS})
            else:
                pyarrow, parquet = load_pyarrow()
                table = pyarrow.table(self._long()).replace_schema_metadata({"items": str(self.items)})
                parquet.write_table(table, file)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pools:
        source = Path(path)
        if not source.is_file():
            raise MissingData(f"{source} does not exist.")
        try:
            if source.suffix == ".parquet":
                return cls._from_parquet(source)
            arrays = read_npz(source)
            return cls(int(arrays["items"]), *(arrays[name] for name in ARRAYS))
        except MissingExtra:
            raise
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            raise BadInput(f"{source} does not hold pools saved by foldwalk: {one_line(error)}.") from None

    def _long(self) -> dict[str, AnyArray]:
        """Columns row, anchor, positive (or negative), position, item, similarity.

        An anchor without examples keeps a line of its own, whose item is -1, and so does each width.
        """
        parts = []
        for positive in (True, False):
            ids = self.positives if positive else self.negatives
            values = self.positive_similarities if positive else self.negative_similarities
            rows, places = np.indices(ids.shape).reshape(2, -1)
            kinds = np.full(ids.size, positive)
            parts.append((rows, self.anchors[rows], kinds, places, ids.ravel(), values.ravel()))
        names = ("row", "anchor", "positive", "position", "item", "similarity")
        return {
            name: np.concatenate(columns)
            for name, columns in zip(names, zip(*parts, strict=True), strict=True)
        }

    @classmethod
    def _from_parquet(cls, path: Path) -> Pools:
        table = read_table(path)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        if min(columns["row"].min(initial=0), columns["position"].min(initial=0)) < 0:
            raise BadInput("rows and positions count from 0")
        rows = int(columns["row"].max(initial=-1)) + 1
        width = int(columns["position"].max(initial=-1)) + 1
        need_memory(16 * rows * (width + 1), "it")
        anchors = np.zeros(rows, np.int64)
        anchors[columns["row"]] = columns["anchor"]
        arrays: list[AnyArray] = []
        for positive in (True, False):
            chosen = columns["positive"] == positive
            row, place = columns["row"][chosen], columns["position"][chosen]
            shape = (rows, int(place.max(initial=-1)) + 1)
            ids, values = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
            ids[row, place] = columns["item"][chosen]
            values[row, place] = columns["similarity"][chosen]
            arrays += [ids, values]
        return cls(int(table.schema.metadata[b"items"]), anchors, *arrays)
