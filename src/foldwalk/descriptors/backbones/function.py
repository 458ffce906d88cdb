"""Any Python function from a list of pictures to an array of one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import Backbone


@register
class FunctionBackbone(Backbone):
    """`function` is called with RGB pictures. `version` is part of the identity: change both together."""

    name = "function"
    summary = "any Python function from a list of pictures to an array of one row each"
    named = "a Python function"
    example = "backbone(function)"
    dimensions = "as many as the function returns"

    def __init__(
        self,
        function: Callable[[list[Image.Image]], npt.ArrayLike],
        *,
        version: str = "1",
        short_side: int | None = None,
    ) -> None:
        self.function = function
        module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        self.name = name or type(function).__name__
        self.short_side = short_side
        self.dim = self._call([Image.new("RGB", (224, 224), "grey")]).shape[1]
        self.identity = f"function {module}.{self.name} version {version}; {self.dim} dimensions"

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        return (model,) if callable(model) else None

    def prepare(self, picture: Image.Image) -> Image.Image:
        return picture.convert("RGB")

    def embed_prepared(self, prepared: Sequence[Image.Image]) -> Float32Array:
        if not prepared:
            return np.zeros((0, self.dim), dtype=np.float32)
        vectors = self._call(list(prepared))
        if vectors.shape[1] != self.dim:
            raise BadInput(f"{self.name} gave {self.dim} numbers per picture before, now {vectors.shape[1]}.")
        return vectors

    def _call(self, pictures: list[Image.Image]) -> Float32Array:
        vectors = Vectors.check(self.function(pictures), f"what {self.name} returns").values
        if len(vectors) != len(pictures):
            raise BadInput(f"{self.name} returned {len(vectors)} rows for {len(pictures)} pictures.")
        return vectors
