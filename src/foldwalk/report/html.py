"""One self-contained page: charts, precision-recall curves, montages and tables. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image

from foldwalk.core import BadInput, targets
from foldwalk.measure.jobs import Details, Measurement
from foldwalk.measure.results import Comparison
from foldwalk.measure.trial import Trial
from foldwalk.report.charts import bars, precision_recall
from foldwalk.report.montage import data_uri, telling_queries, visible_change
from foldwalk.report.rendering import render


def page(kind: str, title: str, introduction: str, sections: Sequence[Markup], run: Mapping[str, Any]) -> str:
    """The whole document. `kind` ("demo", "bench") marks it, so that it is known again by `check_folder`."""
    return render("page.html", kind=kind, title=title, introduction=introduction, sections=sections, run=run)


def check_folder(folder: Path, kind: str) -> None:
    """Refuse a folder that holds anything but an earlier page of that kind, or that cannot be written."""
    targets.check_folder(folder)
    if folder.is_dir() and any(folder.iterdir()) and not _holds_page(folder, kind):
        raise BadInput(f"{folder} is not empty and was not written by foldwalk {kind}; name another folder.")


def _holds_page(folder: Path, kind: str) -> bool:
    index = folder / "index.html"
    mark = f'<meta name="generator" content="foldwalk {kind}">'
    return index.is_file() and mark in index.read_text(encoding="utf-8", errors="replace")[:500]


def comparison_section(comparison: Comparison, trial: Trial | None) -> Markup:
    """Everything about one data set; pictures are shown where the data set has them."""

    def verdict(measurement: Measurement, key: str) -> str:
        return "plain" if measurement is comparison.plain else _kind(comparison.change(measurement, key))

    montages, remark = _montages(comparison, trial)
    charts = {}
    if comparison.plain.failure is None:
        ordered = sorted(comparison.succeeded, key=lambda m: -m.headline)
        rows = [(m.method, m.headline, verdict(m, m.main)) for m in ordered]
        plain_first = sorted(ordered, key=lambda m: m is not comparison.plain)
        curves = {m.method: m.details.precision for m in plain_first if m.details is not None}
        charts = {
            "bars": bars(rows, comparison.plain.headline, f"{comparison.keys[0]} by method"),
            "curves": precision_recall(curves, "precision over recall by method"),
        }
    return render(
        "comparison.html", comparison=comparison, verdict=verdict, montages=montages, remark=remark, **charts
    )


def figure_section(title: str, text: str, image_uri: str) -> Markup:
    """A picture with a few words."""
    return render("figure.html", title=title, text=text, image_uri=image_uri)


def _kind(change: float) -> str:
    return "loss" if change < 0 else "gain" if change > 0 else "same"


def _montages(comparison: Comparison, trial: Trial | None) -> tuple[list[dict[str, Any]], str]:
    """The queries to show, and what to say where there is none."""
    shown = [(m, m.details) for m in comparison.succeeded if m.details is not None]
    if trial is None or comparison.plain.failure is not None or len(shown) < 2:
        return [], ""
    plain = shown[0][1]
    chosen = telling_queries([visible_change(plain, details) for _, details in shown[1:]])
    if not chosen:
        return [], "No method changes the answers of any query."
    if trial.query_picture(chosen[0]) is None:
        return [], "This data set comes without pictures to show."

    @cache
    def uri(item: int) -> str:
        return _uri(trial.picture(item))

    def strip(method: str, details: Details, query: int) -> dict[str, Any]:
        found = [
            {"item": item, "verdict": "right" if right else "wrong", "uri": uri(int(item))}
            for item, right in zip(details.shown[query], details.right[query], strict=True)
            if item >= 0
        ]
        figure = details.per_query[query]
        verdict = _kind(figure - plain.per_query[query])
        return {"method": method, "figure": figure, "verdict": verdict, "found": found}

    return [
        {
            "query": query,
            "uri": _uri(trial.query_picture(query)),
            "strips": [strip(m.method, details, query) for m, details in shown],
        }
        for query in chosen
    ], ""


def _uri(picture: Image.Image | None) -> str:
    return "" if picture is None else data_uri(picture)
