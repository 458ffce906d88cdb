"""Models that turn pictures into vectors, one per file, found by name, behind `backbone(model)`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from foldwalk.core.errors import BadParameter, UnknownName
from foldwalk.core.registry import Registry
from foldwalk.descriptors.backbones.base import Backbone

__all__ = [
    "DEFAULT",
    "FOR_INDEXES",
    "Backbone",
    "BackboneCard",
    "backbone",
    "backbone_class",
    "describe",
    "is_known",
    "lasting_name",
    "names",
    "register",
]

DEFAULT = "effnet_lite0"  # what stored features and heads trained on them stand on
FOR_INDEXES = "effnet_lite0:rmac"  # what new indexes have: docs/descriptors.md, which vectors are best
_backbones: Registry[type[Backbone]] = Registry("backbone", [__name__])
Kind = TypeVar("Kind", bound=type[Backbone])


@dataclass(frozen=True)
class BackboneCard:
    """What `describe` tells of a backbone.

    `named` is how a user names a model of this kind, `extra` what has to be installed with foldwalk for it.
    """

    name: str
    summary: str
    named: str
    example: str
    dimensions: str
    extra: str
    remark: str
    options: dict[str, Any]


def register(kind: Kind) -> Kind:
    """Class decorator: make a backbone known by its name."""
    _backbones.register(kind)
    return kind


def names() -> list[str]:
    """Every kind of backbone; how a user names a model of it stands on its card."""
    return _backbones.names()


def backbone_class(name: str) -> type[Backbone]:
    return _backbones.get(name)


def describe(name: str) -> BackboneCard:
    """A backbone's card: how it is named, dimensions, options with defaults, what it needs."""
    k = backbone_class(name)
    return BackboneCard(k.name, k.summary, k.named, k.example, k.dimensions, k.extra, k.remark, _options(k))


def backbone(model: str | Path | Callable[..., Any] | Backbone = DEFAULT, **options: Any) -> Backbone:
    """A backbone by name, `library:NAME`, path of an ONNX file, or from a function of pictures.

    >>> backbone("pixels", size=(8, 8)).dim
    64
    """
    if isinstance(model, Backbone):
        if options:
            raise BadParameter(f"{model.name} is made already: hand in options when it is created.")
        return model
    known = _backbones.entries()
    for kind in known.values():
        arguments = kind.claim(model)
        if arguments is not None:
            return _make(kind, arguments, options)
    near = difflib.get_close_matches(str(model), known, n=1)
    forms = [kind.named for kind in known.values()]
    hint = f"did you mean {known[near[0]].named}?" if near else f"there are {', '.join(forms)}."
    raise UnknownName(f"there is no backbone {model!r}; {hint}")


def is_known(model: str) -> bool:
    """Whether `backbone` would make something of this text; nothing is made or imported for it."""
    return any(kind.claim(model) is not None for kind in _backbones.entries().values())


def lasting_name(model: str | os.PathLike[str]) -> str | None:
    """A name as it can be noted: a file or folder by its whole path; None for one that nobody claims."""
    for kind in _backbones.entries().values():
        if kind.claim(model) is not None:
            return kind.lasting(model)
    return None


def _options(kind: type[Backbone]) -> dict[str, Any]:
    """What its constructor takes by name alone; a kind may do without a constructor."""
    return dict(getattr(kind.__init__, "__kwdefaults__", None) or {})


def _make(kind: type[Backbone], arguments: tuple[Any, ...], options: dict[str, Any]) -> Backbone:
    allowed = _options(kind)
    for option in options:
        if option not in allowed:
            known = ", ".join(allowed) or "none"
            raise BadParameter(f"{kind.__name__} has no option {option!r}; there are {known}.")
    return kind(*arguments, **options)
