"""What the tables of docs/metric-learning.md share: data, seeds, means, Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foldwalk.learn.trainer import evaluate_embedding
from foldwalk.learn.trainer.config import Config, Method, parse_config
from foldwalk.learn.trainer.job import Inputs, make_model, make_recipe, split
from foldwalk.learn.trainer.loop import Settings, Trainer
from harness import RESULTS, save

FIGURES = ("R@1", "R@2", "R@4", "R@8", "MAP@R", "NMI", "F1")
# The parameters that metric_learning_choice.py found on held-out training classes.
CUB = """
[data]
train = "cub_first100"
test = "cub_last100"
[model]
kind = "linear"
dim = 512
dropout = 0.0
[training]
epochs = 10
learning_rate = 1e-3
schedule = "cosine"
evaluate_every = 0
clustering = true
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
clustering = true
"""
BASES = {"cub": CUB, "omniglot": OMNIGLOT}


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--root", type=Path, help="where the data lies")
    parser.add_argument("--dataset", choices=list(BASES), default="cub")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--held-out", type=float, default=0.0, help="share of training classes to test on")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def configure(dataset: str, held_out: float = 0.0, **sections: dict[str, Any]) -> Config:
    """The base configuration of a data set with some values replaced."""
    config = parse_config(BASES[dataset]).model_dump()
    if held_out:
        config["data"]["held_out"] = held_out
    for section, values in sections.items():
        config[section] = config[section] | values
    return Config(**config)


def plain(train_test: tuple[Inputs, Inputs], clustering: bool = True) -> dict[str, float]:
    """The features as they are."""
    test = train_test[1]
    return evaluate_embedding(test.features, test.labels, clustering)


def train_once(method: Method, config: Config, data: tuple[Inputs, Inputs]) -> dict[str, float]:
    train, test = data
    trainer = Trainer(
        make_model(config, train),
        train.inputs,
        make_recipe(method, config, train),
        Settings(**config.training.model_dump()),
        (test.inputs, test.labels),
    )
    history = trainer.fit()
    return {key: value for key, value in history[-1].items() if key in FIGURES}


def with_seed(config: Config, seed: int) -> Config:
    return config.model_copy(update={"training": config.training.model_copy(update={"seed": seed})})


def over_seeds(
    run: Callable[[int], dict[str, float]], seeds: Iterable[int], title: str
) -> dict[str, list[float]]:
    """Each figure for each seed; prints as it goes."""
    rows = [run(seed) for seed in seeds]
    figures = {name: [row[name] for row in rows] for name in rows[0]}
    mean = ", ".join(f"{name} {summary(values)}" for name, values in figures.items())
    print(f"{title}: {mean}", flush=True)
    return figures


def summary(values: list[float]) -> str:
    """Mean and deviation in percent."""
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"


def markdown(rows: dict[str, dict[str, list[float]]]) -> str:
    names = [name for name in FIGURES if any(name in row for row in rows.values())]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for title, row in rows.items():
        cells = [summary(row[name]) if name in row else "" for name in names]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def finish(name: str, rows: dict[str, dict[str, list[float]]], **facts: Any) -> None:
    """Write NAME.json with every seed's figures and NAME.md with the table."""
    save(name, {"rows": rows, **facts})
    (RESULTS / f"{name}.md").write_text(markdown(rows), "utf-8")
    print("\n" + markdown(rows))


def begin(options: argparse.Namespace, **sections: dict[str, Any]) -> tuple[Config, tuple[Inputs, Inputs]]:
    torch.set_num_threads(options.threads)
    config = configure(options.dataset, options.held_out, **sections)
    return config, split(config, options.root)
