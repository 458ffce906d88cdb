"""The folders an index took its pictures from, and the prefix that the keys of each have.

The pictures of the first folder are called by their paths below it. Those of any other get a prefix, the
folder's name made unique: camera2/IMG_0001.JPG. Indexes of older formats know no folders; there the folder
is what is left of a source without its key.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from foldwalk.core.errors import BadInput
from foldwalk.index.files.disk import is_there, same_content
from foldwalk.stores import Store
from foldwalk.stores.checks import check_key
from foldwalk.stores.types import Source

LOOKED_AT = 16  # pictures of a folder that is gone, to tell whether another one is it


def rest_below(path: str, folder: str) -> str | None:
    """What follows `folder/` in a path; empty for the folder itself, None for what lies elsewhere."""
    if path == folder:
        return ""
    top = folder.rstrip("/") + "/"
    return path[len(top) :] if path.startswith(top) else None


@dataclass(frozen=True)
class Root:
    """A folder as it is noted, where it really lies, and what the keys of its pictures begin with."""

    prefix: str
    folder: str
    real: str

    @classmethod
    def of(cls, prefix: str, folder: str) -> Root:
        return cls(prefix, folder, os.path.realpath(folder))


class Roots:
    """The folders and files that an index knows, as it is now."""

    def __init__(self, store: Store) -> None:
        self.known = [Root.of(prefix, folder) for prefix, folder in store.roots().items()]
        self.sources = [
            Source(s.key, os.path.normpath(s.source), s.size, s.mtime, s.digest) for s in store.sources()
        ]
        self.keys = {source.source: source.key for source in self.sources}

    def holding(self, real: str) -> tuple[Root, str] | None:
        """The deepest folder that a path lies in, and the path below it."""
        found = [(root, rest) for root in self.known if (rest := rest_below(real, root.real)) is not None]
        return max(found, key=lambda pair: len(pair[0].real), default=None)

    def of_folders(self, folders: Sequence[str]) -> dict[str, str]:
        """The known folders that hold any of these, by prefix."""
        holding = (r for r in self.known if any(rest_below(f, r.folder) is not None for f in folders))
        return {root.prefix: root.folder for root in holding}

    def inside(self, folder: str) -> Iterator[tuple[Source, str]]:
        """The files of items below a folder as it is noted, and their paths below it."""
        for source in self.sources:
            rest = rest_below(source.source, folder)
            if rest:
                yield source, rest

    def moved_to(self, folder: str) -> Root | None:
        """The known folder that is gone and lies here now: most of some of its pictures do."""
        for root in self.known:
            if is_there(root.folder):
                continue
            inside = list(self.inside(root.folder))
            sample = inside[:: max(1, len(inside) // LOOKED_AT)]
            if 2 * sum(same_content(source, f"{folder}/{rest}") for source, rest in sample) > len(sample):
                return root
        return None

    def proposals(self, folder: str) -> Iterator[Root]:
        """What a folder that is not known may be called, the best first; a prefix may prove to be taken."""
        bases = self._bases()
        for base, _ in bases.most_common():
            rest = rest_below(os.path.realpath(folder), os.path.realpath(base))
            if rest == "":
                yield Root.of("", base)
            elif rest is not None and _may_begin_keys(rest):
                yield Root.of(f"{rest}/", os.path.join(base, rest))
            if rest is not None:
                break
        else:
            if not bases and not self.known:
                yield Root.of("", folder)
        for prefix in self.free_prefixes(os.path.basename(folder)):
            yield Root.of(prefix, folder)

    def free_prefixes(self, name: str) -> Iterator[str]:
        """name/, name-2/, name-3/, ..., those that no key begins with."""
        used = {source.key.split("/")[0] for source in self.sources}
        used |= {root.prefix.split("/")[0] for root in self.known}
        name = name if _may_begin_keys(name) else "folder"
        for number in count(1):
            prefix = name if number == 1 else f"{name}-{number}"
            if prefix not in used:
                yield f"{prefix}/"

    def _bases(self) -> Counter[str]:
        """Of sources outside all known folders: what they are without their keys, with how many there are."""
        outside = (source for source in self.sources if not self._is_inside(source))
        ends = ((source.source, f"/{source.key}") for source in outside)
        return Counter(path.removesuffix(key) or "/" for path, key in ends if path.endswith(key))

    def _is_inside(self, source: Source) -> bool:
        return any(rest_below(source.source, root.folder) is not None for root in self.known)


def _may_begin_keys(prefix: str) -> bool:
    try:
        return check_key(prefix) == prefix
    except BadInput:  # letters that no key may have, or none at all
        return False
