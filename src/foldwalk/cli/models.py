"""What ``--model`` and ``--start`` may name: a GRAD-Net in a file, a folder or an index; a head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foldwalk.cli.sources import is_index

if TYPE_CHECKING:
    from foldwalk.core.types import AnyArray, Float32Array
    from foldwalk.index import Index
    from foldwalk.learn import GradNet

FILE = "model.safetensors"


@dataclass(frozen=True, eq=False)
class VectorModel:
    """Vectors of `dim` numbers to learned features; `index` is where it is attached, if it is."""

    place: str
    dim: int
    transform: Callable[[AnyArray], Float32Array]
    index: Index | None = None


def open_model(place: str) -> VectorModel:
    """The model at a place. An index stays open for whoever asks it for its backbone."""
    from foldwalk.index import Index

    if is_index(place):
        index = Index.open(place)
        index.model()  # refuses where there is none
        return VectorModel(place, index.dim or 0, index.transform, index)
    if Path(place).suffix == ".onnx":
        from foldwalk.descriptors.onnx_vectors import OnnxVectors

        head = OnnxVectors(Path(place))
        return VectorModel(place, head.dim, head.transform)
    net = open_net(place)
    return VectorModel(place, net.vectors.dim, net.transform)


def open_net(place: str) -> GradNet:
    """The network itself."""
    from foldwalk.core import BadInput, MissingData
    from foldwalk.index import Index
    from foldwalk.learn import GradNet

    if is_index(place):
        with Index.open(place) as index:
            return index.model()
    path = Path(place)
    if path.suffix == ".onnx":
        raise BadInput(f"{path} describes pictures: name it by --backbone.")
    if path.is_dir():
        path = path / FILE
        if not path.is_file():
            raise MissingData(f"{place} has no {FILE}; name the folder of a finished training.")
    return GradNet.load(path)
