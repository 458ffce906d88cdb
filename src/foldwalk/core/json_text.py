"""JSON that every reader accepts, and that a terminal can show."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from foldwalk.core.shown import shown


def to_json(value: Any) -> str:
    """Indented JSON; NaN and infinities, which JSON does not have, become null.

    Control characters and what else a terminal would obey are escaped, other letters stay as they are.
    """
    text = json.dumps(_without_nan(value), indent=2, ensure_ascii=False, default=str, allow_nan=False)
    return "\n".join(shown(line, lambda letter: json.dumps(letter)[1:-1]) for line in text.split("\n"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
