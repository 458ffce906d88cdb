"""``foldwalk restore``: an index back from its backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.backup import Force
from foldwalk.cli.output import AsJson, print_json, say


def restore(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="What foldwalk backup made.")],
    out: Annotated[Path, typer.Argument(metavar="X.fold", help="Where the index goes.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy a backup to where the index was, whole or not at all; the backup stays as it is."""
    from foldwalk.index.backup import restore as copy

    made = copy(source, out, force)
    if as_json:
        print_json({"backup": str(source), **made.as_dict()})
    else:
        say(f"{out}: {made.items} items restored and checked, {made.bytes / 1e6:.1f} MB")
