"""The vectors as they are."""

from __future__ import annotations

from typing import Self

from foldwalk.core.types import Float32Array
from foldwalk.views.base import Collection, View
from foldwalk.views.registry import register


@register
class Raw(View):
    name = "raw"
    summary = "the vectors as they are"

    def learn(self, collection: Collection) -> Self:  # noqa: ARG002
        return self

    def see(self, values: Float32Array) -> Float32Array:
        return values
