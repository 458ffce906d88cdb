"""Charts as inline SVG, coloured by the page's style sheet so that they follow light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from foldwalk.core.types import Float64Array
from foldwalk.report.rendering import render

COLOURS = 8
LEFT, TOP, WIDTH, HEIGHT = 40, 10, 400, 280


def bars(rows: Sequence[tuple[str, float, str]], baseline: float, label: str) -> Markup:
    """Horizontal bars for values from 0 to 1: (name, value, class of the bar), and a line at the baseline.

    Lengths are percentages of the width, so that text keeps its size on a narrow screen.
    """
    return render("bars.svg", rows=rows, baseline=baseline, label=label)


def precision_recall(curves: Mapping[str, Float64Array], label: str) -> Markup:
    """Precision over recall, one line per method in the order given; the first, the base line, is dashed."""
    drawn = [
        {"name": name, "kind": _curve_class(position), "points": _points(values)}
        for position, (name, values) in enumerate(curves.items())
    ]
    frame = {"left": LEFT, "top": TOP, "width": WIDTH, "height": HEIGHT, "x": _x, "y": _y}
    return render("precision_recall.html", curves=drawn, label=label, **frame)


def _curve_class(position: int) -> str:
    if position == 0:
        return "plain"
    return f"c{position - 1}" if position <= COLOURS else "more"


def _x(recall: float) -> float:
    return round(LEFT + recall * WIDTH, 1)


def _y(precision: float) -> float:
    return round(TOP + (1 - precision) * HEIGHT, 1)


def _points(values: Float64Array) -> str:
    recalls = np.linspace(0, 1, len(values)).tolist()
    return " ".join(f"{_x(r)},{_y(p)}" for r, p in zip(recalls, values.tolist(), strict=True))
