"""Plain values with a dictionary form for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any


class AsDict:
    """Mixin of dataclasses: the fields as a dictionary that JSON can hold."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload,no-any-return]
