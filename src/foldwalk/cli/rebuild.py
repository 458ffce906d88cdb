"""``foldwalk rebuild``: graph and views from scratch, and no gaps left by removed items."""

from __future__ import annotations

import time

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace


def rebuild(index: IndexPlace, as_json: AsJson = False) -> None:
    """Build the graph and learn views anew, and give back the space of removed items; info says when."""
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index

    began = time.perf_counter()
    with Index.open(index) as collection, reporting(for_terminal()):
        collection.rebuild()
        items = len(collection)
    seconds = time.perf_counter() - began
    if as_json:
        print_json({"index": index, "items": items, "seconds": round(seconds, 3)})
    else:
        say(f"{index}: rebuilt, {items} items, {seconds:.1f} s")
