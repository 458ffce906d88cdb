"""One trainer for all methods: frozen features with a head, or the last blocks of a network."""

from foldwalk.learn.trainer.evaluation import evaluate_embedding, split_classes
from foldwalk.learn.trainer.loop import Settings, Trainer
from foldwalk.learn.trainer.loss_names import make_loss
from foldwalk.learn.trainer.models import Head, HeadSpec, SmallConvNet, make_conv_net, make_head
from foldwalk.learn.trainer.recipes import LabelledRecipe, MinedRecipe, ProxyRecipe, Recipe

__all__ = [
    "Head",
    "HeadSpec",
    "LabelledRecipe",
    "MinedRecipe",
    "ProxyRecipe",
    "Recipe",
    "Settings",
    "SmallConvNet",
    "Trainer",
    "evaluate_embedding",
    "make_conv_net",
    "make_head",
    "make_loss",
    "split_classes",
]
