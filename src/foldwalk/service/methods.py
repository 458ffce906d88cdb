"""Which methods a visitor may choose, and how far their parameters may go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter
from foldwalk.service.answers import OfferedMethod, Parameter

# The metric is the index's; how neighbours are searched is for whoever runs the service to decide.
_SETTLED = frozenset({"metric", "search"})
# A count decides what a fit costs: a visitor may not ask for neighbourhoods of thousands.
_MOST, _MOST_SIZES = 200, 8


class Menu:
    """The methods on offer: those named, or else every one that needs no training, and the default."""

    def __init__(self, default: str, names: tuple[str, ...] = ()) -> None:
        cards = {name: rerank.describe(name) for name in (names or rerank.names())}
        untrained = [name for name, card in cards.items() if not card.needs_training]
        chosen = dict.fromkeys([*(names or untrained), default])
        self.cards = {name: _card(name) for name in chosen}

    def check(self, method: str, parameters: Mapping[str, Any]) -> None:
        """Raise what is wrong with a choice before anything waits for it."""
        chosen = rerank.create(method, **parameters)
        if method not in self.cards:
            raise BadInput(f"this service does not offer {method}; it has {', '.join(self.cards)}.")
        allowed = {parameter.name: parameter for parameter in self.cards[method].parameters}
        for name, value in chosen.Parameters.with_preset(method, dict(parameters)).items():
            if name not in allowed:
                raise BadParameter(f"{method}: {name} is settled by the index and cannot be chosen.")
            _refuse_long(method, name, getattr(chosen.params, name))
            most = allowed[name].high
            if most is not None and not isinstance(value, str) and value > most:
                raise BadParameter(f"{method}: {name} is {value}, but this service allows at most {most:g}.")


def _refuse_long(method: str, name: str, value: Any) -> None:
    """A list of sizes, which is a text, costs what its largest costs, times how many there are."""
    sizes = [int(size) for size in re.findall(r"\d+", value)] if isinstance(value, str) else []
    if len(sizes) > _MOST_SIZES or max(sizes, default=0) > _MOST:
        raise BadParameter(
            f"{method}: {name} is {value!r}, but here at most {_MOST_SIZES} sizes up to {_MOST} are allowed."
        )


def _card(name: str) -> OfferedMethod:
    card = OfferedMethod.model_validate(rerank.describe(name), from_attributes=True)
    card.parameters = [_limited(p) for p in card.parameters if p.name not in _SETTLED]
    return card


def _limited(parameter: Parameter) -> Parameter:
    if parameter.type != "int" or parameter.high is None:
        return parameter
    usual = parameter.default if isinstance(parameter.default, int) else 0
    high = min(parameter.high, max(_MOST, usual))
    allowed = f"{parameter.range.rpartition(' to ')[0]} to {high:g}"
    return parameter.model_copy(update={"high": high, "range": allowed})
