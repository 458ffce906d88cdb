"""The page: escaped, self-contained, honest about losses and failures."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core import BadInput
from foldwalk.datasets import Dataset
from foldwalk.evaluate import LeaveOneOut
from foldwalk.measure.jobs import Details, Measurement
from foldwalk.measure.results import compare
from foldwalk.measure.trial import Trial
from foldwalk.report.html import check_folder, comparison_section, figure_section, page

EVIL = '"><script>alert(1)</script>&'
N = 12


class Tags(HTMLParser):
    """Every tag with its attributes, and whether what was opened is closed."""

    VOID = frozenset({"meta", "img", "line", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs) -> None:
        self.found.append((tag, dict(attrs)))


def details(per_query: list[float]) -> Details:
    shown = np.tile(np.arange(10), (N, 1))
    return Details(np.linspace(1, 0, 101), np.array(per_query), shown, shown % 2 == 0)


def row(method: str, value: float, per_query: list[float], **more) -> Measurement:
    return Measurement(
        more.pop("dataset", "toy"),
        method,
        more.pop("parameters", {}),
        False,
        protocol="leave-one-out",
        n_gallery=N,
        n_queries=N,
        depth=N - 1,
        main="mAP",
        figures={"mAP": value, "R@1": 0.5},
        wall_seconds=0.1,
        cpu_seconds=0.2,
        peak_mb=3.0,
        details=details(per_query),
    )


@pytest.fixture
def trial() -> Trial:
    labels = np.arange(N) % 2
    x = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    pixels = np.full((N, 8, 8), 99, dtype=np.uint8)
    dataset = Dataset("toy", "pixels", x, None, LeaveOneOut(labels), pixels=pixels, labels=labels)
    return Trial(dataset, x, None, dataset.protocol)


def test_everything_from_outside_is_escaped(trial: Trial) -> None:
    rows = [
        row("plain", 0.5, [0.5] * N, dataset=EVIL),
        row(EVIL, 0.6, [0.6] * N, dataset=EVIL, parameters={EVIL: EVIL}),
        Measurement(EVIL, "broken" + EVIL, {}, False, failure=EVIL),
    ]
    sections = [comparison_section(c, trial) for c in compare(rows)]
    sections.append(figure_section(EVIL, EVIL, EVIL))
    text = page(EVIL, EVIL, EVIL, [*sections, EVIL], {EVIL: EVIL})
    assert "<script" not in text
    tags = Tags(text)
    assert "script" not in {tag for tag, _ in tags.found}
    assert tags.open == []


def test_nothing_is_fetched(trial: Trial) -> None:
    comparisons = compare([row("plain", 0.5, [0.5] * N), row("other", 0.6, [0.6] * N)])
    text = page("bench", "t", "i", [comparison_section(c, trial) for c in comparisons], {})
    tags = Tags(text).found
    assert {tag for tag, _ in tags} & {"link", "iframe", "object", "script"} == set()
    sources = [attributes["src"] for _, attributes in tags if "src" in attributes]
    assert len(sources) > 20
    assert all(source and source.startswith("data:image/") for source in sources)
    assert "url(" not in text
    assert "@import" not in text


def test_gains_losses_and_failures_are_told_apart(trial: Trial) -> None:
    rows = [
        row("plain", 0.5, [0.5] * N),
        row("winner", 0.75, [0.75] * N),
        row("loser", 0.25, [0.25] * N),
        Measurement("toy", "broken", {}, False, failure="out of memory"),
    ]
    (comparison,) = compare(rows)
    text = comparison_section(comparison, trial)
    assert '<td class="gain">75.00 <span>+25.00</span></td>' in text
    assert '<td class="loss">25.00 <span>-25.00</span></td>' in text
    assert "failed: out of memory" in text
    assert 'width="25.00%" height="10" rx="3" class="loss"' in text
    assert 'x1="50.00%"' in text  # the base line


def test_montage_frames(trial: Trial) -> None:
    (comparison,) = compare([row("plain", 0.5, [0.5] * N), row("other", 0.6, [0.9] + [0.5] * (N - 1))])
    images = [a for tag, a in Tags(comparison_section(comparison, trial)).found if tag == "img"]
    kinds = [a.get("class") for a in images]
    # One telling query: its own picture, then ten for each of two methods, every second one right.
    assert kinds == [None, *["right", "wrong"] * 10]
    assert images[0]["alt"] == "query 0"


def test_a_set_without_pictures_says_so(trial: Trial) -> None:
    bare = Dataset("toy", "features", trial.gallery, None, trial.protocol)
    (comparison,) = compare([row("plain", 0.5, [0.5] * N), row("other", 0.6, [0.6] * N)])
    text = comparison_section(comparison, Trial(bare, trial.gallery, None, trial.protocol))
    assert "<img" not in text
    assert "without pictures" in text


def test_if_plain_fails_the_rest_is_still_shown(trial: Trial) -> None:
    rows = [Measurement("toy", "plain", {}, False, failure="gone"), row("other", 0.6, [0.6] * N)]
    (comparison,) = compare(rows)
    text = comparison_section(comparison, trial)
    assert "failed: gone" in text
    assert "60.00" in text


def test_check_folder(tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "report", "bench")
    assert list(tmp_path.iterdir()) == []  # only looked
    former = tmp_path / "former"
    former.mkdir()
    check_folder(former, "bench")
    (former / "index.html").write_text(page("bench", "t", "i", [], {}))
    check_folder(former, "bench")
    with pytest.raises(BadInput, match="not written by foldwalk demo"):
        check_folder(former, "demo")

    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "index.html").write_text("<html>mine</html>")
    with pytest.raises(BadInput, match="is not empty"):
        check_folder(foreign, "bench")
    with pytest.raises(BadInput, match="is a file"):
        check_folder(foreign / "index.html", "bench")
    with pytest.raises(BadInput, match="cannot be created"):
        check_folder(foreign / "index.html" / "below", "bench")


def test_pictures_are_decoded_from_the_data_set(trial: Trial) -> None:
    picture = trial.picture(3)
    assert isinstance(picture, Image.Image)
    assert picture.size == (8, 8)
