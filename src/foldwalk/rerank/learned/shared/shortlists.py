"""What networks that re-rank the nearest items of a query share: training on pairs, weights, shortlists.

By default such a network is trained on the gallery itself, on pairs that the graph agrees on
(`pseudo_labels.py`); no label is used. A network can also be taught elsewhere and be used for any gallery:

    method.learn(vectors, labels)       train on these items; without labels, on pairs their graph agrees on
    method.save_weights("csa.npz")      keep what was learned
    method.load_weights("csa.npz")      use it: `fit` then trains nothing

Who is no friend counts as a stranger; where lists are long (`doubts_chains`), only who no chain of friends
joins with the query, and the others teach nothing. The number of steps is fixed. Every residual branch starts
at zero, so that the untrained network is a method that is known: its file says which.

A network is trusted as far as it helps. One teaching item of five is held out; their lists are ranked by

    (1 - trust) plain similarity + trust score of the network,     trust = 0, 1/8, 1/4, 1/2, 3/4, 1,

by the mean average precision of the held-out pairs. Of those nearly as good as the best the middle one is
kept; but where 0, plain search, is among them, or there was nothing to teach, the network is not used at all.
Training and ranking need torch.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from foldwalk.core.array_files import read_npz
from foldwalk.core.checked_arrays import checked_numbers
from foldwalk.core.errors import BadInput, MissingData, one_line
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, BoolArray, Float32Array, Int32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole
from foldwalk.graph import as_rows
from foldwalk.neighbors import prepare
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.shared.pseudo_labels import NEIGHBORS, GivenLabels, PseudoLabels
from foldwalk.rerank.learned.shared.space import canonical_order
from foldwalk.rerank.learned.shared.training import need_torch, train
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params

MOST_LISTS, MOST_NUMBERS = 256, 2**25  # at once
HELD_OUT, MOST_HELD_OUT = 5, 256  # one item of so many, and no more than so many
TRUSTS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)
NEARLY = 0.002  # of the mean average precision


class ShortlistParams(Params):
    k: int
    steps: int = Field(150, ge=0, le=100_000, description="steps of training")
    batch: int = Field(32, ge=1, le=10_000, description="queries per step")
    learning_rate: float = Field(1e-3, gt=0, le=1, description="of Adam, at the start")


class ShortlistNetwork(Reranker):
    """A method says what its network is and what it reads of the vectors."""

    network: Any
    weights: dict[str, AnyArray]
    strangeness: float
    taught: dict[str, AnyArray] | None = None
    doubts_chains: ClassVar[bool] = False
    needs_training = True

    @abstractmethod
    def _network(self) -> Any:
        """A torch module with fresh weights, built under a seed of its own."""

    @abstractmethod
    def _scores(self, queries: Float32Array, ids: Int32Array) -> Any:
        """A tensor (q, k) of scores in [-1, 1] for queries and their nearest items (-1: none)."""

    def _describe(self) -> None:
        """Look at `self.vectors` before the network reads them."""

    # Learning ---------------------------------------------------------------------------------------------

    def learn(self, vectors: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> Self:
        """Train on these items, with labels or without, and use what was learned for every later `fit`."""
        pupil = type(self)(**self.get_params())
        seen = prepare(Vectors.check(vectors, "vectors"), self.params.metric)
        truth = None if labels is None else GivenLabels(labels, len(seen))
        self.taught = pupil.weights_from(seen, truth)
        return self

    def weights_from(self, vectors: Vectors, truth: GivenLabels | None) -> dict[str, AnyArray]:
        """What the network learns from vectors as the metric sees them; without truth, from their graph."""
        self._vectors, self.candidates = vectors, len(vectors)
        self._begin()
        self._train(truth)
        return self.weights

    def save_weights(self, path: str | os.PathLike[str]) -> Path:
        """Write the network to a .npz file."""
        target = Path(path)
        if target.suffix != ".npz":
            raise BadInput(f"{target}: weights are saved as .npz.")
        known = self.taught if self.taught is not None else getattr(self, "weights", None)
        if known is None:
            raise BadInput(f"{self.name} has learned nothing yet: call learn(vectors) or fit(gallery) first.")
        with written_whole(target) as file:
            np.savez(file, **known)
        return target

    def load_weights(self, path: str | os.PathLike[str]) -> Self:
        """Use a network that was learned before, with the same parameters."""
        source = Path(path)
        if not source.is_file():
            raise MissingData(f"{source} does not exist.")
        try:
            weights = read_npz(source)
            self.taught = {name: checked_numbers(a, name, a.shape) for name, a in weights.items()}
        except Exception as error:  # broken bytes lead the reader to errors of any kind
            raise BadInput(f"{source} does not hold weights saved by foldwalk: {one_line(error)}.") from None
        return self

    def _unfitted(self) -> Self:
        same = super()._unfitted()
        same.taught = self.taught
        return same

    def _wanted(self, _: int) -> int:
        return max(self.params.k, NEIGHBORS) if self.taught is None else 0

    def _prepare(self) -> None:
        self._begin()
        if self.taught is None:
            self._train(None)
        else:
            self._use(self.taught)
        self._finished()

    def _begin(self) -> None:
        torch = need_torch(self.name)
        # The mean similarity of all pairs, from a sample: what is no more similar than that is a stranger.
        some = self.vectors.values[canonical_order(self.vectors)[:500]]
        self.strangeness = 0.0
        self.strangeness = float(self.similarity(some[None], some[None], np.array(True)).mean())
        self._describe()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network = self._network()
        self.network.register_buffer("trust", torch.tensor(1.0))

    def _train(self, truth: GivenLabels | None) -> None:
        known = self.neighbors(max(self.params.k, NEIGHBORS))
        labels = truth or (PseudoLabels(known) if known.k else None)
        near = self.padded(known.ids)
        order, rng = canonical_order(self.vectors), generator(self.seed, self.name)
        if labels is not None:
            friends, strangers = self._told(labels, np.arange(len(near)), near)
            # Somebody without friends or without strangers on the list has nothing to teach.
            teaching = np.asarray(friends.any(axis=1) & strangers.any(axis=1))
            order = order[teaching[order]]
        p, torch = self.params, need_torch(self.name)
        if labels is None or not len(order):
            self.network.trust.fill_(0.0)
            self._use(None)
            return
        held_out = order[::HELD_OUT][:MOST_HELD_OUT]
        if len(order) > 1:
            order = order[~np.isin(order, held_out)]

        def loss(_: int) -> Any:
            rows = order[np.sort(rng.choice(len(order), size=min(p.batch, len(order)), replace=False))]
            told = (torch.from_numpy(known) for known in self._told(labels, rows, near[rows]))
            return self._loss(self.vectors.values[rows], near[rows], *told)

        self.network.train()
        train(self.name, self.network.parameters(), loss, p.steps, p.learning_rate)
        self.network.eval()
        if p.steps:
            told = self._told(labels, held_out, near[held_out])
            self.network.trust.fill_(self._best_trust(held_out, near[held_out], *told))
        self._use(None)

    def _told(
        self, labels: GivenLabels | PseudoLabels, rows: IntArray, ids: Int32Array
    ) -> tuple[BoolArray, BoolArray]:
        """Which items of the lists are friends, and which are strangers; some may be neither."""
        friends = labels.same(rows, ids)
        close = labels.chained(rows, ids) if self.doubts_chains else friends
        return friends, (ids >= 0) & ~close

    def _best_trust(self, rows: IntArray, ids: Int32Array, friends: BoolArray, strangers: BoolArray) -> float:
        """The middle one of those that rank lists about as well as any; plain search where it does."""
        with need_torch(self.name).no_grad():
            blends = [
                self._blends(self.vectors.values[rows[p]], ids[p], TRUSTS) for p in self.parts(len(rows))
            ]
        joined = (np.concatenate(parts) for parts in zip(*blends, strict=True))
        found = np.array([mean_average_precision(scores, friends, strangers) for scores in joined])
        good = np.flatnonzero(found >= found.max() - NEARLY)
        return float(TRUSTS[good[len(good) // 2] if good[0] > 0 else 0])

    def _blends(self, queries: Float32Array, ids: Int32Array, trusts: Sequence[float]) -> list[Float32Array]:
        """Scores (q, k) for each trust, between -1 and 1."""
        scores = self._scores(queries, ids).numpy()
        if set(trusts) == {1.0}:
            return [scores] * len(trusts)
        plain = self.similarity(queries[:, None], self.items_of(ids), (ids >= 0)[:, None])[:, 0]
        return [np.asarray((1 - trust) * np.clip(plain, -1, 1) + trust * scores) for trust in trusts]

    def _loss(self, queries: Float32Array, ids: Int32Array, friends: Any, strangers: Any) -> Any:
        """Each friend on the list against all strangers: mean of - log(e^f / (e^f + sum of e^s))."""
        torch = need_torch(self.name)
        logits = self._scores(queries, ids) * self.network.sharpness.exp()
        against = torch.logsumexp(logits.masked_fill(~strangers, -torch.inf), dim=1, keepdim=True)
        return torch.nn.functional.softplus(against - logits)[friends].mean()

    def _use(self, weights: dict[str, AnyArray] | None) -> None:
        torch = need_torch(self.name)
        if weights is not None:
            try:
                tensors = {name: torch.from_numpy(np.array(a)) for name, a in weights.items()}
                self.network.load_state_dict(tensors)
            except RuntimeError:
                raise BadInput(f"these weights do not fit {self.name} with its present parameters.") from None
        self.network.eval()
        self.weights = self._weights()

    def _weights(self) -> dict[str, AnyArray]:
        return {name: t.detach().numpy() for name, t in self.network.state_dict().items()}

    def _finished(self) -> None:
        """What is left to do once the network is there."""

    # Ranking ----------------------------------------------------------------------------------------------

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        return self._refine(queries, self.search(queries, self.params.k), top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        return self._refine(Vectors(self.vectors.values[rows]), self.search_rows(rows, self.params.k), top)

    def _refine(self, queries: Vectors, found: Neighbors, top: int) -> Reached:
        torch = need_torch(self.name)
        trust = float(self.network.trust)
        scores = found.similarities.copy()
        with task(f"{self.name} on shortlists", len(queries)) as advance, torch.no_grad():
            for part in self.parts(len(queries) if trust > 0 else 0):
                ids = self.padded(found.ids[part])
                blended = self._blends(queries.values[part], ids, [trust])[0]
                scores[part] = blended[:, : found.k]
                advance(len(ids))
        # `as_rows` leaves out what is not above zero, so scores, which lie in [-1, 1], are shifted meanwhile.
        rows = as_rows(found, scores + 2, self.candidates)
        reached = Reached.from_sparse(rows, top, self.candidates, None)
        return Reached(reached.ids, reached.scores - 2)

    def padded(self, ids: Int32Array) -> Int32Array:
        """Lists of exactly k places, -1 where there is nobody."""
        k: int = self.params.k
        return np.pad(ids[:, :k], ((0, 0), (0, max(0, k - ids.shape[1]))), constant_values=-1)

    def parts(self, count: int) -> list[slice]:
        """So many lists in parts whose vectors take little memory."""
        size = MOST_NUMBERS // (self.params.k * self.vectors.values.shape[1])
        size = max(1, min(size, MOST_LISTS))
        return [slice(first, first + size) for first in range(0, count, size)]

    def items_of(self, ids: Int32Array) -> Float32Array:
        """The vectors of lists of items, (q, k, d); zeros where there is nobody."""
        return np.where((ids >= 0)[:, :, None], self.vectors.values[ids], np.float32(0))

    def similarity(self, a: Float32Array, b: Float32Array, known: BoolArray) -> Float32Array:
        """Similarities of two stacks of vectors, counted from that of strangers, 0 beside absent items."""
        products = a @ b.transpose(0, 2, 1)
        if self.params.metric == "euclidean":
            lengths = [np.einsum("qmd,qmd->qm", v, v) for v in (a, b)]
            squared = lengths[0][:, :, None] + lengths[1][:, None, :] - 2 * products
            products = 1 / (1 + np.sqrt(np.maximum(squared, 0)))
        relative = (products - self.strangeness) / max(1 - self.strangeness, 1e-6)
        return np.where(known, relative, 0).astype(np.float32)

    def _state(self) -> dict[str, AnyArray]:
        return {**self.weights, "__taught__": np.array(self.taught is not None)}

    def _restore(self, kept: Kept) -> None:
        self._begin()
        self._use(kept.like(self._weights()))
        if kept.flag("__taught__"):
            self.taught = self.weights
        self._finished()


def mean_average_precision(scores: Float32Array, friends: BoolArray, strangers: BoolArray) -> float:
    """Of lists ranked by scores, each with a friend at least; who is neither comes last."""
    order = np.argsort(np.where(friends | strangers, -scores, np.inf), axis=1, kind="stable")
    hits = np.take_along_axis(friends, order, axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return float(((precision * hits).sum(axis=1) / hits.sum(axis=1)).mean())
