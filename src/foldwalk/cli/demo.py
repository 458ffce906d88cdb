"""``foldwalk demo``: plain search against the walk, on data that comes with the install."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, command_line, console, print_json, remark, say


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page and the pictures.")] = Path("foldwalk-demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")] = 0,
    as_json: AsJson = False,
) -> None:
    """See what ranking along the graph does, on digits and on letters made of points."""
    from foldwalk.cli.tables import comparison_table
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.measure.results import compare
    from foldwalk.report.demo import build

    with reporting(for_terminal()):
        built = build(out, seed, command_line())
    for sentence in built.left_out:
        remark(f"left out: {sentence}")
    if as_json:
        print_json(
            {
                "files": [str(path) for path in built.files],
                "left_out": built.left_out,
                "results": [m.as_dict() for m in built.measurements],
            }
        )
        return
    screen = console()
    for comparison in compare(built.measurements):
        screen.print(comparison_table(comparison, screen.width))
    say("Look at " + ", ".join(str(path) for path in reversed(built.files)))
