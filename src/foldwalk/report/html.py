"""One self-contained page: charts, precision-recall curves, montages and tables. Nothing is fetched."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from PIL import Image

from foldwalk.core import BadInput
from foldwalk.measure.jobs import Details, Measurement
from foldwalk.measure.results import Comparison
from foldwalk.measure.trial import Trial
from foldwalk.report.charts import bars, precision_recall
from foldwalk.report.montage import data_uri, telling_queries, visible_change

_STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")


def page(kind: str, title: str, introduction: str, sections: Sequence[str], run: Mapping[str, Any]) -> str:
    """The whole document. `kind` ("demo", "bench") marks it, so that it is known again by `check_folder`.

    `title` and `introduction` are text, `sections` HTML made in this module.
    """
    facts = "".join(f"<dt>{escape(str(k))}</dt><dd>{escape(str(v))}</dd>" for k, v in run.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{_mark(kind)}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f"<header><h1>{escape(title)}</h1><p>{escape(introduction)}</p></header>"
        f"{''.join(sections)}"
        f"<footer><h2>How this was measured</h2><dl>{facts}</dl></footer></main></body></html>\n"
    )


def check_folder(folder: Path, kind: str) -> None:
    """Refuse a folder that holds anything but an earlier page of that kind, or that cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not _holds_page(folder, kind):
        raise BadInput(f"{folder} is not empty and was not written by foldwalk {kind}; name another folder.")
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise BadInput(f"{folder} cannot be created: {existing} is not a folder that can be written to.")


def _mark(kind: str) -> str:
    return f'<meta name="generator" content="foldwalk {escape(kind)}">'


def _holds_page(folder: Path, kind: str) -> bool:
    index = folder / "index.html"
    return index.is_file() and _mark(kind) in index.read_text(encoding="utf-8", errors="replace")[:500]


def comparison_section(comparison: Comparison, trial: Trial | None) -> str:
    """Everything about one data set; pictures are shown where the data set has them."""
    return (
        f"<section><h2>{escape(comparison.dataset)}</h2>"
        f'<p class="caption">{escape(comparison.caption)}.</p>'
        f"{_charts(comparison)}{_table(comparison)}{_montages(comparison, trial)}</section>"
    )


def figure_section(title: str, text: str, image_uri: str) -> str:
    """A picture with a few words."""
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(text)}</p>"
        f'<img class="figure" alt="{escape(title)}" src="{escape(image_uri)}"></section>'
    )


def _charts(comparison: Comparison) -> str:
    if comparison.plain.failure is not None:
        return ""
    ordered = sorted(comparison.succeeded, key=lambda m: -m.headline)
    rows = [(m.method, m.headline, _verdict(comparison, m, m.main)) for m in ordered]
    key = comparison.keys[0]
    curves = {
        m.method: m.details.precision
        for m in (comparison.plain, *(m for m in ordered if m is not comparison.plain))
        if m.details is not None
    }
    return (
        '<div class="charts">'
        f"<figure><figcaption>{escape(key)} (per cent); the line is plain search</figcaption>"
        f"{bars(rows, comparison.plain.headline, f'{key} by method')}</figure>"
        f"<figure><figcaption>precision over recall</figcaption>"
        f"{precision_recall(curves, 'precision over recall by method')}</figure></div>"
    )


def _verdict(comparison: Comparison, measurement: Measurement, key: str) -> str:
    if measurement is comparison.plain:
        return "plain"
    return _kind(comparison.change(measurement, key))


def _kind(change: float) -> str:
    return "loss" if change < 0 else "gain" if change > 0 else "same"


def _table(comparison: Comparison) -> str:
    keys = comparison.keys
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    body = "".join(_row(comparison, m) for m in comparison.all)
    return (
        '<div class="scroll"><table><thead><tr><th>method</th>'
        f"{head}<th>wall s</th><th>CPU s</th><th>peak MB</th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(comparison: Comparison, measurement: Measurement) -> str:
    parameters = ", ".join(f"{k} = {v}" for k, v in measurement.parameters.items())
    name = escape(measurement.method) + (f"<small>{escape(parameters)}</small>" if parameters else "")
    if measurement.failure is not None:
        width = len(comparison.keys) + 3
        return (
            f'<tr><th>{name}</th><td colspan="{width}" class="failed">failed: {escape(measurement.failure)}'
            "</td></tr>"
        )
    cells = "".join(_figure_cell(comparison, measurement, key) for key in comparison.keys)
    costs = (measurement.wall_seconds, measurement.cpu_seconds, measurement.peak_mb)
    return f"<tr><th>{name}</th>{cells}{''.join(f'<td>{_number(cost)}</td>' for cost in costs)}</tr>"


def _figure_cell(comparison: Comparison, measurement: Measurement, key: str) -> str:
    value = f"{100 * measurement.figures[key]:.2f}"
    change = comparison.change(measurement, key)
    difference = "" if math.isnan(change) else f" <span>{change:+.2f}</span>"
    return f'<td class="{_verdict(comparison, measurement, key)}">{value}{difference}</td>'


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _montages(comparison: Comparison, trial: Trial | None) -> str:
    shown = [(m, m.details) for m in comparison.succeeded if m.details is not None]
    if trial is None or comparison.plain.failure is not None or len(shown) < 2:
        return ""
    plain = shown[0][1]
    chosen = telling_queries([visible_change(plain, details) for _, details in shown[1:]])
    if not chosen:
        return "<p>No method changes the answers of any query.</p>"
    if trial.query_picture(chosen[0]) is None:
        return "<p>This data set comes without pictures to show.</p>"
    uri = cache(lambda item: _uri(trial.picture(item)))
    return (
        "<h3>Where the methods differ most from plain search, and where one loses</h3>"
        '<p class="caption">The first ten of each ranking: green frames are right, red dashed ones wrong. '
        "The number is the query's own headline figure.</p>"
        + "".join(_montage(shown, query, _uri(trial.query_picture(query)), uri) for query in chosen)
    )


def _montage(
    shown: Sequence[tuple[Measurement, Details]], query: int, query_uri: str, uri: Callable[[int], str]
) -> str:
    plain = shown[0][1].per_query[query]
    strips = "".join(
        f'<div class="strip"><span class="who {_kind(details.per_query[query] - plain)}">{escape(m.method)}'
        f"<b>{100 * details.per_query[query]:.1f}</b></span>"
        f'<span class="found">{_found(details, query, uri)}</span></div>'
        for m, details in shown
    )
    return (
        f'<figure class="montage"><div class="query"><img width="88" height="88" alt="query {query}" '
        f'src="{query_uri}"><figcaption>query {query}</figcaption></div><div>{strips}</div></figure>'
    )


def _found(details: Details, query: int, uri: Callable[[int], str]) -> str:
    return "".join(
        f'<img class="{"right" if right else "wrong"}" width="56" height="56" '
        f'alt="item {item}, {"right" if right else "wrong"}" src="{uri(int(item))}">'
        for item, right in zip(details.shown[query], details.right[query], strict=True)
        if item >= 0
    )


def _uri(picture: Image.Image | None) -> str:
    return "" if picture is None else data_uri(picture)
