"""``foldwalk remove``: items out of an index."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace


def remove(
    index: IndexPlace,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Keys of the items.")],
    as_json: AsJson = False,
) -> None:
    """Remove items by their keys: all of them, or none if one is unknown."""
    from foldwalk.index import Index

    with Index.open(index) as collection:
        removed = collection.remove(keys)
        if as_json:
            print_json({"index": index, "removed": removed, "items": len(collection)})
        else:
            say(f"{index}: {removed} removed, {len(collection)} items left")
