"""A trained head as an ONNX file of its own: vectors in, unit vectors out, whatever made the vectors."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.whole_files import write_whole
from foldwalk.descriptors.backbones.base import need
from foldwalk.learn.trainer.onnx_files import to_onnx


class VectorModel(nn.Module):
    """Vectors (n, d) to unit vectors."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, vectors: Tensor) -> Tensor:
        return functional.normalize(self.head(vectors))


def export_vectors(head: nn.Module, dim: int, path: Path) -> None:
    """Write the head to an .onnx file, whole or not at all."""
    need("onnx", "images", "Exporting a model")
    write_whole(path, to_onnx(VectorModel(head), torch.ones(1, dim), "vectors", "learned"))
