"""Square roots along the principal axes, each over its singular value to the power .50."""

from __future__ import annotations

from foldwalk.views.registry import register
from foldwalk.views.shared.whitened import Whitened


@register
class W50(Whitened):
    name = "w50"
    summary = "square roots, centred, along the principal axes, each over its singular value to the power .50"
    power = 0.50
