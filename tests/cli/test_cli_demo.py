"""``foldwalk demo``: the whole journey."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo")
    result = subprocess.run(
        [sys.executable, "-m", "foldwalk", "demo", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / "foldwalk-demo", json.loads(result.stdout)


def test_writes_the_page_and_the_pictures(built) -> None:
    folder, summary = built
    assert sorted(path.name for path in folder.iterdir()) == ["figure1.png", "index.html", "montage.png"]
    assert sorted(Path(path).name for path in summary["files"]) == [
        "figure1.png",
        "index.html",
        "montage.png",
    ]
    for name in ("figure1.png", "montage.png"):
        with Image.open(folder / name) as picture:
            picture.load()
            assert picture.width > 800
    page = (folder / "index.html").read_text()
    assert "Letters made of points" in page
    assert "<script" not in page


def test_the_walk_beats_plain_search(built) -> None:
    _, summary = built
    value = {(row["dataset"], row["method"]): row["figures"]["mAP"] for row in summary["results"]}
    assert value["digits", "plain"] == pytest.approx(0.66, abs=0.01)
    assert value["digits", "manifold_ranking"] > 0.84
    assert value["pami", "manifold_ranking"] > value["pami", "plain"] + 0.15


def test_runs_again_over_its_own_output_only(foldwalk, built, tmp_path: Path) -> None:
    folder, _ = built
    before = {name: (folder / name).read_bytes() for name in ("figure1.png", "montage.png")}
    again = foldwalk("demo", "--out", folder)
    assert again.returncode == 0, again.stderr
    assert str(folder / "index.html") in again.stdout
    assert {name: (folder / name).read_bytes() for name in before} == before  # same seed, same pictures

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("important")
    refused = foldwalk("demo", "--out", mine)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "is not empty" in refused.stderr
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
