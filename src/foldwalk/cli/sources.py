"""What the commands of the index share: opening it, adding a source, reading metadata."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
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
Method = Annotated[
    str | None,
    typer.Option(help="Name of the method (foldwalk methods); without it the one that the index prefers."),
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
    from foldwalk.stores.folder.connecting import FILE

    return "://" in source or source.rstrip("/").endswith(".fold") or (Path(source) / FILE).is_file()


def check_source(source: Path) -> None:
    from foldwalk.core import MissingData

    if not source.exists():
        raise MissingData(f"{source} does not exist; name a folder of pictures, or vectors.")


def add_source(index: Index, source: Path, metadata: Path | None, prune: bool = False) -> AddReport:
    """Add pictures or vectors, and say on stderr what was left out."""
    from foldwalk.core import BadInput
    from foldwalk.core.progress import for_terminal, reporting

    known = None if metadata is None else read_metadata(metadata)
    with reporting(for_terminal()):
        if not is_vectors(source):
            report = index.add_images(source, metadata=known, prune=prune)
        elif known is not None or prune:
            option = "--metadata" if known is not None else "--prune"
            raise BadInput(
                f"{option} goes with pictures; {source} holds vectors with all that is known of them."
            )
        else:
            report = index.import_file(source)
    tell(report)
    return report


def tell(report: AddReport) -> None:
    """What a reader should know of each picture, on stderr."""
    for note in report.notes:
        remark(note)
    tell_some("moved", [f"{pair.old} is now {pair.new}" for pair in report.moved])
    tell_some("removed" if report.removed else "vanished", report.vanished)
    if report.vanished and not report.removed:
        remark("vanished pictures stay in the index; --prune or foldwalk sync removes them")
    tell_skipped(report.skipped)


def tell_skipped(skipped: Sequence[Skipped | Unreadable]) -> None:
    """The files that could not be read, each with the reason."""
    tell_some("left out", [f"{bad.path}: {bad.reason}" for bad in skipped])


def tell_some(what: str, lines: Sequence[str], say: Callable[[str], None] = remark) -> None:
    for line in lines[:MOST_SHOWN]:
        say(f"{what}: {line}")
    if len(lines) > MOST_SHOWN:
        say(f"{what}: {len(lines) - MOST_SHOWN} more; --json lists them all")


def summary(index: Index, report: AddReport) -> str:
    counts = {
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "moved": len(report.moved),
        "removed": report.removed,
        "vanished": 0 if report.removed else len(report.vanished),
        "left out": len(report.skipped),
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count or word == "added")
    return f"{index.store.place}: {said}, {len(index)} items in all, {report.seconds:.1f} s"


def read_metadata(path: Path) -> dict[str, dict[str, Any]]:
    from foldwalk.core import BadInput
    from foldwalk.core.json_text import read_json
    from foldwalk.core.text_files import read_text_file

    text = read_text_file(path, "--metadata")
    if path.suffix == ".csv":
        return _read_csv(path, text)
    found = read_json(text, f"--metadata {path}")
    if not isinstance(found, dict):
        raise BadInput(f"--metadata {path} must hold one object: {{key: {{field: value}}}}.")
    return found


def _read_csv(path: Path, text: str) -> dict[str, dict[str, Any]]:
    from foldwalk.cli.params import parse_value
    from foldwalk.core import BadInput

    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise BadInput(f"--metadata {path} cannot be read: {error}.") from None
    if rows and "key" not in rows[0]:
        raise BadInput(f"--metadata {path} has no column called key.")
    return {
        row["key"]: {name: parse_value(text) for name, text in row.items() if name and name != "key" and text}
        for row in rows
    }
