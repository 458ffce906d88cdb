"""Trainings, one file each, found by name: what `foldwalk train NAME` can train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from foldwalk.core.registry import Registry
from foldwalk.learn.training import Training
from foldwalk.rerank.params import Parameter, parameters_of

__all__ = ["TrainingCard", "describe", "names", "register", "training_class"]

_trainings: Registry[type[Training[Any]]] = Registry("training", [__name__])
AnyTraining = TypeVar("AnyTraining", bound=type[Training[Any]])


@dataclass(frozen=True)
class TrainingCard:
    """What `describe` tells of a training: `takes` is what it can be trained on, `usage` what the command
    line wants beside the name."""

    name: str
    summary: str
    paper: str
    needs_labels: bool
    takes: str
    usage: str
    writes: tuple[str, ...]
    parameters: tuple[Parameter, ...]


def register(training: AnyTraining) -> AnyTraining:
    """Class decorator: make a training known by its name."""
    _trainings.register(training)
    return training


def names() -> list[str]:
    return _trainings.names()


def training_class(name: str) -> type[Training[Any]]:
    return _trainings.get(name)


def describe(name: str) -> TrainingCard:
    """A training's card: paper, whether it needs labels, its section with defaults and ranges."""
    t = training_class(name)
    return TrainingCard(
        t.name, t.summary, t.paper, t.needs_labels, t.takes, t.usage, t.writes, parameters_of(t.Parameters)
    )
