"""A damaged index made sound: what is lost is described again from its files, in a copy that replaces it.

Nothing is changed in the index itself. It is kept beside the repaired one.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from foldwalk import stores
from foldwalk.index.collection import Index
from foldwalk.index.mending import mend
from foldwalk.index.types import Repair
from foldwalk.index.verify import verify
from foldwalk.stores import Damaged, Store
from foldwalk.stores.registry import PathLike

_ELSE = (
    "nothing was changed; get it back from a backup with  foldwalk restore, or make it anew with  "
    "foldwalk index FOLDER --out NEW.fold."
)


def repair(place: PathLike, drop: bool = False, backbone: Any = None) -> Repair:
    """Describe again what is damaged; with `drop`, remove what cannot be."""
    with closing(_open(place)) as store:
        before = verify(place)
        if before.ok:
            return Repair(before.items)
        with store.copied() as copy:
            with closing(_open(copy.url)) as copied:
                done = mend(copied, drop, backbone)
            done = replace(done, problems=_check(copy.url, rebuild=not done.left))
            if done.items != store.count() - len(done.dropped) or len(done.problems) > len(before.problems):
                raise Damaged(f"{place} cannot be repaired ({before.problems[0].rstrip('.')}); {_ELSE}")
            if done.problems == before.problems and not (done.described or done.thumbnails or done.dropped):
                return done  # nothing could be done
            return replace(done, kept=copy.put_in_place())


def _open(place: PathLike) -> Store:
    try:
        store = stores.open(place)
    except Damaged as error:
        said = str(error).split(";")[0].rstrip(".")
        raise Damaged(f"{place} cannot be read, and so not be repaired ({said}); {_ELSE}") from None
    store.forgive()
    return store


def _check(copy: str, rebuild: bool) -> tuple[str, ...]:
    """What is still wrong; where that is the graph alone, it is made again."""
    problems = verify(copy).problems
    if not problems or not rebuild:
        return problems
    try:
        with Index.open(copy) as index:
            index.rebuild()
    except Damaged:
        return problems
    return verify(copy).problems
