"""Charts as inline SVG, coloured by the page's style sheet so that they follow light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from foldwalk.core.types import Float64Array

COLOURS = 8


def bars(rows: Sequence[tuple[str, float, str]], baseline: float, label: str) -> str:
    """Horizontal bars for values from 0 to 1: (name, value, class of the bar), and a line at the baseline.

    Lengths are percentages of the width, so that text keeps its size on a narrow screen.
    """
    height = 38
    parts = []
    for i, (name, value, kind) in enumerate(rows):
        top = i * height
        parts.append(
            f'<text x="0" y="{top + 14}">{escape(name)}</text>'
            f'<text x="100%" y="{top + 14}" text-anchor="end" class="number">{100 * value:.1f}</text>'
            f'<rect x="0" y="{top + 20}" width="100%" height="10" rx="3" class="track"/>'
            f'<rect x="0" y="{top + 20}" width="{100 * value:.2f}%" height="10" rx="3" class="{kind}"/>'
        )
    total = len(rows) * height
    line = f'<line x1="{100 * baseline:.2f}%" x2="{100 * baseline:.2f}%" y1="18" y2="{total}" class="base"/>'
    return (
        f'<svg class="bars" width="100%" height="{total}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}{line}</svg>"
    )


def precision_recall(curves: Mapping[str, Float64Array], label: str) -> str:
    """Precision over recall, one line per method in the order given; the first, the base line, is dashed."""
    left, top, width, height = 40, 10, 400, 280
    ticks = np.linspace(0, 1, 6)
    grid = "".join(
        f'<line x1="{left}" x2="{left + width}" y1="{_y(t, top, height)}" y2="{_y(t, top, height)}"'
        f' class="grid"/><text x="{left - 6}" y="{_y(t, top, height) + 4}" text-anchor="end">{t:.1f}</text>'
        f'<text x="{left + t * width:.1f}" y="{top + height + 18}" text-anchor="middle">{t:.1f}</text>'
        for t in ticks
    )
    lines = "".join(
        f'<polyline class="curve {_curve_class(i)}" points="{_points(values, left, top, width, height)}">'
        f"<title>{escape(name)}</title></polyline>"
        for i, (name, values) in enumerate(curves.items())
    )
    legend = "".join(
        f'<li><svg width="26" height="10" aria-hidden="true"><line x1="1" x2="25" y1="5" y2="5" '
        f'class="curve {_curve_class(i)}"/></svg>{escape(name)}</li>'
        for i, name in enumerate(curves)
    )
    return (
        f'<svg class="pr" viewBox="0 0 {left + width + 10} {top + height + 42}" role="img" '
        f'aria-label="{escape(label)}">{grid}{lines}'
        f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">recall</text></svg>'
        f'<ul class="legend">{legend}</ul>'
    )


def _curve_class(position: int) -> str:
    if position == 0:
        return "plain"
    return f"c{position - 1}" if position <= COLOURS else "more"


def _y(value: float, top: int, height: int) -> float:
    return round(top + (1 - value) * height, 1)


def _points(values: Float64Array, left: int, top: int, width: int, height: int) -> str:
    recalls = np.linspace(0, 1, len(values))
    return " ".join(
        f"{left + r * width:.1f},{_y(p, top, height)}" for r, p in zip(recalls, values, strict=True)
    )
