"""Networks of pictures that describe and can be trained: one kind per file, found by how a user names it.

`load("hf:./folder")` gives a `Network`: what it is called, how pictures are prepared, and a torch module from
pixels to a map of local features. Nothing here imports torch before a network is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foldwalk.core.errors import UnknownName
from foldwalk.core.registry import Registry
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing

if TYPE_CHECKING:
    from torch import nn

    from foldwalk.descriptors.networks.shared.network import Network

__all__ = [
    "Kind",
    "NetworkCard",
    "Preprocessing",
    "describe",
    "from_module",
    "is_known",
    "kinds",
    "load",
    "names",
    "register",
]

_kinds: Registry[type[Kind]] = Registry("kind of network", [__name__])


@dataclass(frozen=True)
class NetworkCard:
    """What `describe` tells of a kind: `named` is how a user names a network of it."""

    name: str
    summary: str
    named: str
    example: str
    extra: str
    remark: str


def register(kind: type[Kind]) -> type[Kind]:
    """Class decorator: make a kind of network known by its name."""
    return _kinds.register(kind)


def names() -> list[str]:
    """Every kind of network; how a user names one of it stands on its card."""
    return _kinds.names()


def kinds() -> dict[str, type[Kind]]:
    return _kinds.entries()


def describe(name: str) -> NetworkCard:
    """The card of a kind."""
    k = _kinds.get(name)
    return NetworkCard(k.name, k.summary, k.named, k.example, k.extra, k.remark)


def is_known(model: str) -> bool:
    """Whether `load` would try to make something of this text; nothing is made or imported for it."""
    return any(kind.claim(model) is not None for kind in _kinds.entries().values())


def load(model: str) -> Network:
    """The network a user names, on the processor, in evaluation mode."""
    for kind in _kinds.entries().values():
        own = kind.claim(model)
        if own is not None:
            return kind.load(model, own)
    forms = ", ".join(kind.named for kind in _kinds.entries().values())
    raise UnknownName(f"there is no network {model!r}; there are {forms}.")


def from_module(
    module: nn.Module, *, preprocessing: Preprocessing, name: str, version: str = "1", **options: Any
) -> Network:
    """A torch module of one's own: normalised pixels (n, 3, h, w) to a map, a vector, or `Seen`.

    `options` are those of `foldwalk.descriptors.networks.shared.own.own_network`.
    """
    from foldwalk.descriptors.networks.shared.own import own_network

    return own_network(module, preprocessing=preprocessing, name=name, version=version, **options)
