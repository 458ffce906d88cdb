"""What the index notes of files against the files themselves. Nothing is changed."""

from __future__ import annotations

import os
import stat

from foldwalk.core.digests import digest_of_file
from foldwalk.core.progress import task
from foldwalk.index.files.disk import is_there
from foldwalk.index.files.roots import Roots, rest_below
from foldwalk.index.types import FileCheck
from foldwalk.stores import Store
from foldwalk.stores.types import Source


def compare_files(store: Store) -> FileCheck:
    roots = Roots(store)
    away = [root.folder for root in roots.known if not is_there(root.folder)]
    found = FileCheck(away=away)
    with task("comparing files", total=len(roots.sources), unit="files") as advance:
        for source in roots.sources:
            if not any(rest_below(source.source, folder) for folder in away):
                _compare(source, found)
            advance(1)
    return found


def _compare(source: Source, found: FileCheck) -> None:
    try:
        status = os.stat(source.source)
        if not stat.S_ISREG(status.st_mode) or not os.access(source.source, os.R_OK):
            found.unreadable.append(source.key)
        elif status.st_size != source.size or _is_another(source, status.st_mtime_ns):
            found.changed.append(source.key)
    except (FileNotFoundError, NotADirectoryError):
        found.missing.append(source.key)
    except OSError:
        found.unreadable.append(source.key)


def _is_another(source: Source, mtime: int) -> bool:
    """Whether the content differs, as far as the time of change leaves that open."""
    if mtime == source.mtime:
        return False
    return source.digest is None or digest_of_file(source.source) != source.digest
