"""``foldwalk sync``: an index brought up to date with the folders its pictures came from."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, print_json_line, say
from foldwalk.cli.sources import IndexPlace


def sync(
    index: IndexPlace,
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[FOLDER]...", help="All that it knows, if none is named.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Remove items also where a folder holds no pictures any more.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and take up what happens in the folders, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add what is new, follow what was moved, remove what is gone. A folder that is missing loses nothing."""
    from foldwalk.cli.sources import summary, tell
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index
    from foldwalk.index.watch import watch as watching

    # Ctrl-C is the way to end a watch; what was committed stays.
    until_stopped = suppress(KeyboardInterrupt) if watch else nullcontext()
    with Index.open(index) as collection, reporting(for_terminal()), until_stopped:
        named = folders or None
        for report in watching(collection, named, force) if watch else [collection.sync(named, force)]:
            if not as_json:
                tell(report)
                say(summary(collection, report))
            else:
                answer = {"index": index, "items": len(collection), **report.as_dict()}
                (print_json_line if watch else print_json)(answer)
