"""Any loss of pytorch-metric-learning with classes: what the papers are compared with.

Losses go by name (triplet, semihard, lifted, n_pair, proxy_nca, angular, multi_similarity, contrastive,
ntxent, binomial) or by the class name they have in that library. A batch has a few classes with several
pictures each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from foldwalk.learn.sections import Section
from foldwalk.learn.training import ModelTraining
from foldwalk.learn.trainings import register

if TYPE_CHECKING:
    from foldwalk.learn.labelled import LabelledRecipe
    from foldwalk.learn.trainer.config import Config
    from foldwalk.learn.trainer.inputs import Inputs


class PmlSection(Section):
    loss: str = Field("binomial", description="a name, or a class name of pytorch-metric-learning")
    options: dict[str, Any] = Field({}, description="those of the loss's class, as the section [pml.options]")
    classes: int = Field(13, ge=2, description="classes in a batch")
    per_class: int = Field(10, ge=2, description="pictures of each of them, an even number")


@register
class Pml(ModelTraining[PmlSection]):
    name = "pml"
    summary = "any loss of pytorch-metric-learning by name, in batches of a few classes"
    paper = "Musgrave et al., PyTorch Metric Learning, 2020"
    needs_labels = True
    Parameters = PmlSection

    def recipe(self, config: Config, train: Inputs) -> LabelledRecipe:
        from foldwalk.learn.labelled import LabelledRecipe
        from foldwalk.learn.loss_names import make_loss

        own, seed = self.own, config.training.seed
        loss = make_loss(own.loss, own.options, int(train.classes.max()) + 1, config.model.dim, seed)
        return LabelledRecipe(train.classes, loss, own.classes, own.per_class, seed)
