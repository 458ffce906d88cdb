"""What every training is: a name, a section of the configuration, and what it hands to the trainer.

Nothing here imports torch: trainings are listed without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.learn.sections import Section, by_whole_name
from foldwalk.rerank.params import Params

if TYPE_CHECKING:
    from foldwalk.learn.trainer.config import Config
    from foldwalk.learn.trainer.inputs import Inputs
    from foldwalk.learn.trainer.job import Job, Trained
    from foldwalk.learn.trainer.recipe import Recipe

Own = TypeVar("Own", bound=BaseModel)
Row = dict[str, float]


class Training(Generic[Own]):
    """Base. `own` holds the values of the training's own section, which is of the class `Parameters`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    needs_labels: ClassVar[bool]
    takes: ClassVar[str]
    usage: ClassVar[str]
    writes: ClassVar[tuple[str, ...]]
    Parameters: ClassVar[type[BaseModel]]

    def __init__(self, own: Own) -> None:
        self.own = own


class ModelTraining(Training[Own]):
    """Trains a model of pictures as a configuration says; what comes out is a backbone.

    A training gives the trainer a recipe. One that is more than that (an ensemble) has its own `run`.
    """

    Parameters: ClassVar[type[Section]]
    takes = "a folder of pictures, vectors (.npy, .npz, .parquet), an index, or a data set by name"
    usage = "SOURCE"
    writes = ("model.onnx", "log.csv", "checkpoint.pt")

    def recipe(self, config: Config, train: Inputs) -> Recipe:
        """The batches of an epoch and their loss."""
        raise NotImplementedError

    def run(self, job: Job) -> Trained:
        """Train the model that the configuration names."""
        told = {"training": self.name, **by_whole_name(self.name, self.own)}
        return job.fit(self.recipe(job.config, job.train), told)


@dataclass(frozen=True, eq=False)
class LearnedVectors:
    """Features of a collection's own items, the figures of each epoch, and what else is worth telling.

    `method` is the re-ranker that was trained, to be attached to an index.
    """

    features: Float32Array
    history: list[Row]
    facts: dict[str, Any]
    method: Any


class VectorTraining(Training[Own]):
    """Learns new features for the vectors of one collection as they are, without a configuration file."""

    Parameters: ClassVar[type[Params]]
    takes = "an index, vectors (.npy, .npz, .parquet), or a data set by name"
    usage = "SOURCE"

    def run(
        self,
        vectors: Vectors,
        folder: Path | None,
        *,
        seed: int = 0,
        start: Any = None,
        checkpoint: Path | None = None,
        watch: Callable[[Float32Array], float] | None = None,
        tell: Callable[[Row], None] | None = None,
    ) -> LearnedVectors:
        """Train, and write what was learned to `folder`, if there is one.

        `start` is a model of the same kind to go on from. A training that breaks off leaves `checkpoint`, a
        file, and goes on from it the next time; whoever keeps what was learned removes it. `watch` measures
        features while they are learned: it is written down, nothing is chosen by it. `tell` is called with
        the figures every now and then.
        """
        raise NotImplementedError
