"""An ensemble of learners, each on meta-classes of its own, that act as one (section 3).

    s(q, n) = sum_e w_e x_q^(e) x_n^(e)                                                             (eq. 1)

The embedding of the ensemble is its members' unit vectors one after the other, each times sqrt(w_e): then the
dot product is eq. 1. Members are trained independently, in as many processes as asked for.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter, MissingData, NotFitted
from foldwalk.core.labels import check_labels
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole
from foldwalk.descriptors.backbones.base import cores
from foldwalk.learn.edms.learner import Learner, train_member
from foldwalk.learn.trainer.loop import Settings
from foldwalk.learn.trainer.models import Head, HeadSpec

__all__ = ["JoinedHeads", "Learner", "MetaClassEnsemble"]

FORMAT = "foldwalk ensemble 1"


class JoinedHeads(nn.Module):
    """Unit vectors of all heads one after the other, each times the root of its weight."""

    def __init__(self, heads: Sequence[Head], weights: Sequence[float]) -> None:
        super().__init__()
        self.heads, self.roots = nn.ModuleList(heads), [weight**0.5 for weight in weights]
        self.inputs = heads[0].spec.inputs

    def forward(self, features: Tensor) -> Tensor:
        parts = [functional.normalize(h(features)) * r for h, r in zip(self.heads, self.roots, strict=True)]
        return torch.cat(parts, dim=1)


class MetaClassEnsemble:
    """`members` learners on random meta-classes; `weights` are w of eq. 1, all 1 by default.

    `learner` is how each of them learns; several, for instance with losses of their own, take turns.

    >>> MetaClassEnsemble(5).fit(features, labels).transform(features).shape    # doctest: +SKIP
    (5864, 640)
    """

    def __init__(
        self,
        members: int = 5,
        learner: Learner | Sequence[Learner] | None = None,
        *,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        if members < 1 or workers < 1:
            raise BadParameter(f"members ({members}) and workers ({workers}) must be at least 1.")
        self.weights = [1.0] * members if weights is None else [float(w) for w in weights]
        if len(self.weights) != members or min(self.weights) < 0 or not any(self.weights):
            raise BadParameter(f"weights must be {members} numbers of 0 or more, not all 0.")
        given = [learner or Learner()] if isinstance(learner, Learner | None) else list(learner)
        if not given:
            raise BadParameter("an ensemble needs at least one learner.")
        self.members, self.learners = members, [given[member % len(given)] for member in range(members)]
        self.seed, self.workers = seed, workers
        self.heads: list[Head] = []

    def fit(self, features: npt.ArrayLike, labels: npt.ArrayLike) -> MetaClassEnsemble:
        """Train all members on features (n, d) and their classes."""
        x = Vectors.check(features, "features").values
        codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1].astype(np.int64)
        if len(codes) != len(x):
            raise BadInput(f"there are {len(codes)} labels for {len(x)} features; pass one per feature.")
        alike = {id(one): one.start(x, self.seed) for one in self.learners if one.begins_alike}
        tasks = [(one, alike.get(id(one)), x, codes, self.seed + e) for e, one in enumerate(self.learners)]
        if self.workers == 1:
            before = torch.get_num_threads()
            trained = [train_member(*task, before) for task in tasks]
        else:
            threads = max(1, cores() // self.workers)
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
                jobs = [pool.submit(train_member, *task, threads) for task in tasks]
                trained = [job.result() for job in jobs]
        self.heads = [_head(spec, weights) for spec, weights in trained]
        return self

    @torch.no_grad()
    def transform(self, features: npt.ArrayLike, members: int | None = None) -> Float32Array:
        """The embedding (n, members x dim), of length one; of the first `members` only if asked."""
        joined = self.module(members)
        x = torch.from_numpy(Vectors.check(features, "features", self.heads[0].spec.inputs).values)
        return np.asarray(functional.normalize(joined(x)).numpy(), dtype=np.float32)

    def module(self, members: int | None = None) -> JoinedHeads:
        """All members as one module of features."""
        if not self.heads:
            raise NotFitted("the ensemble has no members yet: call fit(features, labels) first.")
        return JoinedHeads(self.heads[:members], self.weights[:members]).eval()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all members to one .safetensors file, whole or not at all."""
        target = Path(path)
        if target.suffix != ".safetensors":
            raise BadInput(f"{target}: an ensemble is saved as .safetensors.")
        if not self.heads:
            raise NotFitted("the ensemble has no members yet: call fit(features, labels) first.")
        if not target.parent.is_dir():
            raise MissingData(f"{target.parent} is not a folder; create it first.")
        states = [head.state_dict() for head in self.heads]
        tensors = {f"{e}.{n}": v.contiguous() for e, state in enumerate(states) for n, v in state.items()}
        facts = {"weights": self.weights, "seed": self.seed, "heads": [h.spec.as_dict() for h in self.heads]}
        facts["learners"] = [asdict(learner) for learner in self.learners]
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
                facts = json.loads(header["facts"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            told = facts["learners"] if "learners" in facts else [facts["learner"]]
            learners = [Learner(**one | {"settings": Settings(**one["settings"])}) for one in told]
            made = cls(len(facts["heads"]), learners, weights=facts["weights"], seed=facts["seed"])
            for e, spec in enumerate(facts["heads"]):
                own = {n.partition(".")[2]: v for n, v in tensors.items() if n.partition(".")[0] == str(e)}
                made.heads.append(_head(spec, own))
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            why = " ".join(str(error).split())[:200]
            raise BadInput(f"{source} is not an ensemble saved by foldwalk: {why}.") from None
        return made


def _head(spec: dict[str, Any], weights: dict[str, Tensor]) -> Head:
    head = Head(HeadSpec(**spec))
    head.load_state_dict(weights)
    return head.eval()
