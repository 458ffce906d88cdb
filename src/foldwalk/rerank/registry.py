"""Every method by name. A method registers itself; a file dropped into a family's folder is found."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from foldwalk.core.errors import UnknownName
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.params import Parameter, parameters_of

FAMILIES = ("expansion", "context", "diffusion", "learned", "automatic")

_methods: dict[str, type[Reranker]] = {}
Method = TypeVar("Method", bound=type[Reranker])


@dataclass(frozen=True)
class MethodCard:
    """What `describe` tells of a method."""

    name: str
    family: str
    summary: str
    paper: str
    parameters: tuple[Parameter, ...]


def register(method: Method) -> Method:
    """Class decorator: make a method known by its name."""
    known = _methods.get(method.name)
    if known is not None and known.__module__ != method.__module__:
        raise ValueError(f"two methods are called {method.name}: {known.__module__}, {method.__module__}")
    _methods[method.name] = method
    return method


@cache
def _discover() -> None:
    for family in FAMILIES:
        package = importlib.import_module(f"foldwalk.rerank.{family}")
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)


def names() -> list[str]:
    """Every method, plain search first, the others by family and name."""
    _discover()
    order = sorted(_methods.values(), key=lambda m: (m.name != "plain", FAMILIES.index(m.family), m.name))
    return [method.name for method in order]


def method_class(name: str) -> type[Reranker]:
    _discover()
    if name not in _methods:
        near = difflib.get_close_matches(str(name), _methods, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names())}."
        raise UnknownName(f"there is no method {name!r}; {hint}")
    return _methods[name]


def describe(name: str) -> MethodCard:
    """A method's card: family, paper, parameters with defaults and ranges."""
    method = method_class(name)
    return MethodCard(
        method.name, method.family, method.summary, method.paper, parameters_of(method.Parameters)
    )


def create(name: str, *, seed: int = 0, **parameters: Any) -> Reranker:
    """A method with these parameters; raises ValueError naming the parameter that is out of range."""
    method = method_class(name)
    return method(method.Parameters.make(name, parameters), seed)
