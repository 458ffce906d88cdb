"""The whole journey on data that comes with the install: handwritten digits, and letters made of points."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import MissingExtra, Ranking
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.core.whole_files import write_whole
from foldwalk.measure.jobs import Details, Job, Measurement, measure_here, warm_up
from foldwalk.measure.results import BASELINE, compare, describe_run
from foldwalk.measure.trial import Trial, open_trial
from foldwalk.report.html import check_folder, comparison_section, figure_section, page
from foldwalk.report.montage import Strip, sheet, visible_change
from foldwalk.report.plots import ranked_points

DATASETS = ("digits", "pami")
DIFFUSION = "manifold_ranking"
# The letters are long thin chains of points: relevance has to walk far along them.
PARAMETERS: dict[tuple[str, str], dict[str, Any]] = {("pami", DIFFUSION): {"k": 15, "alpha": 0.99}}
QUICK_METHODS = (BASELINE, DIFFUSION, "alpha_qe", "k_reciprocal", "cas")


@dataclass(frozen=True, eq=False)
class Demo:
    """What was measured, which files were written, and what had to be left out."""

    measurements: list[Measurement]
    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def build(folder: Path, seed: int, command: str) -> Demo:
    """Run the demo and write index.html, figure1.png and montage.png into the folder."""
    check_folder(folder, "demo")
    trials = {name: open_trial(datasets.load(name)) for name in DATASETS}
    methods = [name for name in QUICK_METHODS if name in rerank.names()]
    demo = Demo(_measure(trials, methods, seed))
    folder.mkdir(parents=True, exist_ok=True)
    sections = []

    try:
        figure = _letters(trials["pami"], seed)
    except MissingExtra as error:
        demo.left_out.append(str(error))
    else:
        _write(demo, folder / "figure1.png", figure)
        sections.append(
            figure_section(
                "Letters made of points",
                "Four queries, the stars. A point has the colour of the query that scores it highest, the "
                "fainter the further down it stands. Distance alone runs across the letters; a walk stays on "
                "them.",
                f"data:image/png;base64,{base64.b64encode(figure).decode('ascii')}",
            )
        )
    by_method = {m.method: m.details for m in demo.measurements if m.dataset == "digits"}
    plain, diffused = by_method[BASELINE], by_method[DIFFUSION]
    if plain is not None and diffused is not None:
        _write(demo, folder / "montage.png", _montage(trials["digits"], plain, diffused))

    sections += [comparison_section(c, trials[c.dataset]) for c in compare(demo.measurements)]
    text = page(
        "demo",
        "foldwalk: a demonstration",
        "Plain search ranks by similarity alone. The other methods rank by how the pictures hang together as "
        "a collection, without labels. Every figure stands next to plain search; what does worse is red.",
        sections,
        describe_run(command),
    )
    _write(demo, folder / "index.html", text.encode(errors="backslashreplace"))
    return demo


def _write(demo: Demo, path: Path, content: bytes) -> None:
    write_whole(path, content)
    demo.files.append(path)


def _measure(trials: dict[str, Trial], methods: list[str], seed: int) -> list[Measurement]:
    measurements = []
    with task("ranking", total=len(trials) * len(methods)) as advance:
        for name, trial in trials.items():
            for method in methods:
                job = Job(name, method, PARAMETERS.get((name, method), {}), seed=seed)
                warm_up(job, trial)
                measured = measure_here(job, trial)
                # In one process a method can live on memory that the one before it left: no honest figure.
                measurements.append(replace(measured, peak_mb=float("nan")))
                advance(1)
    return measurements


def _letters(trial: Trial, seed: int) -> bytes:
    """Figure 1 of GRAD-Net: the four letters as plain search and as diffusion see them."""
    queries = _one_per_class(trial.dataset.labels, seed)
    rankings = {
        title: _rows(method, trial, queries, seed)
        for title, method in (("Euclidean distance", BASELINE), ("diffusion", DIFFUSION))
    }
    return ranked_points(trial.gallery, queries, rankings)


def _one_per_class(labels: Any, seed: int) -> IntArray:
    rng = generator(seed, "demo queries")
    return np.array([rng.choice(np.flatnonzero(labels == label)) for label in np.unique(labels)])


def _rows(method: str, trial: Trial, queries: IntArray, seed: int) -> Ranking:
    parameters = {"metric": trial.dataset.metric, **PARAMETERS.get((trial.dataset.name, method), {})}
    ranker = rerank.create(method, seed=seed, **parameters).fit(trial.gallery)
    ranking = ranker.rank_self(top=len(trial.gallery))
    return Ranking(ranking.ids[queries], ranking.scores[queries])


def _montage(trial: Trial, plain: Details, diffused: Details) -> bytes:
    """The digit that gains most, with its first ten before and after."""
    query = int(visible_change(plain, diffused).argmax())
    strips = [
        Strip(
            f"{name}: average precision {100 * details.per_query[query]:.0f} %",
            [trial.picture(int(item)) for item in details.shown[query]],
            details.right[query].tolist(),
        )
        for name, details in (("plain search", plain), ("manifold ranking", diffused))
    ]
    buffer = io.BytesIO()
    sheet(trial.query_picture(query), strips).save(buffer, "PNG")
    return buffer.getvalue()
