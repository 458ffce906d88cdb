"""What the tables of docs/metric-learning-results.md share: data, seeds, means, Markdown."""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from foldwalk.learn.mining.recipe import MinedRecipe
from foldwalk.learn.trainer.config import Config, make_config, parse_config
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from foldwalk.learn.trainer.inputs import Inputs, split
from foldwalk.learn.trainer.job import make_model
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.recipe import Recipe
from harness import RESULTS, save

AXES = 512  # of 1280
FIGURES = ("R@1", "R@2", "R@4", "R@8", "MAP@R", "NMI", "F1")
Rows = dict[str, dict[str, list[float]]]
# Head, rate, epochs and batch of CUB: choice.py --what head.
CUB = """
[data]
train = "cub_first100"
test = "cub_last100"
[model]
kind = "linear"
dim = 512
[training]
epochs = 8
learning_rate = 1e-3
schedule = "cosine"
evaluate_every = 0
[cgml]
classes = 25
per_class = 8
[mom]
tuples = 168
"""
OMNIGLOT = """
[data]
train = "omniglot"
test = ""
[model]
kind = "conv"
dim = 64
[training]
epochs = 15
learning_rate = 1e-3
schedule = "cosine"
evaluate_every = 0
[cgml]
classes = 25
per_class = 8
[mom]
tuples = 168
"""
BASES = {"cub": CUB, "omniglot": OMNIGLOT}
_starts: dict[str, nn.Module] = {}
_mined: dict[str, MinedRecipe] = {}


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--root", type=Path, help="where the data lies")
    parser.add_argument("--dataset", choices=list(BASES), default="cub")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="keep what was measured before")
    return parser


def configure(dataset: str, held_out: float = 0.0, **sections: dict[str, Any]) -> Config:
    """The base configuration of a data set with some values replaced."""
    config = parse_config(BASES[dataset]).model_dump()
    if held_out:
        config["data"]["held_out"] = held_out
    for section, values in sections.items():
        config[section] = config[section] | values
    return make_config(config)


def plain(data: tuple[Inputs, Inputs], clustering: bool = True) -> dict[str, list[float]]:
    """The features as they are."""
    test = data[1]
    return once(evaluate_embedding(test.features, test.labels, clustering))


def once(figures: dict[str, float]) -> dict[str, list[float]]:
    return {name: [value] for name, value in figures.items()}


def make_trainer(method: str, config: Config, data: tuple[Inputs, Inputs]) -> Trainer:
    train, test = data
    return Trainer(
        _model(config, train),
        train.inputs,
        _recipe(method, config, train),
        config.training,
        (test.inputs, test.labels),
    )


def train_once(method: str, config: Config, data: tuple[Inputs, Inputs]) -> dict[str, float]:
    history = make_trainer(method, config, data).fit()
    return {key: value for key, value in history[-1].items() if key in FIGURES}


def _model(config: Config, train: Inputs) -> nn.Module:
    """A head that begins as a projection of the features is the same for every seed: made once."""
    if config.model.kind != "linear" or config.model.init == "random":
        return make_model(config, train)
    key = f"{id(train.features)} {config.model.model_dump_json()}"
    if key not in _starts:
        _starts[key] = make_model(config, train)
    return copy.deepcopy(_starts[key])


def _recipe(method: str, config: Config, train: Inputs) -> Recipe:
    """Pools do not depend on the seed, only what is drawn from them: mined once."""
    if method != "mom":
        return config.chosen(method).recipe(config, train)
    key = config.mom.model_dump_json()
    if key not in _mined:
        made = config.chosen(method).recipe(config, train)
        assert isinstance(made, MinedRecipe)
        _mined[key] = made
    recipe = copy.copy(_mined[key])
    recipe.seed = config.training.seed
    return recipe


def pool_report(config: Config, train: Inputs) -> dict[str, Any]:
    """How pure the pools were that a training by this configuration drew from; empty if none was run."""
    recipe = _mined.get(config.mom.model_dump_json())
    return {} if recipe is None else recipe.miner.report(train.labels).as_dict()


def with_seed(config: Config, seed: int) -> Config:
    return config.model_copy(update={"training": config.training.model_copy(update={"seed": seed})})


def over_seeds(
    run: Callable[[int], dict[str, float]],
    seeds: Iterable[int],
    title: str,
    known: dict[str, list[float]] | None = None,
) -> dict[str, list[float]]:
    """Each figure for each seed; prints as it goes. `known` are the first seeds' figures, not run again."""
    figures: dict[str, list[float]] = {name: list(values) for name, values in (known or {}).items()}
    done = len(figures.get("R@1", []))
    for seed in list(seeds)[done:]:
        for name, value in run(seed).items():
            figures.setdefault(name, []).append(value)
    print(f"{title}: R@1 {summary(figures['R@1'])}, MAP@R {summary(figures['MAP@R'])}", flush=True)
    return figures


def summary(values: list[float]) -> str:
    """Mean and deviation in percent."""
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"


def markdown(rows: Rows) -> str:
    names = [name for name in FIGURES if any(name in row for row in rows.values())]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for title, row in rows.items():
        cells = [summary(row[name]) if name in row else "" for name in names]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(name: str, rows: Rows, **facts: Any) -> None:
    """NAME.json with every seed's figures and NAME.md with the table; after each row, so none is lost."""
    save(name, {"rows": rows, **facts})
    (RESULTS / f"{name}.md").write_text(markdown(rows), "utf-8")


def measured_before(name: str, resume: bool) -> dict[str, Any]:
    """What NAME.json holds, if it is to be gone on with; else nothing but empty rows."""
    before = RESULTS / f"{name}.json"
    if not resume or not before.is_file():
        return {"rows": {}}
    found: dict[str, Any] = json.loads(before.read_text("utf-8"))
    return found


def begin(
    options: argparse.Namespace, held_out: float = 0.0, axes: int = AXES, **sections: dict[str, Any]
) -> tuple[Config, tuple[Inputs, Inputs]]:
    """`axes` of the features for a linear head, the strongest; 0: the features as they are."""
    torch.set_num_threads(options.threads)
    config = configure(options.dataset, held_out, **sections)
    train, test = split(config, options.root)
    if config.model.kind != "linear" or not axes:
        return config, (train, test)
    return config, _on_axes(train, test, axes)


def _on_axes(train: Inputs, test: Inputs, count: int) -> tuple[Inputs, Inputs]:
    """Features on the axes that keep most of the training features' dot products: all runs are quicker."""
    unit = train.features / np.linalg.norm(train.features, axis=1, keepdims=True)
    axes = np.linalg.eigh(unit.T @ unit)[1][:, ::-1][:, :count]
    parts = [(part, np.ascontiguousarray(part.features @ axes)) for part in (train, test)]
    return tuple(Inputs(features, part.labels, features) for part, features in parts)  # type: ignore[return-value]
