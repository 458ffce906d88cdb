"""Mining on Manifolds: an embedding without labels, from what a walk along the graph finds and search misses.

A. Iscen, G. Tolias, Y. Avrithis and O. Chum, "Mining on Manifolds: metric learning without labels", CVPR
2018.

Each epoch draws one tuple for every anchor: a positive of P+ (eq. 5), a negative of P- (eq. 6), in the
contrastive or triplet loss (eq. 7, 8). `learn/mining/miner.py` finds the pools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from foldwalk.learn.sections import Section
from foldwalk.learn.training import ModelTraining
from foldwalk.learn.trainings import register

if TYPE_CHECKING:
    from foldwalk.learn.mining.recipe import MinedRecipe
    from foldwalk.learn.trainer.config import Config
    from foldwalk.learn.trainer.inputs import Inputs


class MomSection(Section):
    miner: dict[str, Any] = Field({}, description="parameters of ManifoldMiner, as the section [mom.miner]")
    loss: Literal["triplet", "contrastive"] = Field("triplet", description="of a tuple: eq. 8 or eq. 7")
    margin: float = Field(0.5, gt=0, description="of the loss")
    weighted: bool = Field(True, description="weigh tuples by manifold similarity (+W)")
    hardest: int = Field(
        10, ge=0, description="negatives of a pool, the nearest now, that are drawn from; 0: all of it"
    )
    iterate: int = Field(0, ge=0, description="epochs after which graph and pools are built anew; 0: never")
    tuples: int = Field(42, ge=1, description="tuples in a batch")


@register
class Mom(ModelTraining[MomSection]):
    name = "mom"
    summary = "mined positives and negatives, where Euclidean and manifold neighbours disagree; no labels"
    paper = "Iscen et al., Mining on Manifolds: metric learning without labels, CVPR 2018"
    needs_labels = False
    Parameters = MomSection

    def recipe(self, config: Config, train: Inputs) -> MinedRecipe:
        from foldwalk.learn.mining import ManifoldMiner
        from foldwalk.learn.mining.recipe import MinedRecipe

        own, seed = self.own, config.training.seed
        return MinedRecipe(
            train.features,
            ManifoldMiner(seed=seed, **own.miner),
            labels=train.labels if "labels" in own.miner.values() else None,
            seed=seed,
            **own.model_dump(exclude={"miner"}),
        )
