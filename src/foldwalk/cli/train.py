"""``foldwalk train``: metric learning by a small TOML file, and GRAD-Net on the vectors as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.datasets import Root
from foldwalk.cli.output import AsJson, console, print_json, remark
from foldwalk.cli.train_gradnet import train_gradnet

METHODS = ("gradnet", "mom", "edms", "cgml", "pml")


def train(
    method: Annotated[
        str, typer.Argument(help="gradnet, mom (both without labels), edms, cgml, or pml: any other loss.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for log.csv and the model.")],
    source: Annotated[
        str | None,
        typer.Argument(help="For gradnet: the name of a data set, or vectors: .npy, .npz, .parquet."),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="For the others: a .toml file, or the name of one that comes along.")
    ] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of gradnet, as k=15.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Instead of the file's seed.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Instead of the file's epochs.")] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Train a head or the last blocks of a network, or a graph network on the vectors of a collection.

    What mom, edms, cgml and pml write is a backbone: foldwalk index photos/ --backbone OUT/model.onnx. Run
    again with the same folder, they go on. What gradnet writes are the features of the collection's own items
    and what unseen queries need: foldwalk.learn.GradNet.load(OUT/model.safetensors).
    """
    from foldwalk.core import BadInput, MissingExtra, UnknownName
    from foldwalk.core.progress import for_terminal, reporting

    if method not in METHODS:
        raise UnknownName(f"there is no training {method!r}; there are {', '.join(METHODS)}.")
    if method == "gradnet":
        if source is None or config is not None:
            raise BadInput(
                "gradnet trains on a data set or vectors: foldwalk train gradnet SOURCE --out OUT."
            )
        train_gradnet(source, out, param or [], seed or 0, epochs, root, as_json)
        return
    if config is None or source is not None or param:
        raise BadInput(f"{method} is told by a file what to train on: foldwalk train {method} --config FILE.")
    try:
        from foldwalk.learn.trainer.config import read_config
        from foldwalk.learn.trainer.job import run_job
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "learn", "foldwalk train") from None

    chosen = read_config(config)
    given = {name: value for name, value in (("seed", seed), ("epochs", epochs)) if value is not None}
    chosen = chosen.model_copy(update={"training": chosen.training.model_copy(update=given)})
    try:
        with reporting(for_terminal()):
            trained = run_job(method, chosen, out, root)  # type: ignore[arg-type]
    except KeyboardInterrupt:
        if (out / "checkpoint.pt").is_file():
            remark("stopped; the same command goes on after the last whole epoch.")
        raise
    if as_json:
        print_json({"method": method, "config": chosen.model_dump(), "history": trained.history})
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
