"""What a search answers: for each query the items, best first, with their scores."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from foldwalk.core.array_files import read_npz
from foldwalk.core.checked_arrays import checked_ids, checked_numbers
from foldwalk.core.errors import BadInput, MissingData, MissingExtra, one_line
from foldwalk.core.memory import OF_A_LETTER, need_memory
from foldwalk.core.parquet import load_pyarrow, read_table
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.whole_files import written_whole


def check_top(top: int, most: int) -> int:
    """How many answers were asked for, cut to the `most` there can be."""
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise BadInput(f"top must be a whole number of at least 1, but it is {top!r}.")
    return min(int(top), most)


@dataclass(frozen=True, eq=False)
class Ranking:
    """ids (q, top) int64 and scores (q, top) float32, descending: a total order, no id twice in a row.

    Scores are comparable within a row only; what they mean is the method's affair. `note` says in a sentence
    what the method did and why, where it had a choice.
    """

    ids: IntArray
    scores: Float32Array
    note: str = ""

    def __post_init__(self) -> None:
        ids = np.ascontiguousarray(self.ids, dtype=np.int64)
        scores = np.ascontiguousarray(self.scores, dtype=np.float32)
        if ids.ndim != 2 or ids.shape != scores.shape:
            raise BadInput(f"ids {ids.shape} and scores {scores.shape} of a ranking must be 2-D and alike.")
        if np.isnan(scores).any() or not (scores[:, 1:] <= scores[:, :-1]).all():
            raise BadInput("the scores of a ranking must not rise along a row and must not be NaN.")
        ordered = np.sort(ids, axis=1)
        if ids.size and (ordered[:, 0].min() < 0 or (ordered[:, 1:] == ordered[:, :-1]).any()):
            raise BadInput("a ranking must not hold a negative id, nor the same id twice in one row.")
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return int(self.ids.shape[0])

    def top(self, k: int) -> Ranking:
        """The first k of every row (all of them if there are fewer)."""
        if k < 1:
            raise BadInput(f"top must be at least 1, but it is {k}.")
        return Ranking(self.ids[:, :k], self.scores[:, :k], self.note)

    def as_dict(
        self, keys: Sequence[Any] | None = None, query_keys: Sequence[Any] | None = None
    ) -> dict[Any, list[tuple[Any, float]]]:
        """query -> [(item, score), ...]; `keys` name the gallery's items, `query_keys` the queries."""
        name = keys.__getitem__ if keys is not None else int
        query_name = query_keys.__getitem__ if query_keys is not None else int
        return {
            query_name(q): [(name(int(i)), float(s)) for i, s in zip(row, scores, strict=True)]
            for q, (row, scores) in enumerate(zip(self.ids, self.scores, strict=True))
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to .npz, .parquet or .csv, whole or not at all."""
        target = Path(path)
        writers = {".npz": self._write_npz, ".csv": self._write_csv, ".parquet": self._write_parquet}
        if target.suffix not in writers:
            raise BadInput(f"{target}: a ranking is saved as .npz, .parquet or .csv.")
        if not target.parent.is_dir():
            raise MissingData(f"{target.parent} is not a folder; create it first.")
        with written_whole(target) as file:
            writers[target.suffix](file)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ranking:
        """Read what `save` wrote: .npz, .csv or .parquet."""
        source = Path(path)
        readers = {".npz": cls._read_npz, ".csv": cls._read_csv, ".parquet": cls._read_parquet}
        if source.suffix not in readers:
            raise BadInput(f"{source}: a ranking is read from .npz, .parquet or .csv.")
        if not source.is_file():
            raise MissingData(f"{source} does not exist.")
        try:
            return readers[source.suffix](source)
        except MissingExtra:
            raise
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            raise BadInput(f"{source} is not a ranking saved by foldwalk: {one_line(error)}.") from None

    def _write_npz(self, file: BinaryIO) -> None:
        np.savez_compressed(file, ids=self.ids, scores=self.scores)

    @classmethod
    def _read_npz(cls, path: Path) -> Ranking:
        arrays = read_npz(path, ("ids", "scores"))
        return cls(
            checked_ids(arrays["ids"], "ids", arrays["ids"].shape, 2**63, dtype=np.int64),
            checked_numbers(arrays["scores"], "scores", arrays["scores"].shape, low=-np.inf, high=np.inf),
        )

    def _long_columns(self) -> dict[str, npt.NDArray[Any]]:
        q, width = self.ids.shape
        return {
            "query": np.repeat(np.arange(q), width),
            "position": np.tile(np.arange(width), q),
            "id": self.ids.ravel(),
            "score": self.scores.ravel(),
        }

    @classmethod
    def _from_long(cls, columns: dict[str, npt.NDArray[Any]]) -> Ranking:
        query, position = columns["query"].astype(np.int64), columns["position"].astype(np.int64)
        if not len(query):
            raise BadInput("it has no rows")
        order = np.lexsort((position, query))
        count = max(1, int(query.max()) + 1)
        width = max(1, len(query) // count)
        expected = np.divmod(np.arange(len(query)), width)
        if not np.array_equal(np.stack([query[order], position[order]]), np.stack(expected)):
            raise BadInput("queries and positions do not count up without a gap")
        return cls(
            columns["id"].astype(np.int64)[order].reshape(count, width),
            columns["score"].astype(np.float32)[order].reshape(count, width),
        )

    def _write_csv(self, file: BinaryIO) -> None:
        columns = self._long_columns()
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
        text.detach()  # flushed; the file stays open

    @classmethod
    def _read_csv(cls, path: Path) -> Ranking:
        need_memory(OF_A_LETTER * path.stat().st_size, str(path))
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        kinds = {"query": np.int64, "position": np.int64, "id": np.int64, "score": np.float32}
        return cls._from_long({name: np.array([r[name] for r in rows], kind) for name, kind in kinds.items()})

    def _write_parquet(self, file: BinaryIO) -> None:
        pyarrow, parquet = load_pyarrow()
        parquet.write_table(pyarrow.table(self._long_columns()), file)

    @classmethod
    def _read_parquet(cls, path: Path) -> Ranking:
        table = read_table(path)
        return cls._from_long({name: table[name].to_numpy() for name in table.column_names})
