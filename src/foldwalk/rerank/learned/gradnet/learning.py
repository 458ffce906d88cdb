"""The training as a whole: round after round, from the vectors to what is kept of the networks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from foldwalk.core.errors import BadInput, MissingExtra, one_line
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import BoolArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.gradnet.checkpoint import Checkpoint
from foldwalk.rerank.learned.gradnet.choice import choose_k
from foldwalk.rerank.learned.gradnet.forward import Round, Weights
from foldwalk.rerank.learned.gradnet.graph import on_graph, reordered
from foldwalk.rerank.learned.gradnet.inputs import Inputs, has_no_direction
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.projection import ROWS, Projection, blocks_of
from foldwalk.rerank.learned.gradnet.share import own_share, weighed
from foldwalk.rerank.learned.gradnet.trained import Trained, side_by_side

if TYPE_CHECKING:
    from foldwalk.rerank.learned.gradnet.train import Epoch, GraphTrainer, Listener

# What two trainings must have in common if one is to go on from the other's weights.
SHAPES = (
    *("metric", "centre", "anchors", "codebooks", "nearest_anchors", "codes_only"),
    *("layer_sizes", "second_order"),
)


@dataclass(eq=False)
class Learning:
    """One training; items are in an order by their contents, so that the gallery's order does not matter."""

    vectors: Vectors
    params: GradNetParams
    seed: int
    order: IntArray
    listener: Listener | None = None
    checkpoint: Checkpoint | None = None

    def run(self, around: Neighbors, start: Trained | None) -> tuple[Trained, Float32Array]:
        """Train, and return what is kept and the features of the items, both in the gallery's order."""
        trainer_class, p = _trainer(self.params.device), self.params
        inputs = Inputs.learn(self.vectors, p, self.seed) if start is None else start.inputs
        h0, nobody = inputs.place(self.vectors), has_no_direction(self.vectors, p.metric)
        around = reordered(around, self.order)
        rounds: list[Round] = []
        learned: list[Float32Array] = []
        while True:
            near = around.first(min(p.fixed_k or choose_k(around), around.k))
            graph = on_graph(h0, near, p)
            trainer = trainer_class(graph, p, self.seed)
            if start is not None:
                trainer.start_from(start.rounds[min(len(rounds), len(start.rounds) - 1)].weights.state())
            share = own_share(p, rounds[0].k if rounds else near.k, len(self.vectors))
            self._train(trainer, len(rounds), self._teller(learned, share))
            known = Round.of(Weights.of(trainer.weights()), graph, near)
            rounds.append(known.spread(self.order, len(self.vectors)))
            if len(rounds) == p.rounds or not around.k:
                break
            features = trainer.features()
            features[nobody] = 0
            learned.append(features)
            around = knn_graph(Vectors(features), around.k, seed=self.seed)
        kept = Trained(p, inputs, rounds, share)
        width = sum(features.shape[1] for features in learned) + trainer.dimensions
        if 0 < p.dimensions < width:
            blocks = map(kept.weighed, self._blocks(learned, trainer, nobody))
            kept.projection = Projection.learn(blocks, p.dimensions)
            width = kept.projection.axes.shape[1]
        features = np.empty((len(self.vectors), width), np.float32)
        places = blocks_of(self.order)
        for rows, block in zip(places, self._blocks(learned, trainer, nobody), strict=True):
            features[rows] = kept.narrow(block)
        while learned:
            kept.spaces.append(self._in_given_order(learned.pop(0)))
        return kept, features

    def _blocks(
        self, learned: list[Float32Array], last: GraphTrainer, nobody: BoolArray
    ) -> Iterator[Float32Array]:
        """The features of all rounds side by side, those of the last one never all at once."""
        everybody = [last.feature_blocks(ROWS), *map(blocks_of, learned), blocks_of(nobody)]
        for now, *before, without in zip(*everybody, strict=True):
            now[without] = 0
            yield side_by_side([*before, now])

    def _train(self, trainer: GraphTrainer, number: int, tell: Callable[[Epoch], None]) -> None:
        """Train for one round, or what is left of it."""
        kept = self.checkpoint
        if kept is None:
            return trainer.train(tell)
        try:
            if number < len(kept.done):
                return trainer.start_from(kept.done[number])
            if kept.current is not None:
                trainer.restore(*kept.current)
        except (BadInput, RuntimeError, KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"{kept.path} is a damaged checkpoint of GRAD-Net ({one_line(error)}); take the file away."
            ) from None

        def keep(epoch: Epoch) -> None:
            kept.keep(trainer)
            tell(epoch)

        try:
            trainer.train(keep)
        except BaseException:
            kept.write()
            raise
        return kept.finish(trainer.weights())

    def _teller(self, before: list[Float32Array], share: float) -> Callable[[Epoch], None]:
        """Tells the listener of an epoch, counted over the rounds, with the features of all rounds so far."""
        done = list(before)

        def tell(epoch: Epoch) -> None:
            if self.listener is not None:
                number = len(done) * self.params.epochs + epoch.number

                def features() -> Float32Array:
                    nobody = has_no_direction(self.vectors, self.params.metric)
                    now = epoch.features()
                    now[nobody] = 0
                    every = weighed(side_by_side([*done, now]), self.params, share, len(done) + 1)
                    return self._in_given_order(every)

                self.listener(replace(epoch, number=number, features=features))

        return tell

    def _in_given_order(self, features: Float32Array) -> Float32Array:
        back = np.empty_like(features)
        back[self.order] = features
        return back


def check_start(start: GradNetParams, params: GradNetParams) -> None:
    """Refuse to go on from weights of another shape."""
    for name in SHAPES:
        before, now = getattr(start, name), getattr(params, name)
        if before != now:
            raise BadInput(
                f"the weights to start from were trained with {name}={before}, but {name} is {now}: "
                f"take the same."
            )


def _trainer(device: str) -> type[GraphTrainer]:
    """The part that needs torch, imported when it is first needed."""
    try:
        module = importlib.import_module("foldwalk.rerank.learned.gradnet.train")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise MissingExtra("torch", "learn", "GRAD-Net") from None
    module.check_device(device)
    trainer: type[GraphTrainer] = module.GraphTrainer
    return trainer
