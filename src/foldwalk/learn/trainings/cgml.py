"""Graph consistency beside any loss: two random samples of the same classes should give the same graph.

B. Chen, P. Li, Z. Yan, B. Wang and L. Zhang, "Deep metric learning with graph consistency", AAAI 2021.

    L = L_m + weight L_gc                                                                           (eq. 4)

A batch has two halves of the same classes; L_gc is eq. 3, or eq. 1 without `bound`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from foldwalk.learn.trainings import register
from foldwalk.learn.trainings.pml import Pml, PmlSection

if TYPE_CHECKING:
    from foldwalk.learn.labelled import LabelledRecipe
    from foldwalk.learn.trainer.config import Config
    from foldwalk.learn.trainer.inputs import Inputs


class CgmlSection(PmlSection):
    weight: float = Field(0.002, ge=0, description="of the consistency beside the loss (lambda of eq. 4)")
    bound: bool = Field(True, description="eq. 3, the bound; without it eq. 1")
    sigma: float | Literal["median"] = Field(
        1.0, description="width of the affinities; median: of the squared distances in a batch"
    )


@register
class Cgml(Pml):
    name = "cgml"
    summary = "a term that makes the graphs of two random samples agree, beside any loss"
    paper = "Chen et al., Deep metric learning with graph consistency, AAAI 2021"
    Parameters = CgmlSection
    own: CgmlSection

    def recipe(self, config: Config, train: Inputs) -> LabelledRecipe:
        from foldwalk.learn.cgml import GraphConsistencyLoss

        made = super().recipe(config, train)
        made.module = GraphConsistencyLoss(made.module, self.own.weight, self.own.bound, self.own.sigma)
        return made
