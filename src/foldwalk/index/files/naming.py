"""Files to keys: the key a file had, or its path below the folder that was named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.index.files.finding import Found, Named, Names
from foldwalk.index.files.roots import Root, Roots, rest_below
from foldwalk.index.types import Skipped
from foldwalk.stores import Writer
from foldwalk.stores.types import Known


def name_pictures(finds: Sequence[Found], roots: Roots, writer: Writer) -> Names:
    names = Names()
    for found in finds:
        if found.root is not None:
            _name_below(found.root, found, names)
        elif found.folder is not None:
            _name_folder(found.folder, found.paths, roots, writer, names)
        else:
            _name_loose(found, roots, writer, names)
    return names


def is_of(known: Known, source: str) -> bool:
    """Whether what is noted of an item is noted of this file."""
    if known.source is None:
        return False
    if os.path.normpath(known.source) == source:
        return True
    try:
        return os.path.samefile(known.source, source)
    except (OSError, ValueError):
        return False


def _name_below(root: Path, found: Found, names: Names) -> None:
    for path in found.paths:
        source = os.path.abspath(path)
        key = rest_below(source, os.path.abspath(root))
        if key is None:
            names.skipped.append(Skipped(str(path), f"{path} does not lie below {root}."))
        else:
            names.files.append(Named(path, key, source, key))
    if found.folder is not None:
        names.folders.append(os.path.abspath(found.folder))


def _name_folder(folder: Path, paths: Sequence[Path], roots: Roots, writer: Writer, names: Names) -> None:
    """Those in a known folder as they are called there; a folder that is not known becomes so."""
    real = os.path.realpath(folder)
    below = {path: path.relative_to(folder).as_posix() for path in paths}
    if roots.holding(real) is None:
        strangers = [rest for rest in below.values() if roots.holding(f"{real}/{rest}") is None]
        new = _new_root(os.path.abspath(folder), strangers, roots, writer)
        roots.known.append(new)
        names.new.append(new)
        if new.prefix and strangers:
            names.notes.append(f"the keys of {folder} begin with {new.prefix}")
    names.folders += _noted(real, roots)
    for path, rest in below.items():
        key, source = _held(f"{real}/{rest}", roots) or (rest, os.path.abspath(path))
        names.files.append(Named(path, key, source, rest))


def _noted(real: str, roots: Roots) -> list[str]:
    """A folder and the known ones in it, as they are noted."""
    held = roots.holding(real)
    here = [] if held is None else [os.path.join(held[0].folder, held[1]).rstrip("/")]
    return here + [root.folder for root in roots.known if rest_below(root.real, real)]


def _held(real: str, roots: Roots) -> tuple[str, str] | None:
    """The key and the noted path of a file in a known folder."""
    held = roots.holding(real)
    if held is None:
        return None
    root, rest = held
    source = os.path.join(root.folder, rest)
    return roots.keys.get(source, root.prefix + rest), source


def _new_root(folder: str, files: Sequence[str], roots: Roots, writer: Writer) -> Root:
    """The first proposal whose keys belong to no other file."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise BadInput(f"the path {folder!r} is no proper text; rename the folder.") from None
    taken = {root.prefix for root in roots.known}
    return next(
        root
        for root in roots.proposals(folder)
        if root.prefix not in taken and not _is_taken(root, files, roots, writer)
    )


def _is_taken(root: Root, files: Iterable[str], roots: Roots, writer: Writer) -> bool:
    sources = {rest: os.path.join(root.folder, rest) for rest in files}
    wanted = {root.prefix + rest: path for rest, path in sources.items() if path not in roots.keys}
    return any(not is_of(known, wanted[key]) for key, known in writer.known(wanted).items())


def _name_loose(found: Found, roots: Roots, writer: Writer, names: Names) -> None:
    """Files of no folder are called as they were given, one by itself by its name."""
    for path in found.paths:
        called = path.name if found.alone else path.as_posix()
        held = _held(os.path.join(os.path.realpath(path.parent), path.name), roots)
        if held is None:
            source = os.path.abspath(path)
            held = roots.keys.get(source) or _free_key(path, called, source, writer), source
            if held[0] != called and source not in roots.keys:
                names.notes.append(f"the key {called} is that of another picture; {path} has {held[0]}")
        names.files.append(Named(path, *held, called))


def _free_key(path: Path, called: str, source: str, writer: Writer) -> str:
    """What it is called, or its name below that of its folder where another file is called so."""
    folder = os.path.basename(os.path.dirname(source)) or "folder"
    numbered = (f"{folder}-{number}/{path.name}" for number in count(2))
    proposals = chain([called, f"{folder}/{path.name}"], numbered)
    return next(key for key in proposals if all(is_of(k, source) for k in writer.known([key]).values()))
