"""A trained head as an ONNX file of its own: vectors in, unit vectors out, whatever made the vectors."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.whole_files import write_whole
from foldwalk.descriptors.backbones.base import need


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
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of its own age
        torch.onnx.export(
            VectorModel(head).eval(),
            (torch.ones(1, dim),),
            written,  # type: ignore[arg-type]
            dynamo=False,
            input_names=["vectors"],
            output_names=["learned"],
            dynamic_axes={"vectors": {0: "batch"}, "learned": {0: "batch"}},
        )
    write_whole(path, written.getvalue())
