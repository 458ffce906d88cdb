"""The signed square root of every number: what one large number says counts for less."""

from __future__ import annotations

from typing import Self

from foldwalk.core.types import Float32Array
from foldwalk.views.base import Collection, View, root
from foldwalk.views.registry import register


@register
class Rooted(View):
    name = "root"
    summary = "signed square roots, scaled to length one"

    def learn(self, collection: Collection) -> Self:  # noqa: ARG002
        return self

    def see(self, values: Float32Array) -> Float32Array:
        return root(values)
