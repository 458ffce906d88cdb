"""An ensemble of learners, each on meta-classes of its own, that act as one (section 3).

    s(q, n) = sum_e w_e x_q^(e) x_n^(e)                                                             (eq. 1)

The embedding of the ensemble is its members' unit vectors one after the other, each times sqrt(w_e): then the
dot product is eq. 1. Members are trained independently, in as many processes as asked for.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from torch import Tensor
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter, MissingData, NotFitted, one_line
from foldwalk.core.json_text import read_json_object
from foldwalk.core.labels import check_labels
from foldwalk.core.progress import Silent, reporting, task
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole
from foldwalk.descriptors.backbones.base import cores
from foldwalk.learn.edms.learner import Learner, train_member
from foldwalk.learn.edms.members import Members, Trained
from foldwalk.learn.trainer.models import Head, HeadSpec, JoinedHeads
from foldwalk.learn.trainer.settings import TrainingSettings

__all__ = ["Learner", "MetaClassEnsemble"]

FORMAT = "foldwalk ensemble 1"


class MetaClassEnsemble(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """`members` learners on random meta-classes; `weights` are w of eq. 1, all 1 by default.

    `learner` is how each of them learns; several, for instance with losses of their own, take turns. It is a
    transformer of scikit-learn: it stands in a Pipeline, and `clone`, `get_params` and `set_params` work.

    >>> MetaClassEnsemble(5).fit(features, labels).transform(features).shape    # doctest: +SKIP
    (5864, 640)
    """

    heads_: list[Head]
    n_features_in_: int

    def __init__(
        self,
        members: int = 5,
        learner: Learner | Sequence[Learner] | None = None,
        *,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        self.members, self.learner, self.weights = members, learner, weights
        self.seed, self.workers = seed, workers
        self._check()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def learners(self) -> list[Learner]:
        """How each member learns."""
        alone = self.learner or Learner()
        given = [alone] if isinstance(alone, Learner) else list(alone)
        return [given[member % len(given)] for member in range(self.members)]

    @property
    def member_weights(self) -> list[float]:
        """w of eq. 1."""
        return [1.0] * self.members if self.weights is None else [float(w) for w in self.weights]

    def _check(self) -> None:
        """Wrong parameters are refused at once, and again by `fit`: `set_params` may have changed them."""
        if self.members < 1 or self.workers < 1:
            raise BadParameter(f"members ({self.members}) and workers ({self.workers}) must be at least 1.")
        weights = self.member_weights
        if len(weights) != self.members or min(weights) < 0 or not any(weights):
            raise BadParameter(f"weights must be {self.members} numbers of 0 or more, not all 0.")
        if isinstance(self.learner, Sequence) and not self.learner:
            raise BadParameter("an ensemble needs at least one learner.")

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, *, checkpoint: Path | None = None) -> MetaClassEnsemble:
        """Train all members on features X (n, d) and their classes y.

        Members that are trained are kept in the file `checkpoint`; a second call goes on with the others.
        """
        self._check()
        if y is None:
            raise BadInput("an ensemble requires y to be passed, but the target y is None: hand in classes.")
        x = Vectors.check(X, "features").values
        codes = np.unique(check_labels(y, "labels"), return_inverse=True)[1].astype(np.int64)
        if len(codes) != len(x):
            raise BadInput(f"there are {len(codes)} labels for {len(x)} features; pass one per feature.")
        if not codes.any():
            raise BadInput("an ensemble learns to tell classes apart, but the labels name one class only.")
        kept = Members(checkpoint, self.learners, self.seed, x, codes)
        for member, trained in self._train(x, codes, kept.missing()):
            kept.add(member, trained)
        self.heads_ = [_head(*trained) for trained in kept.in_order()]
        self.n_features_in_ = x.shape[1]
        return self

    def _train(
        self, x: Float32Array, codes: IntArray, members: Sequence[int]
    ) -> Iterator[tuple[int, Trained]]:
        """The members, each when it is done."""
        learners = self.learners
        ones = {id(learners[e]): learners[e] for e in members if learners[e].begins_alike}
        alike = {key: one.start(x, self.seed) for key, one in ones.items()}
        tasks = {e: (learners[e], alike.get(id(learners[e])), x, codes, self.seed + e) for e in members}
        with task("ensemble", self.members, unit="members") as advance:
            advance(self.members - len(tasks))
            if self.workers == 1:
                for e, told in tasks.items():
                    with reporting(Silent()):  # one bar at a time
                        trained = train_member(*told, torch.get_num_threads())
                    yield e, trained
                    advance(1)
                return
            threads = max(1, cores() // self.workers)
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
                jobs = {pool.submit(train_member, *told, threads): e for e, told in tasks.items()}
                for job in as_completed(jobs):
                    yield jobs[job], job.result()
                    advance(1)

    @torch.no_grad()
    def transform(self, X: npt.ArrayLike, members: int | None = None) -> Float32Array:
        """The embedding (n, members x dim), of length one; of the first `members` only if asked."""
        joined = self.module(members)
        x = torch.from_numpy(Vectors.check(X, "features", joined.inputs).values)
        return np.asarray(functional.normalize(joined(x)).numpy(), dtype=np.float32)

    def module(self, members: int | None = None) -> JoinedHeads:
        """All members as one module of features."""
        return JoinedHeads(self._fitted()[:members], self.member_weights[:members]).eval()

    def _fitted(self) -> list[Head]:
        if not hasattr(self, "heads_"):
            raise NotFitted("the ensemble has no members yet: call fit(features, labels) first.")
        return self.heads_

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all members to one .safetensors file, whole or not at all."""
        target = Path(path)
        if target.suffix != ".safetensors":
            raise BadInput(f"{target}: an ensemble is saved as .safetensors.")
        heads = self._fitted()
        if not target.parent.is_dir():
            raise MissingData(f"{target.parent} is not a folder; create it first.")
        states = [head.state_dict() for head in heads]
        tensors = {f"{e}.{n}": v.contiguous() for e, state in enumerate(states) for n, v in state.items()}
        facts = {
            "weights": self.member_weights,
            "seed": self.seed,
            "heads": [head.spec.as_dict() for head in heads],
            "learners": [learner.as_dict() for learner in self.learners],
        }
        with written_whole(target) as file:
            file.write(safetensors.torch.save(tensors, {"format": FORMAT, "facts": json.dumps(facts)}))
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MetaClassEnsemble:
        """Read what `save` wrote; nothing is unpickled."""
        source = Path(path)
        if not source.is_file():
            raise MissingData(f"{source} does not exist.")
        try:
            with safetensors.safe_open(source, framework="pt") as file:
                header = file.metadata() or {}
                if header.get("format") != FORMAT:
                    raise ValueError("it has another format")
                facts = read_json_object(header["facts"], "its facts")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            told = facts["learners"] if "learners" in facts else [facts["learner"]]
            learners = [Learner(**one | {"settings": TrainingSettings(**one["settings"])}) for one in told]
            made = cls(len(facts["heads"]), learners, weights=facts["weights"], seed=facts["seed"])
            heads = []
            for e, spec in enumerate(facts["heads"]):
                own = {n.partition(".")[2]: v for n, v in tensors.items() if n.partition(".")[0] == str(e)}
                heads.append(_head(spec, own))
            made.heads_, made.n_features_in_ = heads, heads[0].spec.inputs
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            raise BadInput(f"{source} is not an ensemble saved by foldwalk: {one_line(error)}.") from None
        return made


def _head(spec: dict[str, Any], weights: dict[str, Tensor]) -> Head:
    with torch.device("meta"):  # whatever sizes are declared, no memory is taken
        sizes = {name: array.shape for name, array in Head(HeadSpec(**spec)).state_dict().items()}
    if sizes != {name: array.shape for name, array in weights.items()}:
        raise ValueError("the weights of a head have other sizes than it says")
    if not all(bool(torch.isfinite(array).all()) for array in weights.values()):
        raise ValueError("the weights of a head are not finite")
    head = Head(HeadSpec(**spec))
    head.load_state_dict(weights)
    if head.chosen is not None and not 0 <= head.chosen.min() <= head.chosen.max() < head.spec.inputs:
        raise ValueError("a head sees features that there are not")
    return head.eval()
