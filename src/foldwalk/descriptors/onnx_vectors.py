"""Vectors to vectors by an ONNX file, such as the head that ``foldwalk train`` makes of vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.core.errors import BadInput, one_line
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.descriptors.backbones.onnx_model import open_session

AXES = 2  # of vectors in rows


class OnnxVectors:
    """Takes vectors of `dim` numbers."""

    def __init__(self, path: Path) -> None:
        self.path, self._session = path, open_session(path)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        shape = inputs[0].shape if len(inputs) == 1 else []
        if len(shape) != AXES or not isinstance(shape[1], int) or inputs[0].type != "tensor(float)":
            raise BadInput(f"{path} is no model of vectors; one that describes pictures goes by --backbone.")
        self.dim, self._input, self._output = shape[1], inputs[0].name, outputs[0].name

    def transform(self, vectors: AnyArray) -> Float32Array:
        """What becomes of vectors (n, dim)."""
        rows = Vectors.check(vectors, "vectors", self.dim).values
        try:
            found = self._session.run([self._output], {self._input: rows})[0]
        except Exception as error:  # ONNX Runtime has a class for every kind of failure
            raise BadInput(f"{self.path} fails on vectors: {one_line(error)}.") from None
        learned = Vectors.check(np.asarray(found), f"what {self.path} makes of vectors").values
        if len(learned) != len(rows):
            raise BadInput(f"{self.path} makes {len(learned)} vectors of {len(rows)}.")
        return learned
