"""JSON that every reader accepts and a terminal can show, and JSON of strangers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.core.shown import shown

DEEPEST = 100  # levels: what is read is written again, and compared, by functions that call themselves


def to_json(value: Any, indent: int | None = 2) -> str:
    """Indented JSON, or one line; NaN and infinities, which JSON does not have, become null.

    Control characters and what else a terminal would obey are escaped, other letters stay as they are.
    """
    text = json.dumps(_without_nan(value), indent=indent, ensure_ascii=False, default=str, allow_nan=False)
    return "\n".join(shown(line, lambda letter: json.dumps(letter)[1:-1]) for line in text.split("\n"))


def read_json(text: str | bytes, what: str, finite: bool = False) -> Any:
    """What a text holds, or one sentence, beginning with `what`, why it cannot be read.

    `finite` refuses NaN and infinities, which JSON does not have and Python writes all the same.
    """
    try:
        found = json.loads(text, parse_constant=_refuse if finite else None)
        if _has_brackets_for(text) and nested_too_deep(found):
            raise RecursionError
        return found
    except RecursionError:
        raise BadInput(f"{what} is not JSON that can be read: it is nested too deep.") from None
    except ValueError as error:  # broken JSON, bytes that are no text, a number of too many digits
        raise BadInput(f"{what} is not JSON that can be read: {str(error).rstrip('.')}.") from None


def read_json_object(text: str | bytes, what: str, finite: bool = False) -> dict[str, Any]:
    """The same of an object."""
    found = read_json(text, what, finite)
    if not isinstance(found, dict):
        raise BadInput(f"{what} must hold one JSON object.")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _has_brackets_for(text: str | bytes) -> bool:
    """Few texts have so many brackets that what they hold has to be walked through."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{") > DEEPEST
    return text.count("[") + text.count("{") > DEEPEST


def nested_too_deep(value: Any) -> bool:
    """Whether lists and dictionaries stand in each other beyond what is read."""
    level = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    """The lists and dictionaries in a list or a dictionary."""
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, (dict, list, tuple))]


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
