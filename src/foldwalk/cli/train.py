"""``foldwalk train``: metric learning by a small TOML file, or features for the vectors of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.datasets import Root
from foldwalk.cli.output import AsJson, console, print_json, remark


def train(
    name: Annotated[str, typer.Argument(help="A training; `foldwalk trainings` lists them.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for log.csv and the model; a training on an index can do without."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Argument(
            help="For trainings on vectors: an index, the name of a data set, or .npy, .npz, .parquet."
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="For the others: a .toml file, or the name of one that comes along.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="A parameter of a training on vectors, as k=15.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Instead of the file's seed.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Instead of the file's epochs.")] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Go on from a model trained on vectors: its file, its folder, or an index."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="On vectors: begin anew, and replace what was trained before.")
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Train a head or the last blocks of a network, or a graph network on the vectors of a collection.

    What is trained by a configuration is a backbone: foldwalk index photos/ --backbone OUT/model.onnx. What
    gradnet learns are features: those of an index stay with it, for foldwalk search --method gradnet, and
    foldwalk describe gives those of new pictures. A training that was stopped goes on when the same command
    is run again.
    """
    from foldwalk.cli.params import parse_params
    from foldwalk.cli.train_vectors import Asked, train_vectors
    from foldwalk.core import BadInput, MissingExtra
    from foldwalk.learn import trainings
    from foldwalk.learn.training import VectorTraining

    training = trainings.training_class(name)
    try:
        if issubclass(training, VectorTraining):
            if source is None or config is not None:
                raise BadInput(
                    f"{name} trains on an index, a data set or vectors: foldwalk train {name} SOURCE."
                )
            params = parse_params(param or []) | ({} if epochs is None else {"epochs": epochs})
            train_vectors(training, Asked(source, out, params, seed, root, start, force, as_json))
            return
        if config is None or source is not None or param:
            raise BadInput(f"{name} is told by a file what to train on: foldwalk train {name} --config FILE.")
        if start is not None or force:
            raise BadInput(f"{name} goes on in its folder; --start and --force are for trainings on vectors.")
        if out is None:
            raise BadInput(f"{name} needs --out OUT, the folder for log.csv and the model.")
        _train_model(name, config, out, seed, epochs, root, as_json)
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "learn", "foldwalk train") from None


def _train_model(
    name: str,
    config: str,
    out: Path,
    seed: int | None,
    epochs: int | None,
    root: Path | None,
    as_json: bool,
) -> None:
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.targets import check_folder
    from foldwalk.learn.trainer.config import read_config
    from foldwalk.learn.trainer.processes import is_main

    chosen = read_config(config)
    check_folder(out)
    from foldwalk.learn.trainer.job import run_job  # torch, which takes its time

    given = {option: value for option, value in (("seed", seed), ("epochs", epochs)) if value is not None}
    chosen = chosen.model_copy(update={"training": chosen.training.model_copy(update=given)})
    try:
        with reporting(for_terminal()):
            trained = run_job(name, chosen, out, root)
    except KeyboardInterrupt:
        if (out / "checkpoint.pt").is_file():
            remark("stopped; the same command goes on after the last whole epoch.")
        raise
    if not is_main():
        return
    if as_json:
        print_json({"method": name, "config": chosen.model_dump(), "history": trained.history})
        return
    _show(trained.history)
    remark(f"model: {out / 'model.onnx'}")


def _show(history: list[dict[str, float]]) -> None:
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
