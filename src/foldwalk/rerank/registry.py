"""Every method by name. A method registers itself; a file dropped into a family's folder is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from foldwalk.core.registry import Registry
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.params import Parameter, Preset, parameters_of

# What ranks where nobody names a method and the collection prefers none.
DEFAULT = "auto"
FAMILIES = ("expansion", "context", "diffusion", "learned", "automatic")

_methods: Registry[type[Reranker]] = Registry("method", [f"foldwalk.rerank.{family}" for family in FAMILIES])
Method = TypeVar("Method", bound=type[Reranker])


@dataclass(frozen=True)
class MethodCard:
    """What `describe` tells of a method."""

    name: str
    family: str
    summary: str
    paper: str
    parameters: tuple[Parameter, ...]
    presets: dict[str, Preset]
    needs_training: bool
    joins_graph: bool
    answers_from_rows: bool
    takes_distances: bool

    def facts(self) -> dict[str, bool]:
        """What holds for it or does not, in words."""
        return {
            "Needs training": self.needs_training,
            "Queries join the graph": self.joins_graph,
            "Answers from stored rows": self.answers_from_rows,
            "Takes distances instead of vectors": self.takes_distances,
        }


def register(method: Method) -> Method:
    """Class decorator: make a method known by its name."""
    _methods.register(method)
    return method


def names() -> list[str]:
    """Every method, plain search first, the others by family and name."""
    methods = _methods.entries().values()
    order = sorted(methods, key=lambda m: (m.name != "plain", FAMILIES.index(m.family), m.name))
    return [method.name for method in order]


def method_class(name: str) -> type[Reranker]:
    return _methods.get(name)


def describe(name: str) -> MethodCard:
    """A method's card: family, paper, parameters with defaults and ranges."""
    method = method_class(name)
    return MethodCard(
        method.name,
        method.family,
        method.summary,
        method.paper,
        parameters_of(method.Parameters),
        method.Parameters.presets,
        method.needs_training,
        method.joins_graph,
        method.answers_from_rows,
        method.takes_distances,
    )


def create(name: str, *, seed: int = 0, **parameters: Any) -> Reranker:
    """A method with these parameters; raises ValueError naming the parameter that is out of range.

    `preset=` names parameters that belong together, as `describe` lists them; those given beside it win.
    """
    return method_class(name)(seed=seed, **parameters)
