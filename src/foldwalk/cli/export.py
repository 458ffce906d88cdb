"""``foldwalk export``: an index as one file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, Force, print_json, say
from foldwalk.cli.sources import IndexPlace


def export(
    index: IndexPlace,
    out: Annotated[Path, typer.Argument(help="Where it goes: .npz or .parquet.")],
    neighbors: Annotated[bool, typer.Option(help="Write the nearest neighbours as well.")] = True,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write vectors, keys, metadata and neighbours to a file; foldwalk index reads it back."""
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.targets import check_file
    from foldwalk.index import Index

    check_file(out, force, "--force")
    with Index.open(index) as collection, reporting(for_terminal()):
        collection.export(out, neighbors, overwrite=force)
        items = len(collection)
    if as_json:
        print_json({"index": index, "out": str(out), "items": items, "neighbors": neighbors})
    else:
        say(f"{out}: {items} items")
