"""``foldwalk train NAME SOURCE`` or ``--config FILE``: a model of pictures or vectors, and what it gained."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwalk.cli.output import console, print_json, remark, say
from foldwalk.cli.sources import is_index, tell_skipped

if TYPE_CHECKING:
    from foldwalk.learn.trainer.own import Outcome


@dataclass(frozen=True)
class ModelAsked:
    """What was typed; `told` are the seed and the epochs, where they were given."""

    name: str
    source: str | None
    config: str | None
    sections: dict[str, dict[str, Any]]
    told: dict[str, int]
    out: Path
    labels: Path | None
    by: str | None
    root: Path | None
    as_json: bool


def train_model(asked: ModelAsked) -> None:
    """Train, show what came of it, and say what to type next."""
    from foldwalk.core import BadInput

    if asked.source is not None:
        _train_own(asked, asked.source)
    elif asked.config is None:
        raise BadInput(
            f"{asked.name} needs something to train on: foldwalk train {asked.name} SOURCE, or --config FILE."
        )
    elif asked.labels is not None or asked.by is not None:
        raise BadInput(
            "--labels and --by are for a SOURCE; a configuration names data sets, which have theirs."
        )
    else:
        _train_configured(asked, asked.config)


def _sections(asked: ModelAsked) -> dict[str, Any]:
    """What the file says, and above it what was typed."""
    from foldwalk.learn.trainer.config import make_config, over, read_sections

    told: dict[str, Any] = {} if asked.config is None else read_sections(asked.config)
    make_config(told, asked.config or "the configuration")
    if asked.source is not None:
        told.pop("data", None)  # the source is what is trained on
    told = over(told, asked.sections)
    return over(told, {"training": asked.told}) if asked.told else told


def _train_configured(asked: ModelAsked, config: str) -> None:
    from foldwalk.core.targets import check_folder
    from foldwalk.learn.trainer.config import make_config

    chosen = make_config(_sections(asked), config)
    check_folder(asked.out)
    from foldwalk.learn.trainer.job import run_job  # torch, which takes its time
    from foldwalk.learn.trainer.processes import is_main

    with _going_on(asked.out):
        trained = run_job(asked.name, chosen, asked.out, asked.root)
    if not is_main():
        return
    if asked.as_json:
        print_json({"method": asked.name, "config": chosen.model_dump(), "history": trained.history})
        return
    show_history(trained.history)
    remark(f"model: {asked.out / 'model.onnx'}")


def _train_own(asked: ModelAsked, source: str) -> None:
    from foldwalk.cli.train_labels import labelled
    from foldwalk.cli.train_sources import gather
    from foldwalk.core.targets import check_folder
    from foldwalk.learn.trainer.config import make_config

    told = _sections(asked)
    make_config(told)
    check_folder(asked.out)
    material = labelled(gather(source, asked.root), asked.labels, asked.by)
    from foldwalk.cli.train_pictures import write_pictures
    from foldwalk.learn.trainer.own import run_own  # torch, which takes its time
    from foldwalk.learn.trainer.processes import is_main

    with _going_on(asked.out):
        outcome = run_own(asked.name, told, material, asked.out)
        if not is_main():
            return
        pictures = write_pictures(outcome, source, asked.out)
    tell_skipped(outcome.material.skipped)
    if asked.as_json:
        print_json(_as_dict(asked, outcome, pictures))
        return
    _show_outcome(asked, outcome, pictures)


@contextmanager
def _going_on(out: Path) -> Iterator[None]:
    """Progress on a terminal; who stops it is told that it can go on."""
    from foldwalk.core.progress import for_terminal, reporting

    try:
        with reporting(for_terminal()):
            yield
    except KeyboardInterrupt:
        if (out / "checkpoint.pt").is_file():
            remark("stopped; the same command goes on after the last whole epoch.")
        raise


def _as_dict(asked: ModelAsked, outcome: Outcome, pictures: list[str]) -> dict[str, Any]:
    return {
        "method": asked.name,
        "source": asked.source,
        "items": len(outcome.train.features),
        "measured_on": 0 if outcome.test is None else len(outcome.test.features),
        "skipped": [{"path": str(bad.path), "reason": bad.reason} for bad in outcome.material.skipped],
        "config": outcome.config.model_dump(),
        "before": outcome.before,
        "after": outcome.after,
        "history": outcome.trained.history,
        "written": [*outcome.written, *pictures],
    }


def _show_outcome(asked: ModelAsked, outcome: Outcome, pictures: list[str]) -> None:
    from rich.table import Table

    if outcome.before:
        table = Table("", *outcome.before)
        for called, figures in (("before", outcome.before), ("after", outcome.after)):
            table.add_row(called, *(f"{figures[name]:.3f}" for name in outcome.before))
        console().print(table)
        classes = len(set(outcome.test.classes.tolist())) if outcome.test is not None else 0
        tested = 0 if outcome.test is None else len(outcome.test.features)
        say(f"measured on {tested} items of {classes} classes that were held out of training")
    else:
        say("nothing was measured: that takes labels, of four classes at least")
    say(
        f"{asked.out}: {len(outcome.train.features)} items trained on; "
        + ", ".join([*outcome.written, *pictures])
    )
    say(f"next: {next_command(asked, outcome)}")


def next_command(asked: ModelAsked, outcome: Outcome) -> str:
    """What makes an index with what was learned."""
    from foldwalk.learn.trainer.own import OF_PICTURES

    if OF_PICTURES not in outcome.written:
        return shlex.join(["foldwalk", "index", str(asked.out / "features.npz"), "--out", "better.fold"])
    folder, paths = asked.source or "", outcome.material.paths
    if not Path(folder).is_dir() or is_index(folder):
        folder = os.path.commonpath([path.parent for path in paths]) if paths else "PICTURES"
    model = str(asked.out / OF_PICTURES)
    return shlex.join(["foldwalk", "index", folder, "--backbone", model, "--out", "better.fold"])


def show_history(history: list[dict[str, float]]) -> None:
    """The epochs that were measured, or the first and the last of many."""
    from rich.table import Table

    # The rate is in log.csv: without it the table fits a terminal of 80 columns.
    names = [name for name in dict.fromkeys(name for row in history for name in row) if name != "rate"]
    table = Table(*names)
    measured = [row for row in history if len(row) > 3] or history
    for row in measured if len(measured) < 12 else (measured[0], measured[-1]):
        table.add_row(*(_cell(name, row[name]) if name in row else "" for name in names))
    console().print(table)


def _cell(name: str, value: float) -> str:
    return f"{value:.0f}" if name == "epoch" else f"{value:.3f}"
