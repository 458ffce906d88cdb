"""Each store in turn: every class that is registered, and the least a store can be."""

from __future__ import annotations

import pytest
from store_hooks import CLASSES, HOOKS, VECTORS, labelled

from foldwalk.core import Vectors
from foldwalk.stores import Store


@pytest.fixture(params=CLASSES)
def kind(request) -> type[Store]:
    return CLASSES[request.param]


@pytest.fixture
def address(kind, tmp_path) -> str:
    assert kind.name in HOOKS, f"tell tests/contract/store_hooks.py how to make an empty {kind.name}"
    return HOOKS[kind.name].address(tmp_path)


@pytest.fixture
def make(kind, address):
    """An empty store, erased in the end."""
    made = []

    def make_store(metric="cosine", backbone=None) -> Store:
        made.append(kind.create(address, metric, backbone))
        return made[-1]

    yield make_store
    for store in made:
        if kind.exists(address):
            store.erase()
        assert not kind.exists(address)


@pytest.fixture
def store(make) -> Store:
    """60 items a0, a1, ... with metadata."""
    made = make()
    made.upsert(Vectors(VECTORS), labelled())
    return made
