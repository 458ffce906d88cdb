"""The method that a collection prefers: kept with it, and used where a search names none.

It belongs to no version of the vectors and stays when they change. Its version is the moment of the choice,
in nanoseconds. The folder of an index may be a stranger's: a preference that `tune` could not have made
counts as absent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, BadParameter, FoldwalkError
from foldwalk.core.json_text import read_json_object
from foldwalk.core.types import AnyArray
from foldwalk.index.types import Preference
from foldwalk.rerank.registry import describe, method_class
from foldwalk.stores import Store
from foldwalk.stores.arrays import get_arrays, put_arrays

KIND, ROW = "preference", "choice"
LONGEST = 20_000  # bytes
MOST_NEIGHBORS = 1_000  # a larger size costs more than anyone wants of a search that names no method


class KeptPreference:
    """The preference of one store, for the metric of its vectors."""

    def __init__(self, store: Store, metric: str) -> None:
        self.store, self.metric = store, metric

    def load(self) -> Preference | None:
        """None where there is none, or none that can be used."""
        version = max((group.version for group in self.store.groups(KIND)), default=None)
        arrays = None if version is None else get_arrays(self.store, KIND, version)
        try:
            return None if arrays is None else self._checked(arrays)
        except (FoldwalkError, KeyError, TypeError):
            return None

    def save(self, preference: Preference) -> bool:
        """Keep it in place of the one before; says whether there was room and the right to write."""
        version = time.time_ns()
        text = np.array(json.dumps(preference.as_dict()))
        if not put_arrays(self.store, KIND, version, {ROW: text}):
            return False
        self._drop(version)
        return True

    def forget(self) -> bool:
        """Says whether there is none now."""
        self._drop(None)
        return not self.store.groups(KIND)

    def _drop(self, before: int | None) -> None:
        for group in self.store.groups(KIND):
            if before is None or group.version < before:
                self.store.drop_rows(*group)

    def _checked(self, arrays: Mapping[str, AnyArray]) -> Preference:
        text = arrays[ROW]
        if text.dtype.kind != "U" or text.shape or text.nbytes > LONGEST:
            raise BadInput("the preference is no short text.")
        found = Preference(**read_json_object(str(text), "the preference", finite=True))
        if not isinstance(found.reason, str) or not isinstance(found.parameters, dict):
            raise BadInput("the preference is not as it should be.")
        check_choice(found.method, found.parameters, self.metric)
        return found


def check_choice(method: str, parameters: Mapping[str, Any], metric: str) -> None:
    """Refuse what no search may use by itself: unknown names, what trains, values out of range or costly."""
    card = describe(method)
    if card.needs_training:
        raise BadInput(f"{method} has to be trained; tune compares methods that need no training.")
    if parameters.get("metric", metric) != metric:
        raise BadInput(f"{method}: the index is by {metric}; leave out the parameter metric.")
    made = method_class(method)(**{**parameters, "metric": metric})
    for parameter in card.parameters:
        size = getattr(made.params, parameter.name)
        if parameter.neighborhood and size is not None and size > max(MOST_NEIGHBORS, parameter.default or 0):
            raise BadParameter(
                f"{method}: {parameter.name} is {size}, but tune compares sizes up to {MOST_NEIGHBORS}."
            )


def full_name(method: str, parameters: Mapping[str, Any]) -> str:
    """The method with the parameters that were given: `auto views=raw`."""
    return " ".join([method, *(f"{name}={value}" for name, value in parameters.items())])
