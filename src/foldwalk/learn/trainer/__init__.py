"""One trainer for all trainings: frozen features with a head, or the last blocks of a network.

It knows none of them by name: `foldwalk.learn.trainings` does.
"""

from foldwalk.learn.trainer.evaluation import evaluate_embedding, split_classes
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import Head, HeadSpec, SmallConvNet, make_conv_net, make_head
from foldwalk.learn.trainer.recipe import Recipe
from foldwalk.learn.trainer.settings import TrainingSettings

__all__ = [
    "Head",
    "HeadSpec",
    "Recipe",
    "SmallConvNet",
    "Trainer",
    "TrainingSettings",
    "evaluate_embedding",
    "make_conv_net",
    "make_head",
    "split_classes",
]
