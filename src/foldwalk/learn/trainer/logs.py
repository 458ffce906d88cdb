"""What training writes down: log.csv, and TensorBoard's events where that package is installed."""

from __future__ import annotations

import csv
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from foldwalk.core.whole_files import written_whole


class Log:
    """Rows of figures; log.csv is written whole after each, so that a stopped run leaves a readable file."""

    def __init__(self, folder: Path | None, rows: list[dict[str, float]]) -> None:
        self.folder, self.rows = folder, list(rows)
        self.board: Any = None

    def __enter__(self) -> Self:
        if self.folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                pass
            else:
                self.board = SummaryWriter(str(self.folder))
            self._write_csv()
        return self

    def write(self, row: dict[str, float]) -> None:
        self.rows.append(row)
        if self.folder is not None:
            self._write_csv()
        if self.board is not None:
            for name, value in row.items():
                self.board.add_scalar(name, value, int(row["epoch"]))

    def _write_csv(self) -> None:
        assert self.folder is not None
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = ",".join(names) + "\n"
        for row in self.rows:
            text += ",".join(f"{row[name]:.6g}" if name in row else "" for name in names) + "\n"
        with written_whole(self.folder / "log.csv") as file:
            file.write(text.encode())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.board is not None:
            self.board.close()


def in_short(rows: list[dict[str, float]]) -> str:
    """The last epoch, loss and recall of a history, for a line that is looked at."""
    last = {name: value for row in rows for name, value in row.items()}
    shown = [f"epoch {last['epoch']:.0f}"] if last.get("epoch") else []
    shown += [f"loss {last['loss']:.3g}"] if "loss" in last else []
    shown += [f"R@1 {100 * last['R@1']:.1f} %"] if "R@1" in last else []
    return ", ".join(shown)


def read_log(path: Path) -> list[dict[str, float]]:
    """The rows of a log.csv; figures that were not measured in an epoch are left out."""
    with path.open(newline="") as file:
        return [{k: float(v) for k, v in row.items() if v} for row in csv.DictReader(file)]
