"""``foldwalk verify``: whether everything on disk is as it was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace

if TYPE_CHECKING:
    from foldwalk.index import Verification

_WORDS = {
    "missing": "files missing",
    "changed": "files changed",
    "unreadable": "files not readable",
    "away": "folders not there",
}


def verify(
    index: IndexPlace,
    files: Annotated[
        bool, typer.Option("--files", help="Look as well for the files that the items were read from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check vectors, counts, thumbnails and graph; change nothing. Exit code 1 where something is wrong."""
    from foldwalk.cli.sources import tell_some
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index.verify import verify as check

    with reporting(for_terminal()):
        found = check(index, files)
    if as_json:
        print_json({"index": index, **found.as_dict()})
    else:
        for problem in found.problems:
            say(problem)
        for what, names in found.files.as_dict().items() if found.files else ():
            tell_some(_WORDS[what], names, say)
        read = f"{found.bytes / 1e6:.1f} MB read, {found.bytes_per_second / 1e6:.0f} MB a second"
        say(f"{index}: {found.items} items in {found.blocks} runs of vectors, {_state(found)} ({read})")
    if not found.ok:
        raise typer.Exit(1)


def _state(found: Verification) -> str:
    if found.ok:
        return "all is well"
    counts = {"problems": len(found.problems)}
    if found.files is not None:
        counts |= {_WORDS[what]: len(names) for what, names in found.files.as_dict().items()}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
