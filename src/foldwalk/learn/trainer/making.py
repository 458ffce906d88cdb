"""The model that a configuration names, before training and as one of pictures alone after it."""

from __future__ import annotations

from torch import nn

from foldwalk.learn.trainer.config import LITE0, Config, Model
from foldwalk.learn.trainer.export import NetworkPictures, PictureModel
from foldwalk.learn.trainer.inputs import Inputs
from foldwalk.learn.trainer.lite0 import LastBlocks, lite0
from foldwalk.learn.trainer.models import Head, HeadSpec, make_conv_net, make_head
from foldwalk.learn.trainer.network_model import NetworkModel, chosen_network


def make_model(config: Config, train: Inputs) -> nn.Module:
    """What is trained; its head begins with the features of the training items."""
    m, seed = config.model, config.training.seed
    if m.kind == "conv":
        return make_conv_net(m.dim, seed)
    spec = HeadSpec(
        "mlp" if m.kind == "mlp" else "linear",
        train.features.shape[1],
        m.dim,
        m.hidden,
        m.dropout,
        m.power,
        m.share,
    )
    head: Head = make_head(spec, train.features, m.init, m.shrinkage, seed)
    if m.streams:
        model = NetworkModel(*chosen_network(m), head)
        model.free(m.kind, m.blocks)
        return model
    return LastBlocks(lite0(), m.first_block, head) if m.kind == "last_blocks" else head


def of_pictures_alone(model: nn.Module, m: Model) -> PictureModel | NetworkPictures:
    """A trained model with all that stands before it: pictures in, unit vectors out."""
    model.cpu()
    if isinstance(model, NetworkModel):
        return NetworkPictures(model)
    if m.kind in ("linear", "mlp") and m.network != LITE0:
        return NetworkPictures(NetworkModel(*chosen_network(m), model))
    side = 28 if m.kind == "conv" else m.size
    return PictureModel(model, m.first_block, side, m.fit if m.kind == "last_blocks" else "squash")
