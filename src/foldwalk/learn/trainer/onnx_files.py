"""Modules of torch as ONNX, for any number of items."""

from __future__ import annotations

import io
import warnings

import torch
from torch import Tensor, nn


def to_onnx(module: nn.Module, example: Tensor, taken: str, given: str) -> bytes:
    """The module as it is evaluated; its input and output are called `taken` and `given`."""
    file = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of its own age
        torch.onnx.export(
            module.eval(),
            (example,),
            file,  # type: ignore[arg-type]
            dynamo=False,
            input_names=[taken],
            output_names=[given],
            dynamic_axes={taken: {0: "batch"}, given: {0: "batch"}},
        )
    return file.getvalue()
