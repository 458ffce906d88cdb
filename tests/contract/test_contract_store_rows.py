"""What every store promises of rows, the bytes it keeps for others."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.index import Index


def test_rows_come_back_as_they_were_put(store):
    large = np.random.default_rng(0).bytes(3 * 2**20 + 5)
    rows = {"ids": b"\x00\x01", "empty": b"", "large": large, "view": memoryview(b"abc")}
    assert store.put_rows("graph", 7, rows)
    found = store.get_rows("graph", 7)
    assert found == {name: bytes(content) for name, content in rows.items()}
    found["ids"][0] = 5  # one's own
    assert store.get_rows("graph", 7, ["ids", "nobody"]) == {"ids": b"\x00\x01"}
    assert store.get_rows("graph", 8) is None
    assert store.get_rows("other", 7) is None
    assert store.put_rows("graph", 7, {"new": b"1"})
    assert store.get_rows("graph", 7) == {"new": b"1"}
    assert store.version() == 1  # what is derived is no change


def test_groups_are_listed_and_dropped(store):
    wanted = [("fitted/cas-1f", 7), ("fitted/cas-2e", 7), ("fitted/plain-3", 6), ("graph", 10), ("graph", 9)]
    for kind, version in wanted:
        assert store.put_rows(kind, version, {"a": b"1"})
    assert store.put_rows("graph-of-old", 3, {"a": b"1"})
    assert store.put_rows("fitted2", 3, {"a": b"1"})
    assert sorted(store.groups("graph")) == [("graph", 9), ("graph", 10)]
    assert store.groups("fitted") == wanted[:3]
    assert store.groups("fitted/cas-1f") == wanted[:1]
    assert store.groups("nothing") == []
    store.drop_rows("fitted/cas-1f", 7)
    store.drop_rows("fitted/cas-1f", 7)
    assert store.groups("fitted") == wanted[1:3]
    assert store.get_rows("fitted/cas-1f", 7) is None
    assert store.put_rows("fitted/cas-2e", 7, {"a": b"2"})  # the newest is the last
    assert store.groups("fitted") == [wanted[2], wanted[1]]


@pytest.mark.parametrize("kind_of_rows", ["../graph", "a/../b", "A", "", "/etc", "a b", "graph/"])
def test_a_kind_is_a_few_plain_words(store, kind_of_rows):
    with pytest.raises(BadInput, match="kind"):
        store.put_rows(kind_of_rows, 1, {"a": b"1"})


def test_what_a_collection_prefers_is_kept(store):
    index = Index(store)
    index.prefer("aqe", {"k": 3})
    assert Index(store).preferred() == ("aqe", {"k": 3})
    index.remove(["a1"])
    assert Index(store).preferred() == ("aqe", {"k": 3})
    assert index.forget_preferred()
    assert Index(store).preferred() is None
