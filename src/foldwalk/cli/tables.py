"""Measurements as a table on the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from foldwalk.measure.jobs import Measurement
    from foldwalk.measure.results import Comparison

_WIDTH_OF_THE_REST, _WIDTH_OF_A_FIGURE, _FEWEST_FIGURES = 52, 15, 3


def comparison_table(comparison: Comparison, width: int) -> Table:
    """Figures in per cent with the change against plain search: gains green, losses red.

    As many figures as fit into the width, the headline first.
    """
    from rich.markup import escape
    from rich.table import Table

    keys = comparison.keys[: max(_FEWEST_FIGURES, (width - _WIDTH_OF_THE_REST) // _WIDTH_OF_A_FIGURE)]
    more = "; all figures with --json" if len(keys) < len(comparison.keys) else ""
    table = Table(
        title=escape(comparison.dataset),
        caption=escape(comparison.caption + more),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("method", no_wrap=True)
    for key in keys:
        table.add_column(escape(key), justify="right", min_width=len("100.00"))
    for cost in ("wall s", "CPU s", "peak MB"):
        table.add_column(cost, justify="right")
    for m in comparison.all:
        if m.failure is None:
            costs = (_number(m.wall_seconds), _number(m.cpu_seconds), _number(m.peak_mb))
            table.add_row(f"[bold]{escape(m.method)}", *(_figure(comparison, m, k) for k in keys), *costs)
    for m in comparison.all:
        if m.failure is not None:
            table.add_row(f"[bold]{escape(m.method)}", "[red]failed")
    return table


def failures(comparison: Comparison) -> list[str]:
    """Why methods failed, one line each: a table's cell is too narrow for it."""
    return [f"{m.method} failed on {m.dataset}: {m.failure}" for m in comparison.all if m.failure is not None]


def _figure(comparison: Comparison, measurement: Measurement, key: str) -> str:
    value = f"{100 * measurement.figures[key]:.2f}"
    change = comparison.change(measurement, key)
    if math.isnan(change):
        return value
    colour = "red" if change < 0 else "green" if change > 0 else "default"
    return f"{value} [{colour}]{change:+.2f}[/]"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"
