"""Which methods a visitor may choose, and which parameters.

Everyone may choose each method on offer as it is by default, and its presets: so few fits that each is made
once for a version of the collection. Other parameters are for those who may choose freely, within limits.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter
from foldwalk.core.estimator import check_names
from foldwalk.index import Index
from foldwalk.rerank.registry import DEFAULT, method_class
from foldwalk.service.answers import OfferedMethod, OfferedPreset, Parameter
from foldwalk.service.settings import ServiceSettings

_log = logging.getLogger("foldwalk.service")

# The metric is the index's; how neighbours are searched is for whoever runs the service to decide.
_SETTLED = frozenset({"metric", "search"})
# A count decides what a fit costs: nobody may ask for neighbourhoods of thousands.
_MOST, _MOST_SIZES = 200, 8


@dataclass(frozen=True)
class Choice:
    """A method with those of its parameters that were given, as the method itself understood them.

    `offered` says that everyone may choose it.
    """

    method: str
    parameters: Mapping[str, Any]
    offered: bool

    @cached_property
    def name(self) -> str:
        """The same for the same choice, however it was written."""
        return json.dumps([self.method, self.parameters], sort_keys=True)


PLAIN = Choice("plain", {}, offered=True)


class Menu:
    """The methods on offer: those named, or else every one that needs no training, and the default.

    The default may have parameters, those that the index prefers: everyone may choose them, too.
    """

    def __init__(
        self, default: str, names: tuple[str, ...] = (), parameters: Mapping[str, Any] | None = None
    ) -> None:
        cards = {name: rerank.describe(name) for name in (names or rerank.names())}
        untrained = [name for name, card in cards.items() if not card.needs_training]
        chosen = dict.fromkeys([*(names or untrained), default])
        self._cards = {name: _card(name) for name in chosen}
        self._open = {name: _open(name) for name in chosen}
        preferred = self.choose(default, parameters or {}, free=True)
        self._open[default].append(method_class(default)(**preferred.parameters).params)
        self.default = replace(preferred, offered=True)

    def cards(self, free: bool) -> list[OfferedMethod]:
        """What may be chosen: parameters are listed for those who may choose them."""
        cards = self._cards.values()
        return [card if free else card.model_copy(update={"parameters": []}) for card in cards]

    def choose(self, method: str, parameters: Mapping[str, Any], free: bool) -> Choice:
        """The choice, or what is wrong with it, before anything waits for it."""
        kind = method_class(method)
        if method not in self._cards:
            raise BadInput(f"this service does not offer {method}; it has {', '.join(self._cards)}.")
        given = kind.Parameters.with_preset(method, dict(parameters))
        settled = sorted((_SETTLED | {"seed"}) & given.keys())
        if settled:
            raise BadParameter(f"{method}: {settled[0]} is settled by the index and cannot be chosen.")
        check_names(method, given, kind.Parameters.model_fields)
        asked = kind(**given)
        chosen = {name: getattr(asked.params, name) for name in given}
        if asked.params in self._open[method]:
            return Choice(method, chosen, offered=True)
        allowed = {parameter.name: parameter for parameter in self._cards[method].parameters}
        for name, value in chosen.items():
            _refuse_large(method, allowed[name], value)
        if not free:
            raise BadParameter(f"{method}: this service lets visitors choose {self._offer(method)} only.")
        return Choice(method, chosen, offered=False)

    def _offer(self, method: str) -> str:
        presets = [preset.name for preset in self._cards[method].presets]
        return f"its defaults or the preset {' or '.join(presets)}" if presets else "its defaults"


def menu_for(index: Index, settings: ServiceSettings) -> Menu:
    """With the default of the settings, else with what the index prefers as far as this service allows it."""
    if settings.method is not None:
        return Menu(settings.method, settings.methods)
    method, parameters = index.method_for()
    try:
        return Menu(method, settings.methods, parameters)
    except BadParameter as error:
        _log.warning("what the index prefers is not used: %s", error)
        return Menu(DEFAULT, settings.methods)


def _open(name: str) -> list[Any]:
    """The parameters that everyone may choose."""
    kind = method_class(name)
    return [kind().params, *(kind(preset=preset).params for preset in kind.Parameters.presets)]


def _refuse_large(method: str, parameter: Parameter, value: Any) -> None:
    """A count costs what it says; a list of sizes, which is a text, its largest times how many there are."""
    name, most = parameter.name, parameter.high
    if isinstance(value, (int, float)) and most is not None and value > most:
        raise BadParameter(f"{method}: {name} is {value}, but this service allows at most {most:g}.")
    sizes = [int(size) for size in re.findall(r"\d+", value)] if isinstance(value, str) else []
    if len(sizes) > _MOST_SIZES or max(sizes, default=0) > _MOST:
        raise BadParameter(
            f"{method}: {name} is {value!r}, but here at most {_MOST_SIZES} sizes up to {_MOST} are allowed."
        )


def _card(name: str) -> OfferedMethod:
    described = rerank.describe(name)
    return OfferedMethod(
        name=name,
        family=described.family,
        summary=described.summary,
        paper=described.paper,
        needs_training=described.needs_training,
        presets=[OfferedPreset(name=key, text=each.text) for key, each in described.presets.items()],
        parameters=[
            _limited(Parameter.model_validate(p)) for p in described.parameters if p.name not in _SETTLED
        ],
    )


def _limited(parameter: Parameter) -> Parameter:
    if parameter.type != "int" or parameter.high is None:
        return parameter
    usual = parameter.default if isinstance(parameter.default, int) else 0
    high = min(parameter.high, max(_MOST, usual))
    allowed = f"{parameter.range.rpartition(' to ')[0]} to {high:g}"
    return parameter.model_copy(update={"high": high, "range": allowed})
