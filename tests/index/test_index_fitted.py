"""Fitted methods: fitted once, kept in memory and on disk, forgotten when the vectors change."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput
from foldwalk.index import Index
from foldwalk.index.asking import fitted
from foldwalk.index.graph.knn import PROMISED
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.stores.arrays import get_arrays, put_arrays


@pytest.fixture
def saved(monkeypatch):
    """Small collections are kept on disk, too; counts how often CAS is fitted."""
    monkeypatch.setattr(fitted, "SAVED_FROM", 2)
    fits = []
    prepare = CAS._prepare

    def counted(self):
        fits.append(1)
        prepare(self)

    monkeypatch.setattr(CAS, "_prepare", counted)
    return fits


def test_a_method_is_fitted_once_for_each_version(index, saved, vectors):
    first = index.search("a3", method="cas").hits
    assert index.search("a3", method="cas").hits == first
    index.search(vectors[5], method="cas")
    assert len(saved) == 1
    index.search("a3", method="cas", parameters={"cluster_k": 10})
    assert len(saved) == 2
    index.remove(["a9"])
    index.search("a3", method="cas")
    assert len(saved) == 3


def test_the_next_process_reads_it_from_disk(index, saved):
    first = index.search("a3", method="cas").hits
    assert index.info().methods_fitted == ("cas",)
    files = list((index.path / "derived" / "fitted").iterdir())
    assert len(files) == 1
    with np.load(files[0]) as file:
        assert "vectors" not in file.files
    with Index.open(index.path) as again:
        assert again.info().methods_fitted == ("cas",)
        assert again.search("a3", method="cas").hits == first
    assert len(saved) == 1


@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_file_is_made_again(index, saved, damage):
    first = index.search("a3", method="cas").hits
    (path,) = (index.path / "derived" / "fitted").iterdir()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        np.savez(path, something=np.ones(3))
    with Index.open(index.path) as again:
        assert again.search("a3", method="cas").hits == first
    assert len(saved) == 2


def test_altered_arrays_are_fitted_again(index, saved):
    """Whole, with the right checksums, but leading out of the arrays: kernels never see them."""
    first = index.search("a3", method="cas").hits
    store, (group,) = index.store, index.store.groups("fitted")
    arrays = get_arrays(store, *group)
    for name, wrong in (
        ("rows.indices", np.full_like(arrays["rows.indices"], 10**8)),
        ("walk.indptr", arrays["walk.indptr"][::-1].copy()),
        ("scale", np.full_like(arrays["scale"], np.nan)),
        ("order", arrays["order"][:-1]),
    ):
        put_arrays(store, *group, arrays | {name: wrong})
        before = len(saved)
        with Index.open(index.path) as again:
            assert again.search("a3", method="cas").hits == first
        assert len(saved) == before + 1


def test_a_method_that_wants_more_neighbours_than_are_kept_finds_its_own(index, vectors):
    assert len(vectors) > 101 > PROMISED
    assert index.fitted("manifold_ranking", {"k": 20}).known_neighbors.k == PROMISED
    assert index.fitted("manifold_ranking", {"k": 101}).known_neighbors.k == 101


def test_whatever_else_is_wrong_is_said(index, monkeypatch):
    asked = []

    def refuse(self):
        asked.append(self.known_neighbors)
        raise BadInput("these vectors are of no use.")

    monkeypatch.setattr(CAS, "_prepare", refuse)
    with pytest.raises(BadInput, match="of no use"):
        index.fitted("cas")
    assert len(asked) == 1


def test_files_of_older_versions_are_removed(index, saved):
    index.search("a3", method="cas")
    (old,) = (index.path / "derived" / "fitted").iterdir()
    index.remove(["a9"])
    index.search("a3", method="cas")
    (new,) = (index.path / "derived" / "fitted").iterdir()
    assert old.name != new.name
    assert len(saved) == 2


def test_memory_holds_the_last_few(index, saved):
    for k in range(5, 5 + fitted.IN_MEMORY + 1):
        index.fitted("manifold_ranking", {"k": k})
    assert len(index._view._fitted._methods) == fitted.IN_MEMORY
    assert index.fitted("manifold_ranking", {"k": 9}).params.k == 9
    assert not saved


def test_it_ranks_as_a_method_that_was_fitted_directly(index, vectors):
    ours = index.fitted("k_reciprocal").rank_self(top=20)
    wanted = rerank.create("k_reciprocal").fit(vectors).rank_self(top=20)
    assert (ours.ids == wanted.ids).all()


def test_threads_share_one_fit(index, saved):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(index.search("a3", method="cas").hits)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(hits == found[0] for hits in found)
    assert len(saved) == 1
