"""Labels for ``foldwalk train``: from folders, a field of the metadata, a CSV file, or the source itself."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldwalk.learn.trainer.material import Material

HEADS = ("key", "path")


def labelled(material: Material, labels: Path | None, by: str | None) -> Material:
    """The material with the labels that were asked for; with its own, or its folders, where none were."""
    from foldwalk.core import BadInput
    from foldwalk.index.tuning.labels import FOLDERS, has_folders

    if labels is not None and by is not None:
        raise BadInput("--labels and --by are two kinds of labels; give one of them.")
    if labels is not None:
        return replace(material, labels=_from_file(material, labels))
    if by is not None:
        return replace(material, labels=_by(material, by))
    if material.labels is None and has_folders(material.keys):
        return replace(material, labels=_by(material, FOLDERS))
    return material


def _by(material: Material, by: str) -> list[str | None]:
    from foldwalk.core import BadInput
    from foldwalk.core.json_text import read_json_object
    from foldwalk.index.tuning.labels import FOLDERS, labels_by

    texts = material.metadata
    if by != FOLDERS and texts is None:
        raise BadInput(
            f"{material.place} has no metadata for --by {by}; there are --by {FOLDERS} and --labels FILE.csv."
        )
    known = [read_json_object(text, f"{material.place}, the metadata") for text in texts or ()]
    found = labels_by(material.keys, known, by, material.place)
    if not any(found):
        raise BadInput(f"no item of {material.place} lies in a folder below it; give --labels FILE.csv.")
    return found


def _from_file(material: Material, path: Path) -> list[str | None]:
    """`key,label` in each line; a path of a picture is as good as its key."""
    from foldwalk.core import BadInput, UnknownName

    rows = _rows(path)
    places = {key: row for row, key in enumerate(material.keys)}
    for row, picture in enumerate(material.paths or ()):
        places.setdefault(str(picture), row)
        places.setdefault(str(picture.absolute()), row)
    found: list[str | None] = [None] * len(material)
    for line, key, label in rows:
        if key not in places:
            raise UnknownName(f"--labels {path}, line {line}: there is no item {key!r} in {material.place}.")
        if found[places[key]] not in (None, label):
            raise BadInput(f"--labels {path}, line {line}: {key!r} has another label further up.")
        found[places[key]] = label
    return found


def _rows(path: Path) -> list[tuple[int, str, str]]:
    """Number of the line, key and label. A heading may name the columns."""
    from foldwalk.core import BadInput
    from foldwalk.core.text_files import read_text_file

    reader = csv.reader(io.StringIO(read_text_file(path, "--labels"), newline=""), strict=True)
    found: list[tuple[int, str, str]] = []
    columns = (0, 1)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            names = [cell.lower() for cell in cells]
            if not found and "label" in names and set(names) & set(HEADS):
                columns = (next(i for i, name in enumerate(names) if name in HEADS), names.index("label"))
                continue
            if len(cells) <= max(columns) or not all(cells[column] for column in columns):
                raise BadInput(f"--labels {path}, line {reader.line_num}: it must read key,label.")
            found.append((reader.line_num, cells[columns[0]], cells[columns[1]]))
    except csv.Error as error:
        raise BadInput(f"--labels {path}, line {reader.line_num}: this is no CSV: {error}.") from None
    if not found:
        raise BadInput(f"--labels {path} holds no label.")
    return found
