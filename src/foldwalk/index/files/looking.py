"""Named pictures as they lie on the disk, ready to be compared with what is noted of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.index.files.disk import same_content
from foldwalk.index.files.finding import Metadata, Named, Names
from foldwalk.index.files.naming import is_of
from foldwalk.index.types import Skipped
from foldwalk.stores import Record, Writer
from foldwalk.stores.checks import check_key, check_keys, metadata_texts
from foldwalk.stores.types import Known, Source


@dataclass(frozen=True)
class File:
    """Where a picture is read, and what is to be noted of it."""

    path: Path
    record: Record


def look_at(names: Names, writer: Writer, metadata: Metadata | None) -> tuple[list[File], list[Skipped]]:
    """Every file with its key, size and time; those that cannot be named or looked at are skipped."""
    given = names.metadata(metadata)
    good: list[tuple[Named, os.stat_result]] = []
    skipped = list(names.skipped)
    for file in names.files:
        try:
            check_key(file.key)
            file.source.encode()
            good.append((file, file.path.stat()))
        except OSError as error:
            skipped.append(Skipped(str(file.path), f"it cannot be opened: {error.strerror or error}."))
        except UnicodeEncodeError:
            skipped.append(Skipped(ascii(str(file.path))[1:-1], "its path is no proper text."))
        except BadInput as error:
            skipped.append(Skipped(ascii(str(file.path))[1:-1], str(error)))
    keys = check_keys(file.key for file, _ in good)
    known = writer.known(keys)
    files = []
    for (file, stat), text in zip(good, metadata_texts(keys, given), strict=True):
        record = Record(file.key, text, file.source, stat.st_size, stat.st_mtime_ns)
        holder = known.get(file.key)
        if holder is None or is_of(holder, file.source) or _same_content(file, holder):
            files.append(File(file.path, record))
        else:
            skipped.append(Skipped(str(file.path), _taken(file.key, holder.source)))
    return files, skipped


def _same_content(file: Named, holder: Known) -> bool:
    if holder.source is None:
        return False
    noted = Source(file.key, holder.source, holder.size, holder.mtime, holder.digest)
    return same_content(noted, str(file.path))


def _taken(key: str, by: str | None) -> str:
    return f"its key {key!r} is taken by {by or 'an item of no file'}; rename the file or its folder."
