"""Plots that need matplotlib, which comes with the extra "plot"."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core import MissingExtra, Ranking
from foldwalk.core.types import Float64Array, IntArray

QUERY_COLOURS = ("#2a9d5c", "#e0a100", "#2b6cb0", "#8e44ad")


def nearest_query(queries: IntArray, ranking: Ranking, n_items: int) -> tuple[IntArray, Float64Array]:
    """For each item the query that scores it highest, and how far up it stands there: 1 first, 0 last.

    Row q of the ranking answers the item queries[q]. Scores must be comparable between the rows, as those of
    a symmetric similarity are.
    """
    q, top = ranking.ids.shape
    scores = np.full((q, n_items), -np.inf)
    place = np.zeros((q, n_items))
    np.put_along_axis(scores, ranking.ids, ranking.scores, axis=1)
    np.put_along_axis(place, ranking.ids, np.broadcast_to(1 - np.arange(top) / n_items, (q, top)), axis=1)
    rows = np.arange(q)
    scores[rows, queries], place[rows, queries] = np.inf, 1.0
    nearest = scores.argmax(axis=0)
    return nearest, place[nearest, np.arange(n_items)]


def ranked_points(
    points: npt.NDArray[np.floating], queries: IntArray, rankings: Mapping[str, Ranking]
) -> bytes:
    """Points of the plane, one panel per ranking, as a PNG (figure 1 of GRAD-Net).

    `queries` are up to four ids; row q of every ranking answers queries[q]. A point has the colour of the
    query that scores it highest, the fainter the further down it stands there; stars are the queries.
    """
    figure = _figure(6 * len(rankings), 3.2, "A scatter plot")
    from matplotlib.colors import to_rgb

    hues = np.array([to_rgb(colour) for colour in QUERY_COLOURS[: len(queries)]])
    for axes, (title, ranking) in zip(
        figure.subplots(1, len(rankings), squeeze=False)[0], rankings.items(), strict=True
    ):
        nearest, place = nearest_query(queries, ranking, len(points))
        strength = 0.1 + 0.9 * place[:, None] ** 2
        colours = strength * hues[nearest] + (1 - strength) * 0.9
        axes.scatter(points[:, 0], points[:, 1], s=9, c=colours, linewidths=0)
        axes.scatter(
            points[queries, 0], points[queries, 1], s=230, marker="*", c=hues, edgecolors="black", zorder=3
        )
        axes.set_title(title, fontsize=13)
        axes.set_aspect("equal")
        axes.set_axis_off()
    return _png(figure)


def training_curves(
    history: Sequence[Mapping[str, float]], measured: Sequence[str] = ("R@1", "MAP@R")
) -> bytes:
    """The loss of each epoch, and beside it those of the figures that were measured, as a PNG."""
    shown = [name for name in measured if any(name in row for row in history)]
    panels = [["loss"]] * any("loss" in row for row in history) + [shown] * bool(shown)
    figure = _figure(5 * max(1, len(panels)), 3.2, "A picture of the curves")
    for axes, names in zip(figure.subplots(1, max(1, len(panels)), squeeze=False)[0], panels, strict=False):
        for name, colour in zip(names, QUERY_COLOURS, strict=False):
            points = [(row["epoch"], row[name]) for row in history if name in row]
            axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3, label=name)
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return _png(figure)


def _figure(width: float, height: float, purpose: str) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", purpose) from None
    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
