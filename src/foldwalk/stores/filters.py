"""Which items a search may answer, by their metadata.

    {"place": "Oslo"}                 equal; a field that is a list matches if one of its members is equal
    {"place": ["Oslo", "Bergen"]}     one of these
    {"year": {"min": 1990}}           from, to or between, of numbers or of texts

All conditions must hold. An item that lacks the field does not match, except for the value None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import BoolArray

Test = Callable[[Any], bool]


def allowed(metadata: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> BoolArray:
    """True for every item that meets all conditions."""
    if not isinstance(where, Mapping):
        raise BadInput(f"where must be a dictionary of fields and values, but it is {where!r}.")
    mask = np.ones(len(metadata), bool)
    for field, condition in where.items():
        test = _test(field, condition)
        mask &= np.fromiter((_holds(item.get(field), test) for item in metadata), bool, len(metadata))
    return mask


def _holds(value: Any, test: Test) -> bool:
    return any(test(member) for member in value) if isinstance(value, list) else test(value)


def _test(field: object, condition: Any) -> Test:
    if not isinstance(field, str):
        raise BadInput(f"where: a field is named by text, but {field!r} is not.")
    if isinstance(condition, Mapping):
        return _between(field, condition)
    values = condition if isinstance(condition, (list, tuple, set, frozenset)) else [condition]
    kinds = [_kind(value) for value in values]
    if "other" in kinds:
        raise BadInput(f"where: {field} is compared with texts, numbers, true, false or None only.")
    wanted = set(zip(kinds, values, strict=True))
    return lambda found: (kind := _kind(found)) != "other" and (kind, found) in wanted


def _between(field: str, limits: Mapping[str, Any]) -> Test:
    if not limits or not set(limits) <= {"min", "max"}:
        raise BadInput(f'where: a range of {field} has "min", "max" or both and nothing else.')
    low, high = limits.get("min"), limits.get("max")
    kinds = {_kind(limit) for limit in (low, high) if limit is not None}
    if len(kinds) != 1 or not kinds <= {"number", "text"}:
        raise BadInput(f"where: the range of {field} must be between two numbers or two texts.")
    (kind,) = kinds

    def test(found: Any) -> bool:
        return _kind(found) == kind and (low is None or found >= low) and (high is None or found <= high)

    return test


def _kind(value: Any) -> str:
    """True is not 1: JSON tells them apart."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "nothing" if value is None else "other"
