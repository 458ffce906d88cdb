"""Charts: what is drawn where."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from foldwalk.core import MissingExtra, Ranking
from foldwalk.report import plots
from foldwalk.report.charts import bars, precision_recall


def test_bars_are_as_long_as_their_values() -> None:
    svg = ElementTree.fromstring(bars([("a<b", 0.8, "gain"), ("plain", 0.5, "plain")], 0.5, "mAP"))
    drawn = [r for r in svg.iter("rect") if r.get("class") != "track"]
    assert [r.get("width") for r in drawn] == ["80.00%", "50.00%"]
    assert [r.get("class") for r in drawn] == ["gain", "plain"]
    (line,) = svg.iter("line")
    assert line.get("x1") == "50.00%"
    assert [t.text for t in svg.iter("text")] == ["a<b", "80.0", "plain", "50.0"]


def test_curves_lie_where_they_should() -> None:
    names = [f"m{i}" for i in range(11)]
    text = precision_recall({name: np.array([1.0, 0.5, 0.0]) for name in names}, "curves")
    chart = ElementTree.fromstring(text[: text.index("<ul")])
    lines = list(chart.iter("polyline"))
    assert lines[0].get("points") == "40.0,10.0 240.0,150.0 440.0,290.0"
    classes = [line.get("class") for line in lines]
    assert classes == ["curve plain", *[f"curve c{i}" for i in range(8)], "curve more", "curve more"]
    assert re.findall(r"</svg>(m\d+)</li>", text) == names


def test_nearest_query_by_score_and_its_rank() -> None:
    queries = np.array([0, 3])
    ranking = Ranking(np.array([[1, 2, 3], [2, 1, 0]]), np.array([[0.9, 0.8, 0.1], [0.85, 0.2, 0.1]]))
    nearest, place = plots.nearest_query(queries, ranking, 5)
    # Item 1 scores .9 against .2, item 2 .8 against .85; the queries are their own; nobody lists item 4.
    assert nearest[:4].tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(place, [1, 1, 1, 1, 0])
    assert plots.nearest_query(queries[:1], Ranking(ranking.ids[:1], ranking.scores[:1]), 5)[1].tolist() == [
        1,
        1,
        0.8,
        0.6,
        0,
    ]


def test_ranked_points_is_a_picture_and_the_same_each_time() -> None:
    pytest.importorskip("matplotlib")
    points = np.random.default_rng(0).random((20, 2))
    ranking = Ranking(np.array([np.arange(20), np.arange(20)[::-1]]), np.tile(np.linspace(1, 0, 20), (2, 1)))
    drawn = [
        plots.ranked_points(points, np.array([0, 19]), {"one": ranking, "two": ranking}) for _ in range(2)
    ]
    assert drawn[0].startswith(b"\x89PNG")
    assert drawn[0] == drawn[1]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib.backends.backend_agg", "matplotlib.colors", "matplotlib.figure"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtra, match=r"foldwalk\[plot\]"):
        plots.ranked_points(np.zeros((1, 2)), np.array([0]), {})
