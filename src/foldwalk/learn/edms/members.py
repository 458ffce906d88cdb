"""Trained members of an ensemble, kept in a file: an interrupted one goes on with the member it was at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from foldwalk.core.types import Float32Array, IntArray
from foldwalk.learn.edms.learner import Learner
from foldwalk.learn.trainer.checkpoint import fingerprint, no_checkpoint, read_checkpoint, write_checkpoint
from foldwalk.learn.trainer.loop import FREE
from foldwalk.learn.trainer.processes import is_main

Trained = tuple[dict[str, Any], dict[str, Tensor]]  # what a head is, and its weights


class Members:
    """Those of one ensemble; without a `file` they are kept in memory alone."""

    def __init__(
        self, file: Path | None, learners: Sequence[Learner], seed: int, x: Float32Array, codes: IntArray
    ) -> None:
        self.file, self.count = file, len(learners)
        self.told = {"seed": seed, "training data": fingerprint(x), "classes": fingerprint(codes)}
        for number, learner in enumerate(learners, 1):
            self.told |= _told(learner, number)
        self.trained: dict[int, Trained] = {}
        if file is not None and file.is_file():
            free = {name for name in self.told if name.rpartition(".")[2] in FREE}
            state = read_checkpoint(file, self.told, free)
            try:
                found = {int(member): (dict(spec), dict(w)) for member, (spec, w) in state["members"].items()}
            except Exception as error:  # an altered file may hold anything
                raise no_checkpoint(file, error) from None
            self.trained = {member: trained for member, trained in found.items() if member < self.count}

    def missing(self) -> list[int]:
        """Those that are not trained yet."""
        return [member for member in range(self.count) if member not in self.trained]

    def add(self, member: int, trained: Trained) -> None:
        self.trained[member] = trained
        if self.file is not None and is_main():
            write_checkpoint(self.file, self.told, {"members": self.trained})

    def in_order(self) -> list[Trained]:
        return [self.trained[member] for member in range(self.count)]


def _told(learner: Learner, number: int) -> dict[str, Any]:
    said = learner.as_dict()
    said |= {name: value for name, value in said.pop("settings").items() if name != "seed"}
    return {f"member {number}.{name}": value for name, value in said.items()}
