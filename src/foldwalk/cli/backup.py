"""``foldwalk backup``: a copy of an index, made while others write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace

Force = Annotated[bool, typer.Option("--force", help="Replace an index that is there; never another folder.")]


def backup(
    index: IndexPlace,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, which is an index itself.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy an index as it is now, whole or not at all, and check the copy; others may write meanwhile."""
    from contextlib import closing

    from foldwalk import stores
    from foldwalk.index.backup import backup as copy

    with closing(stores.open(index)) as store:
        made = copy(store, out, force)
    if as_json:
        print_json({"index": index, **made.as_dict()})
    else:
        say(f"{out}: {made.items} items copied and checked, {made.bytes / 1e6:.1f} MB")
