"""Choices of parameters compared on half of the training classes; the test classes are never looked at.

Prints one line per choice and writes them all to benchmarks/results/. The best MAP@R is taken: recall at 1
differs less between choices than between seeds.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from foldwalk.learn.trainer.inputs import Inputs
from metric_learning import (
    Rows,
    arguments,
    begin,
    configure,
    measured_before,
    over_seeds,
    plain,
    train_once,
    with_seed,
    write,
)
from metric_learning_choices import WHAT

HELD_OUT = 0.5
PLAIN = "features as they are"


def swapped(train: Inputs, held: Inputs) -> tuple[Inputs, Inputs]:
    codes = np.unique(held.labels, return_inverse=True)[1].astype(np.int64)
    return Inputs(held.inputs, codes, held.features), train


def parser(about: str) -> argparse.ArgumentParser:
    parser = arguments(about)
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.add_argument("--both-halves", action="store_true", help="then train on those held out as well")
    parser.add_argument("--match", default="", help="only choices with this in their title")
    parser.set_defaults(seeds=1)
    return parser


def compare(options: argparse.Namespace) -> None:
    """Every choice of `options.what`, in turn; after each, what is known is written."""
    _, data = begin(options, HELD_OUT)
    rows: Rows = {PLAIN: plain(data, clustering=False)}
    name = f"metric_learning_choice_{options.what}_{options.dataset}"
    before = measured_before(name, options.resume)["rows"]
    halves = [data, swapped(*data)] if options.both_halves else [data]
    method: Any = "cgml" if options.what == "head" else options.what.partition("_")[0]
    choices = dict(WHAT[options.what]())
    rows |= {title: before[title] for title in choices if title in before}
    for title, sections in choices.items():
        if options.match not in title:
            continue
        sections = sections | {"training": {"clustering": False} | sections.get("training", {})}
        config = configure(options.dataset, HELD_OUT, **sections)
        rows[title] = over_seeds(
            lambda run, c=config: train_once(
                method, with_seed(c, run // len(halves)), halves[run % len(halves)]
            ),
            range(options.seeds * len(halves)),
            title,
            before.get(title),
        )
        write(name, {known: rows[known] for known in (PLAIN, *choices) if known in rows})
