"""Square roots along the principal axes, each over its singular value to the power .25."""

from __future__ import annotations

from foldwalk.views.registry import register
from foldwalk.views.shared.whitened import Whitened


@register
class W25(Whitened):
    name = "w25"
    summary = "square roots, centred, along the principal axes, each over its singular value to the power .25"
    power = 0.25
