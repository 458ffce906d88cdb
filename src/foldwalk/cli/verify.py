"""``foldwalk verify``: whether everything on disk is as it was committed."""

from __future__ import annotations

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace


def verify(index: IndexPlace, as_json: AsJson = False) -> None:
    """Check vectors, counts, thumbnails and graph; change nothing. Exit code 1 where something is wrong."""
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index.verify import verify as check

    with reporting(for_terminal()):
        found = check(index)
    if as_json:
        print_json({"index": index, **found.as_dict()})
    else:
        for problem in found.problems:
            say(problem)
        state = "all is well" if found.ok else f"{len(found.problems)} problems"
        say(f"{index}: {found.items} items in {found.blocks} runs of vectors, {state}")
    if not found.ok:
        raise typer.Exit(1)
