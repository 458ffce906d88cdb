"""An interrupted training goes on where it was, and ends with the same bytes as one that was not.

A checkpoint holds the weights of the rounds that are done; of the round at work the weights, the moments of
Adam, the random generators and how many epochs are done. It is written every half minute, and when training
breaks off.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.saving import read_arrays, write_arrays
from foldwalk.rerank.learned.gradnet.trained import Trained

if TYPE_CHECKING:
    from foldwalk.rerank.learned.gradnet.train import GraphTrainer

FORMAT = "foldwalk gradnet checkpoint 1"
SECONDS = 30.0


@dataclass(eq=False)
class Checkpoint:
    """The file of one training; `of` says which training, so that no other one goes on from it."""

    path: Path
    of: str
    done: list[dict[str, AnyArray]] = field(default_factory=list)
    current: tuple[dict[str, AnyArray], dict[str, Any]] | None = None
    written: float = field(default_factory=time.monotonic)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        vectors: Vectors,
        params: GradNetParams,
        seed: int,
        start: Trained | None = None,
    ) -> Checkpoint:
        """The checkpoint at `path`, or a new one; refuses where the file belongs to another training."""
        source = Path(path)
        facts = json.dumps([params.model_dump(mode="json"), seed], sort_keys=True)
        digest = hashlib.blake2b(facts.encode(), digest_size=16)
        digest.update(vectors.values.tobytes())
        for weights in [] if start is None else start.rounds[0].weights.first:
            digest.update(weights.tobytes())
        checkpoint = cls(source, digest.hexdigest())
        if not source.exists():
            return checkpoint
        arrays, kept = read_arrays(source, (FORMAT,), "a checkpoint of GRAD-Net")
        if kept.get("of") != checkpoint.of:
            raise BadInput(
                f"{source} is a checkpoint of another training: the vectors, the parameters or the seed "
                f"differ; go on with those, or take the file away."
            )
        rounds, trainer = kept.get("rounds"), kept.get("trainer")
        counted = isinstance(rounds, int) and 0 <= rounds <= params.rounds
        if not counted or not isinstance(trainer, dict | None):
            raise BadInput(f"{source} is a damaged checkpoint of GRAD-Net; take the file away.")
        checkpoint.done = [_under(arrays, f"done{number}/") for number in range(int(rounds or 0))]
        if trainer is not None:
            checkpoint.current = _under(arrays, "current/"), trainer
        return checkpoint

    def keep(self, trainer: GraphTrainer) -> None:
        """Remember the training after an epoch."""
        self.current = trainer.state()
        if time.monotonic() - self.written > SECONDS:
            self.write()

    def finish(self, weights: dict[str, AnyArray]) -> None:
        """Remember a round that is done."""
        self.done.append(weights)
        self.current = None

    def write(self) -> None:
        """Whole or not at all."""
        if not self.done and self.current is None:
            return
        arrays = {f"done{r}/{name}": a for r, state in enumerate(self.done) for name, a in state.items()}
        facts: dict[str, Any] = {"of": self.of, "rounds": len(self.done), "trainer": None}
        if self.current is not None:
            arrays |= {f"current/{name}": a for name, a in self.current[0].items()}
            facts["trainer"] = self.current[1]
        write_arrays(self.path, arrays, facts, FORMAT)
        self.written = time.monotonic()


def _under(arrays: dict[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {n.removeprefix(prefix): np.asarray(a) for n, a in arrays.items() if n.startswith(prefix)}
