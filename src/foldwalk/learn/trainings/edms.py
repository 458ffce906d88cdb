"""Manifold similarity with hard proxies: classes thrown together, proxies that are hard to stay close to.

N. Aziere and S. Todorovic, "Ensemble deep manifold similarity learning using hard proxies", CVPR 2019.

A learner tells random meta-classes apart (section 4.1) by proxies that are moved away from what they stand
for (eq. 7), with similarities of a random walk inside each batch (eq. 9, 11, 12). Several `members` are an
ensemble (eq. 1), each on meta-classes of its own; `learn/edms/` has the parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from foldwalk.core.errors import BadParameter
from foldwalk.learn.sections import Section
from foldwalk.learn.training import ModelTraining
from foldwalk.learn.trainings import register

if TYPE_CHECKING:
    from foldwalk.learn.edms.learner import Learner
    from foldwalk.learn.trainer.config import Config
    from foldwalk.learn.trainer.inputs import Inputs
    from foldwalk.learn.trainer.job import Job, Trained
    from foldwalk.learn.trainer.recipe import Recipe


class EdmsSection(Section):
    variant: str = Field(
        "full",
        description="row of table 2: npair, walk, walk_proxies, intrinsic_hard, hard, full; or dreml",
    )
    loss: str = Field("", description="a loss by name, as for pml, in place of the variant")
    meta_classes: int = Field(50, ge=2, description="groups that the classes are thrown together into")
    members: int = Field(1, ge=1, description="learners; several are an ensemble")
    workers: int = Field(1, ge=1, description="processes that train them")
    batch: int = Field(128, ge=2, description="pictures in a batch")
    alpha: float = Field(0.8, gt=0, lt=1, description="weight of walking (eq. 9)")
    similarity: Literal["paper", "exponential"] = Field(
        "paper", description="affinity of the walk: max(s, 0), or exp(max(s, 0) / 0.05)"
    )
    diagonal: Literal["before", "after"] = Field(
        "before", description="when the affinities' diagonal becomes zero: before or after normalising"
    )
    scale: float | None = Field(
        None, gt=0, description="sharpens the similarities; 1: as printed; none: what was found best"
    )
    steps: int = Field(100, ge=0, description="by which a proxy is moved before each epoch")
    proxy_rate: float = Field(1e-3, gt=0, description="how far in each step")


@register
class Edms(ModelTraining[EdmsSection]):
    name = "edms"
    summary = "random meta-classes, hard proxies and a walk inside each batch; one learner or an ensemble"
    paper = "Aziere and Todorovic, Ensemble deep manifold similarity learning using hard proxies, CVPR 2019"
    needs_labels = True
    Parameters = EdmsSection

    def recipe(self, config: Config, train: Inputs) -> Recipe:
        return self.learner(config).recipe(train.classes, config.training.seed)

    def run(self, job: Job) -> Trained:
        return super().run(job) if self.own.members == 1 else self._run_ensemble(job)

    def learner(self, config: Config) -> Learner:
        """How each member learns."""
        from foldwalk.learn.edms.learner import Learner

        m = config.model
        return Learner(
            dim=m.dim,
            head=m.kind,
            init=m.init,
            shrinkage=m.shrinkage,
            dropout=m.dropout,
            power=m.power,
            share=m.share,
            settings=config.training.model_copy(update={"evaluate_every": 0}),
            **self.own.model_dump(exclude={"members", "workers"}),
        )

    def _run_ensemble(self, job: Job) -> Trained:
        """All members at once: measured member by member, kept as ensemble.safetensors too."""
        from foldwalk.learn.edms.ensemble import MetaClassEnsemble
        from foldwalk.learn.trainer.checkpoint import NAME
        from foldwalk.learn.trainer.evaluation import evaluate_embedding
        from foldwalk.learn.trainer.folders import folder_for
        from foldwalk.learn.trainer.job import Trained
        from foldwalk.learn.trainer.logs import Log
        from foldwalk.learn.trainer.processes import count, is_main

        config, test, members = job.config, job.test, self.own.members
        if config.model.kind not in ("linear", "mlp"):
            raise BadParameter("an ensemble is one of heads: set model.kind to linear or mlp.")
        if count() > 1 and self.own.workers > 1:
            raise BadParameter("edms.workers is for a training in one process: leave it out with torchrun.")
        ensemble = MetaClassEnsemble(
            members, self.learner(config), seed=config.training.seed, workers=self.own.workers
        )
        folder = job.folder if is_main() else None
        checkpoint = None if job.folder is None else job.folder / NAME
        with folder_for(folder, checkpoint):
            ensemble.fit(job.train.features, job.train.classes, checkpoint=checkpoint)
            history: list[dict[str, float]] = []
            for first in range(1, members + 1):
                figures = {}
                if test is not None:
                    joined = ensemble.transform(test.features, first)
                    figures = evaluate_embedding(joined, test.classes, config.training.clustering)
                history.append({"epoch": first, **figures})
            if folder is not None:
                ensemble.save(folder / "ensemble.safetensors")
                with Log(folder, history):
                    pass
        return Trained(ensemble.module(), history)
