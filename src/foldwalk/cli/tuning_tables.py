"""What tuning found, as tables on the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from foldwalk.index.tuning.types import Outlook, Scored, Tuned

SHOWN = (1, 2, 3, 5, 10, 20, 30, 40, 50, 60)


def candidates_table(tuned: Tuned) -> Table:
    """Figures in per cent with their standard errors; what is used and what wins are marked."""
    table = Table(
        title=escape(f"by {tuned.by}"),
        caption=escape(caption(tuned)),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("candidate", no_wrap=True)
    for name in tuned.best.figures:
        table.add_column(escape(name), justify="right")
    table.add_column("chosen by", justify="right")
    table.add_column("s", justify="right")
    for row in tuned.candidates:
        mark = " (best)" if row.name == tuned.winner else " (used)" if row.name == tuned.used else ""
        if row.failure is not None:
            table.add_row(f"[bold]{escape(row.name)}", "[red]failed")
            continue
        figures = [figure(row, name) for name in tuned.best.figures]
        chosen = f"{row.folds} of {tuned.folds}" if row.folds else ""
        table.add_row(f"[bold]{escape(row.name)}[/]{mark}", *figures, chosen, f"{row.seconds:.1f}")
    return table


def figure(row: Scored, name: str) -> str:
    error = row.errors[name]
    return f"{100 * row.figures[name]:.1f}" + ("" if math.isnan(error) else f" ± {100 * error:.1f}")


def caption(tuned: Tuned) -> str:
    """How the figures came about."""
    return (
        f"{tuned.labelled} of {tuned.items} items are labelled, in {tuned.groups} groups; {tuned.asked} were "
        f"asked, judged over the first {tuned.depth} of each ranking; ± one standard error over groups"
    )


def mutuality_table(outlook: Outlook) -> Table:
    table = Table(
        title=f"groups of about {outlook.group_size + 1}" if outlook.group_size else "no groups to be seen",
        caption="the share of the k nearest that are mutual, beyond chance",
        title_justify="left",
        caption_justify="left",
    )
    sizes = [k for k in SHOWN if k <= len(outlook.mutuality)]
    for name in ("k", *map(str, sizes)):
        table.add_column(name, justify="right")
    table.add_row("mutual", *(f"{100 * outlook.mutuality[k - 1]:.0f}" for k in sizes))
    return table


def agreement_table(outlook: Outlook) -> Table:
    table = Table("view", "first ten in common with raw", title="views", title_justify="left")
    for name, share in outlook.agreement.items():
        table.add_row(escape(name), f"{100 * share:.0f} %")
    return table
