"""Options of the form name=value, and names separated by commas."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from foldwalk.core import BadInput, BadParameter

if TYPE_CHECKING:
    from foldwalk.learn.trainings import TrainingCard
    from foldwalk.rerank import MethodCard

MOST_NESTED = 2  # as in mom.miner.graph_k
_WORDS = {"true": True, "false": False, "none": None}


def parse_value(text: str) -> Any:
    """A number, a truth value, None, or else the text itself.

    >>> [parse_value(t) for t in ("20", ".99", "true", "cosine")]
    [20, 0.99, True, 'cosine']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # a long row of signs is too much for it
        return text
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number else text


def parse_params(items: Iterable[str]) -> dict[str, Any]:
    """["k=20", "alpha=.9"] as {"k": 20, "alpha": 0.9}."""
    params: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise BadInput(f"--param {item} must read name=value, as in k=20.")
        if name.strip() in params:
            raise BadInput(f"--param {name.strip()} is given twice; give it once.")
        params[name.strip()] = parse_value(value.strip())
    return params


def parse_method_params(items: Iterable[str], methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """["cas.mu=.2"] as {"cas": {"mu": 0.2}}; every method named must be among those that run."""
    by_method: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for full_name, value in parse_params(items).items():
        method, dot, name = full_name.partition(".")
        if not dot or not name:
            raise BadInput(f"--param {full_name}={value} must read method.name=value, as in cas.mu=0.2.")
        if method not in by_method:
            raise BadInput(f"--param {full_name}={value} names the method {method}, which is not run.")
        by_method[method][name] = value
    return by_method


def parse_sections(items: Iterable[str]) -> dict[str, dict[str, Any]]:
    """["training.epochs=5", "mom.miner.graph_k=9"] as sections by name, those within others nested."""
    sections: dict[str, dict[str, Any]] = {}
    for full_name, value in parse_params(items).items():
        *above, name = full_name.split(".")
        if not above or not all((*above, name)) or len(above) > MOST_NESTED:
            raise BadInput(f"--param {full_name[:80]} must read section.name=value, as in training.epochs=5.")
        place: Any = sections
        for part in above:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise BadInput(f"--param {full_name[:80]}: {part} is a setting and a section at once.")
        if isinstance(place.get(name), dict):
            raise BadInput(f"--param {full_name[:80]}: {name} is a setting and a section at once.")
        place[name] = value
    return sections


def parse_variants(text: str, option: str) -> list[tuple[str, dict[str, Any]]]:
    """ "cas,auto views=raw" as [("cas", {}), ("auto", {"views": "raw"})]."""
    found = []
    for variant in parse_names(text, option):
        method, *given = variant.split()
        found.append((method, parse_params(given)))
    return found


def parse_names(text: str, option: str) -> list[str]:
    """ "a,b" as ["a", "b"], each once, in the order given."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise BadInput(f"{option} names nothing; separate names with commas.")
    return names


def refuse_large_neighborhoods(
    card: MethodCard | TrainingCard, params: Mapping[str, Any], n_items: int
) -> None:
    """An explicit neighbourhood size must be smaller than the number of gallery items."""
    for parameter in card.parameters:
        size = params.get(parameter.name)
        if parameter.neighborhood and isinstance(size, (int, float)) and size >= n_items:
            raise BadParameter(
                f"{card.name}: {parameter.name} is {size}, but it must be below the number of gallery items, "
                f"{n_items}."
            )
