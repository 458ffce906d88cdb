"""A trained model as one ONNX file that ``foldwalk index --backbone model.onnx`` takes.

How pictures are brought to its size and normalised stands in the file's metadata. Models of effnet_lite0 and
of grey pictures take ImageNet normalisation, what foldwalk gives an ONNX file by default, and undo it inside.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter, MissingData
from foldwalk.core.whole_files import written_whole
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.onnx_model import PREPROCESSING
from foldwalk.descriptors.networks.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from foldwalk.descriptors.networks.shared.lite0_maps import lite0
from foldwalk.learn.trainer.lite0 import BLOCKS, FirstBlocks, LastBlocks
from foldwalk.learn.trainer.models import Head, JoinedHeads, SmallConvNet
from foldwalk.learn.trainer.network_model import NetworkModel
from foldwalk.learn.trainer.onnx_files import to_onnx

FEATURES = 1280


class PictureModel(nn.Module):
    """Pictures (n, 3, side, side) in ImageNet normalisation, made square by `fit`, to unit vectors."""

    mean: Tensor
    spread: Tensor

    def __init__(self, model: nn.Module, first_block: int = 12, side: int = 224, fit: str = "squash") -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN).reshape(3, 1, 1))
        self.register_buffer("spread", torch.tensor(IMAGENET_STD).reshape(3, 1, 1))
        self.preprocessing = Preprocessing(size=side, fit=fit)
        if isinstance(model, (Head, JoinedHeads)):
            inputs = model.spec.inputs if isinstance(model, Head) else model.inputs
            if inputs != FEATURES:
                raise BadParameter(f"a head on {inputs} numbers is not one on effnet_lite0's 1280.")
            network = lite0()
            self.frozen: nn.Module = FirstBlocks(network, BLOCKS)
            self.trained: nn.Module = LastBlocks(network, BLOCKS, model)
        elif isinstance(model, LastBlocks):
            self.frozen, self.trained = FirstBlocks(lite0(), first_block), model
        elif isinstance(model, SmallConvNet):
            self.frozen, self.trained = Ink(), model
        else:
            raise BadInput(f"a {type(model).__name__} cannot be exported as a model of pictures.")

    def forward(self, pictures: Tensor) -> Tensor:
        pixels = pictures * self.spread + self.mean
        if not isinstance(self.frozen, Ink):
            pixels = (pixels - 127.0) / 128.0
        return functional.normalize(self.trained(self.frozen(pixels)))


class NetworkPictures(nn.Module):
    """Pictures (n, 3, side, side), normalised as the model's network wants them, to unit vectors."""

    def __init__(self, model: NetworkModel) -> None:
        super().__init__()
        self.model, self.preprocessing = model, model.preprocessing

    def forward(self, pictures: Tensor) -> Tensor:
        return functional.normalize(self.model.seen(pictures))


class Ink(nn.Module):
    """Colour pixels of 0 to 255 to how dark they are, from 0 to 1, (n, 1, h, w)."""

    def forward(self, pixels: Tensor) -> Tensor:
        grey = 0.299 * pixels[:, :1] + 0.587 * pixels[:, 1:2] + 0.114 * pixels[:, 2:]
        return 1 - grey / 255


def export_onnx(model: PictureModel | NetworkPictures, path: str | os.PathLike[str]) -> Path:
    """Write the model to an .onnx file, whole or not at all."""
    target = Path(path)
    if target.suffix != ".onnx":
        raise BadInput(f"{target}: a model is exported as .onnx.")
    if not target.parent.is_dir():
        raise MissingData(f"{target.parent} is not a folder; create it first.")
    onnx = need("onnx", "images", "Exporting a model")
    graph = onnx.load_from_string(in_onnx(model))
    graph.metadata_props.add(key=PREPROCESSING, value=json.dumps(model.preprocessing.as_dict()))
    with written_whole(target) as file:
        file.write(graph.SerializeToString())
    return target


def in_onnx(model: PictureModel | NetworkPictures) -> bytes:
    side = model.preprocessing.size
    return to_onnx(model, torch.zeros(1, 3, side, side), "pictures", "vectors")
