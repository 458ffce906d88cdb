"""What the commands of the index share: opening it, adding a source, reading metadata."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foldwalk.cli.output import remark

if TYPE_CHECKING:
    from foldwalk.descriptors import Skipped as Unreadable
    from foldwalk.index import AddReport, Index, Skipped

IndexPlace = Annotated[
    str, typer.Argument(metavar="X.fold", help="The index: a folder, or a URL; see foldwalk stores.")
]
SourcePath = Annotated[
    Path, typer.Argument(help="A folder of pictures, one picture, or vectors: .npy, .npz, .parquet.")
]
MetadataPath = Annotated[
    Path | None,
    typer.Option(help="What is known of the items: .json {key: {field: value}}, or .csv with a column key."),
]
MOST_SHOWN = 10


def is_vectors(source: Path) -> bool:
    from foldwalk.core.vector_files import SUFFIXES

    return source.suffix in SUFFIXES and not source.is_dir()


def is_index(source: str) -> bool:
    """A URL or a folder with a catalogue; what is called X.fold counts, so that errors speak of an index."""
    from foldwalk.stores.folder.catalog import FILE

    return "://" in source or source.rstrip("/").endswith(".fold") or (Path(source) / FILE).is_file()


def check_source(source: Path) -> None:
    from foldwalk.core import MissingData

    if not source.exists():
        raise MissingData(f"{source} does not exist; name a folder of pictures, or vectors.")


def add_source(index: Index, source: Path, metadata: Path | None) -> AddReport:
    """Add pictures or vectors, and say on stderr what was left out."""
    from foldwalk.core import BadInput
    from foldwalk.core.progress import for_terminal, reporting

    known = None if metadata is None else read_metadata(metadata)
    with reporting(for_terminal()):
        if not is_vectors(source):
            report = index.add_images(source, metadata=known)
        elif known is not None:
            raise BadInput("--metadata goes with pictures; vectors carry theirs in the same file.")
        else:
            report = index.import_file(source)
    tell_skipped(report.skipped)
    return report


def tell_skipped(skipped: Sequence[Skipped | Unreadable]) -> None:
    """The files that could not be read, each with the reason."""
    for bad in skipped[:MOST_SHOWN]:
        remark(f"left out: {bad.path}: {bad.reason}")
    if len(skipped) > MOST_SHOWN:
        remark(f"left out: {len(skipped) - MOST_SHOWN} more; --json lists them all")


def summary(index: Index, report: AddReport) -> str:
    counts = {
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "left out": len(report.skipped),
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count or word == "added")
    return f"{index.store.place}: {said}, {len(index)} items in all, {report.seconds:.1f} s"


def read_metadata(path: Path) -> dict[str, dict[str, Any]]:
    from foldwalk.core import BadInput, MissingData

    if not path.is_file():
        raise MissingData(f"--metadata {path} does not exist or is not a file.")
    try:
        if path.suffix == ".csv":
            return _read_csv(path)
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, csv.Error) as error:  # JSON and Unicode errors are ValueErrors
        raise BadInput(f"--metadata {path} cannot be read: {error}.") from None
    if not isinstance(found, dict):
        raise BadInput(f"--metadata {path} must hold one object: {{key: {{field: value}}}}.")
    return found


def _read_csv(path: Path) -> dict[str, dict[str, Any]]:
    from foldwalk.cli.params import parse_value
    from foldwalk.core import BadInput

    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and "key" not in rows[0]:
        raise BadInput(f"--metadata {path} has no column called key.")
    return {
        row["key"]: {name: parse_value(text) for name, text in row.items() if name and name != "key" and text}
        for row in rows
    }
