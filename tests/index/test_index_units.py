"""An index by Euclidean distances answers alike whatever its vectors are measured in."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import Vectors
from foldwalk.index import Index, Key
from foldwalk.index.graph.knn import WIDTH, KnnGraph
from foldwalk.neighbors import knn_graph, prepare
from foldwalk.stores.arrays import get_arrays, put_arrays
from samples import clustered

POINTS = 3 * clustered(n=120, d=16)[0] + 1
ASKED = 3 * clustered(n=3, d=16, seed=1)[0] + 1
UNITS = (1e-12, 1e-6, 1e6, 1e12)


def answers(index, unit):
    """Keys of every kind of answer, and similarities, which have no unit either."""
    keys, similarities = [], []
    for query in (*(unit * ASKED), Key("a7")):
        for method in ("plain", "dfs", "cas"):
            hits = index.search(query, top=10, method=method, fold=0.6).hits
            keys.append([(hit.key, hit.plain_rank, hit.duplicates) for hit in hits])
            similarities += [hit.similarity for hit in hits]
        told = index.explain(query, "a90", method="dfs")
        keys.append([step.key for step in told.steps] + [told.rank, told.plain_rank])
        similarities += [told.similarity, *(step.similarity for step in told.steps[1:])]
    found = index.store.search(unit * ASKED, 10)
    return [*keys, *found.keys, index.neighbors().ids.tolist()], similarities


def grown(make_index, unit):
    index = make_index(unit * POINTS[:100], f"{unit}.fold", metric="euclidean")
    index.add_vectors(unit * POINTS[100:], [f"a{i}" for i in range(100, 120)])
    index.remove(["a3", "a50"])
    return index


def test_the_unit_does_not_matter(make_index):
    wanted, true = answers(grown(make_index, 1), 1)
    assert any(len(hit[2]) for hits in wanted[:3] for hit in hits)  # some were folded
    for unit in UNITS:
        index = grown(make_index, unit)
        keys, similarities = answers(index, unit)
        assert keys == wanted
        assert np.allclose(similarities, true, atol=1e-5)
        assert np.allclose(index.vectors()[0], unit * POINTS[0], rtol=1e-6)  # kept as they were given
        assert index.verify().ok
        with Index.open(index.path) as again:
            assert answers(again, unit) == (keys, similarities)


@pytest.mark.parametrize("unit", UNITS)
def test_stored_vectors_are_found_in_order(make_index, unit):
    found = make_index(unit * POINTS, metric="euclidean").store.search(unit * ASKED, 120)
    distances = np.linalg.norm(ASKED[:, None].astype(float) - POINTS, axis=2)
    order = np.argsort(distances, axis=1)
    assert (np.array(found.keys) == np.char.add("a", order.astype(str))).mean() > 0.99
    true = 1 / (1 + unit * np.sort(distances, axis=1))
    assert np.allclose(found.similarities, true, rtol=1e-4)


def legacy(make_index, n=120):
    """An index whose graph has no scale: its similarities are 1 / (1 + d) of the vectors as they are."""
    index = make_index(30 * POINTS[:n], metric="euclidean")
    index.close()
    store = index.store
    (group,) = store.groups("graph")
    arrays = get_arrays(store, "graph", group.version)
    found = knn_graph(Vectors((30 * POINTS[:n]).astype(np.float32)), WIDTH, "euclidean")
    del arrays["scale"]
    arrays["ids"][:], arrays["similarities"][:] = found.ids, found.similarities
    assert put_arrays(store, "graph", group.version, arrays)
    store.close()
    return index.path, found


def test_a_graph_without_a_scale_opens_and_stays_as_it_is(make_index, monkeypatch):
    path, found = legacy(make_index)
    with monkeypatch.context() as patched, Index.open(path) as index:
        patched.setattr(KnnGraph, "build", None)
        assert (index.neighbors().similarities == found.similarities[:, :50]).all()
        hit = index.search(30 * ASKED[0], top=1, method="dfs").hits[0]
        distance = np.linalg.norm(30 * ASKED[0] - index.vector(hit.key))
        assert hit.similarity == pytest.approx(1 / (1 + distance), rel=1e-4)
        index.add_vectors(30 * ASKED[:1], ["new"])
        assert index.search(Key("new"), top=3, method="cas").hits[0].similarity < 0.1
        assert index.verify().ok
    with Index.open(path) as index:
        index.rebuild()
        assert index.search(Key("new"), top=3, method="cas").hits[0].similarity > 0.3
        assert index.verify().ok


def test_an_added_item_keeps_the_scale_and_a_rebuild_chooses_anew(make_index):
    index = make_index(POINTS[:100], metric="euclidean")
    before = index.search(Key("a0"), top=1, method="plain").hits[0].similarity
    index.add_vectors(1.5 * POINTS[100:], [f"b{i}" for i in range(20)])
    assert index.search(Key("a0"), top=1, method="plain").hits[0].similarity == before
    index.rebuild()
    hit = index.search(Key("a0"), top=1, method="plain").hits[0]
    scale = prepare(Vectors(index.vectors().copy()), "euclidean").scale
    distance = np.linalg.norm(index.vector("a0") - index.vector(hit.key))
    assert hit.similarity == pytest.approx(1 / (1 + distance / scale), rel=1e-5)
    assert hit.similarity != before


def test_a_scale_that_the_first_items_chose_is_outgrown(make_index):
    index = make_index(POINTS[:1] + 1e-6 * POINTS[:10], metric="euclidean")
    for i in range(10, 120, 2):
        index.add_vectors(POINTS[i : i + 2], [f"a{i}", f"a{i + 1}"])
    fresh = make_index(index.vectors(), "fresh.fold", metric="euclidean")
    similarities = [x.search(Key("a90"), top=1, method="plain").hits[0].similarity for x in (index, fresh)]
    assert 0.5 < similarities[0] / similarities[1] < 2


def test_an_item_far_away_leaves_the_others_searchable(make_index):
    index = make_index(1e-12 * POINTS, metric="euclidean")
    asked = 1e-12 * ASKED[0].astype(float)
    wanted = index.store.search([asked], 10).keys
    for place in (1e4, 1e17):  # the second is so far that float32 tells the others apart no more
        far = np.full(16, place)
        assert index.store.search([far], 3).similarities.max() < 1 / place
        index.add_vectors([far], ["far"])
        assert index.store.search([asked], 121).keys[0][-1] == "far"
        assert index.search(asked, top=121, method="plain").hits[-1].key == "far"
        assert np.isfinite(index.neighbors().similarities).all()
        if place == 1e4:
            assert index.store.search([asked], 10).keys == wanted
            assert [hit.key for hit in index.search(asked, top=10, method="plain").hits] == wanted[0]
        index.remove(["far"])
    assert [hit.key for hit in index.search(asked, top=10, method="plain").hits] == wanted[0]
