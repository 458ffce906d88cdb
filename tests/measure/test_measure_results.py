"""Files whole or not at all, JSON without NaN, CSV with every figure."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from foldwalk.core.json_text import to_json
from foldwalk.core.whole_files import write_whole
from foldwalk.measure.jobs import Measurement
from foldwalk.measure.results import compare, describe_run, write_csv, write_json


def measurement(dataset: str, method: str, figures: dict[str, float], **more) -> Measurement:
    return Measurement(
        dataset,
        method,
        {},
        False,
        protocol="leave-one-out",
        n_gallery=5,
        n_queries=5,
        depth=4,
        main="mAP",
        figures=figures,
        **more,
    )


ROWS = [
    measurement("a", "plain", {"R@1": 0.5, "mAP": 0.25}, wall_seconds=1.5),
    measurement("a", "better", {"R@1": 0.4, "mAP": 0.5}),
    Measurement("a", "broken", {"k": 3}, False, failure="out of memory"),
    measurement("b", "plain", {"mAP": 0.75, "CMC@1": 1.0}),
]


def test_write_whole_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "f"
    write_whole(target, b"old")
    with pytest.raises(TypeError):
        write_whole(target, "text, not bytes")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert target.read_bytes() == b"old"


def test_json_has_null_for_nan() -> None:
    assert json.loads(to_json({"a": [float("nan"), 1.5], "b": (float("inf"),)})) == {
        "a": [None, 1.5],
        "b": [None],
    }


def test_compare_puts_each_row_next_to_plain() -> None:
    first, second = compare(ROWS)
    assert (first.dataset, second.dataset) == ("a", "b")
    assert [m.method for m in first.all] == ["plain", "better", "broken"]
    assert first.keys == ("mAP", "R@1")
    assert first.change(ROWS[1], "mAP") == 25.0
    assert first.change(ROWS[1], "R@1") == -10.0
    assert "judged over the first 4" in first.caption


def test_csv_and_json_hold_every_row(tmp_path: Path) -> None:
    write_csv(tmp_path / "results.csv", ROWS)
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["plain", "better", "broken", "plain"]
    assert (rows[0]["mAP"], rows[0]["CMC@1"], rows[3]["CMC@1"]) == ("0.25", "", "1.0")
    assert (rows[0]["wall_seconds"], rows[1]["wall_seconds"]) == ("1.5", "")
    assert (rows[2]["failure"], rows[2]["parameters"]) == ("out of memory", "k=3")

    write_json(tmp_path / "results.json", ROWS, describe_run("foldwalk bench"))
    saved = json.loads((tmp_path / "results.json").read_text())
    assert saved["run"]["command"] == "foldwalk bench"
    assert {"cpu", "cores", "python", "numpy", "faiss-cpu", "numba", "date", "peak_mb"} <= set(saved["run"])
    assert saved["results"][1]["figures"] == {"R@1": 0.4, "mAP": 0.5}
    assert saved["results"][2]["failure"] == "out of memory"
    assert "details" not in saved["results"][0]
