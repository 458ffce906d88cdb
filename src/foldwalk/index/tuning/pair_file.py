"""Pairs in a file, one in a line: `key,key,same` or `key,key,different`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.core.text_files import read_text_file
from foldwalk.index.tuning.by_pairs import Pair

WORDS = {"same": True, "different": False}


def read_pairs(path: Path) -> list[Pair]:
    """Empty lines are passed over; anything else that is no pair is refused."""
    text = read_text_file(path, "--pairs")
    rows = csv.reader(io.StringIO(text), skipinitialspace=True, strict=True)
    found = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            word = row[2].strip().lower() if len(row) == 3 else ""
            if word not in WORDS:
                raise BadInput(
                    f"--pairs {path}, line {rows.line_num}: it must read key,key,same or key,key,different."
                )
            found.append(Pair(row[0], row[1], WORDS[word], rows.line_num))
    except csv.Error as error:
        raise BadInput(f"--pairs {path}, line {rows.line_num}: this is no CSV: {error}.") from None
    if not found:
        raise BadInput(f"--pairs {path} holds no pair.")
    return found
