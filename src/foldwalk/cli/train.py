"""``foldwalk train``: better vectors from pictures, vectors or an index; or by a small TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.datasets import Root
from foldwalk.cli.output import AsJson


def train(
    name: Annotated[str, typer.Argument(help="A training; `foldwalk trainings` lists them.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the model, log.csv and more; gradnet on an index can do without."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Argument(
            help="What to train on: a folder of pictures, an index, a data set, or .npy, .npz, .parquet."
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            help="Settings: a .toml file, or one that comes along, by name. Without SOURCE its section data "
            "says what to train on."
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels of the items of SOURCE: .csv of key,label or path,label.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help='Labels from a field of the metadata, or from "folders"; the default, if any.'),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="A setting, as training.epochs=5 or mom.margin=.4; of gradnet, as k=15."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Instead of the seed of the settings.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Instead of the epochs of the settings.")] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Of gradnet: go on from a model: its file, its folder, or an index."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Of gradnet: begin anew, and replace what was trained before.")
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Learn better vectors: foldwalk train mom photos/ --out better/ needs no labels.

    pml, cgml and edms learn from classes: one folder per class, --labels or --by. What comes out is a
    backbone, for foldwalk index photos/ --backbone OUT/model.onnx; of vectors, OUT/features.npz has those
    that they became. gradnet learns features of a collection's own items: those of an index stay with it, for
    foldwalk search --method gradnet. A training that was stopped goes on when the same command is run again.
    """
    from foldwalk.cli.params import parse_params, parse_sections
    from foldwalk.cli.train_model import ModelAsked, train_model
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
            if labels is not None or by is not None:
                raise BadInput(f"{name} learns without labels; leave out --labels and --by.")
            params = parse_params(param or []) | ({} if epochs is None else {"epochs": epochs})
            train_vectors(training, Asked(source, out, params, seed, root, start, force, as_json))
            return
        if start is not None or force:
            raise BadInput(f"{name} goes on in its folder; --start and --force are for trainings on vectors.")
        if out is None:
            raise BadInput(f"{name} needs --out OUT, the folder for log.csv and the model.")
        told = {name: value for name, value in (("seed", seed), ("epochs", epochs)) if value is not None}
        asked = ModelAsked(
            name, source, config, parse_sections(param or []), told, out, labels, by, root, as_json
        )
        train_model(asked)
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "learn", "foldwalk train") from None
