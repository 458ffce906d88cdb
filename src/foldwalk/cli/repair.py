"""``foldwalk repair``: a damaged index made sound, as far as its files are there."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, remark, say
from foldwalk.cli.sources import IndexPlace


def repair(
    index: IndexPlace,
    drop: Annotated[
        bool, typer.Option("--drop", help="Remove items that cannot be described again from their files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe damaged items again, in a copy that then replaces the index. Exit code 1 if some are left."""
    from foldwalk.cli.sources import tell_some
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index.repair import repair as mend

    with reporting(for_terminal()):
        done = mend(index, drop)
    if as_json:
        print_json({"index": index, **done.as_dict()})
    else:
        for note in done.notes:
            remark(note)
        tell_some("still damaged", [f"{bad.path}: {bad.reason}" for bad in done.left])
        tell_some("removed", done.dropped)
        counts = {
            "described again": len(done.described),
            "thumbnails mended": len(done.thumbnails),
            "removed": len(done.dropped),
            "still damaged": len(done.left),
            "problems left": len(done.problems),
        }
        said = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing to repair"
        say(f"{index}: {said}, {done.items} items")
        if done.left:
            remark("--drop removes what is still damaged")
        if done.kept is not None:
            remark(f"the index as it was is kept at {done.kept}; remove it when all is well")
    if done.problems:
        raise typer.Exit(1)
