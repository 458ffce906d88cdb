"""Every store by name and by the scheme of its URLs. A store registers itself; a file here is found."""

from __future__ import annotations

import os
from typing import TypeVar

from foldwalk.core.errors import UnknownName
from foldwalk.core.registry import Registry
from foldwalk.stores.base import Store
from foldwalk.stores.types import StoreCard

PathLike = str | os.PathLike[str]
PLAIN_PATH = "folder"

_stores: Registry[type[Store]] = Registry("store", ["foldwalk.stores"])
Kind = TypeVar("Kind", bound=type[Store])


def register(store: Kind) -> Kind:
    """Class decorator: make a store known by its name and schemes."""
    _stores.register(store)
    return store


def names() -> list[str]:
    """Every store."""
    return _stores.names()


def store_class(name: str) -> type[Store]:
    return _stores.get(name)


def describe(name: str) -> StoreCard:
    """A store's card: the schemes of its URLs, what it is, what it needs."""
    store = store_class(name)
    return StoreCard(store.name, store.schemes, store.summary, store.extra)


def open_store(place: PathLike) -> Store:
    """The store at a URL or path."""
    return _at(place).open(os.fspath(place))


def create_store(place: PathLike, metric: str = "cosine", backbone: str | None = None) -> Store:
    """A new, empty store at a URL or path; `backbone` is the name of what will describe pictures."""
    return _at(place).create(os.fspath(place), metric, backbone)


def exists(place: PathLike) -> bool:
    """Whether something is at a URL or path already."""
    return _at(place).exists(os.fspath(place))


def _at(place: PathLike) -> type[Store]:
    scheme, separator, _ = os.fspath(place).partition("://")
    if not separator:
        return store_class(PLAIN_PATH)
    stores = _stores.entries().values()
    for store in stores:
        if scheme.lower() in store.schemes:
            return store
    known = ", ".join(f"{known}://" for store in stores for known in store.schemes)
    raise UnknownName(
        f"no store has addresses that begin with {scheme}://; known are {known} and plain paths."
    )
