"""What views learned stays with the index: the same axes while items come and go, until they are others."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.index import Index, ViewsState
from foldwalk.index.asking import fitted
from foldwalk.index.graph.knn import KnnGraph
from foldwalk.index.views import known
from foldwalk.index.views.kept import KEPT, KIND
from foldwalk.rerank.automatic import auto
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.stores.arrays import get_arrays, put_arrays
from samples import clustered

VECTORS = clustered(n=400, d=24, clusters=40)[0]
N = 360
TWO = {"views": "raw,w50"}


@pytest.fixture
def index(make_index):
    return make_index(VECTORS[:N])


@pytest.fixture(autouse=True)
def _every_view_counts(monkeypatch):
    monkeypatch.setattr(auto, "agreement", lambda _, names: np.full(len(names), -1, np.float32))


@pytest.fixture
def saved(monkeypatch):
    """Small collections are kept on disk, too."""
    monkeypatch.setattr(fitted, "SAVED_FROM", 2)


@pytest.fixture
def learned(monkeypatch):
    """Counts how often views are learned, and from how many items."""
    counted, learn = [], known.views.learn

    def counting(names, values):
        counted.append(len(values))
        return learn(names, values)

    monkeypatch.setattr(known.views, "learn", counting)
    return counted


def found(index, query="a3", method="auto", **parameters):
    return [(hit.key, hit.score) for hit in index.search(query, 10, method, parameters).hits]


def axes(index):
    """The groups of views that are kept: versions and bytes."""
    groups = index.store.groups(KIND)
    kept = [get_arrays(index.store, *group) for group in groups]
    return [
        (group.version, {n: a.tobytes() for n, a in one.items()})
        for group, one in zip(groups, kept, strict=True)
    ]


def add(index, first, last):
    index.add_vectors(VECTORS[first:last], [f"a{i}" for i in range(first, last)])


def test_the_first_fit_learns_and_every_other_uses_it(index, learned):
    found(index)
    found(index, query="a4")
    found(index, method="cas", **TWO)  # w50 is among those that are known
    assert learned == [N]
    (state,) = index.info().views
    assert state.sentence == "views w25, w50 learned from 360 items."
    assert (state.names, state.items, state.came, state.went, state.due) == (("w25", "w50"), N, 0, 0, False)
    ((_, kept),) = axes(index)
    assert len([name for name in kept if name.endswith("axes")]) == 1  # which both share


def test_items_that_come_and_go_leave_the_axes_as_they_are(index, learned):
    found(index)
    before, old = axes(index), index.fitted("auto").seen.methods["w50"].vectors.values
    add(index, N, N + 20)
    index.remove(["a7", "a8", "a9"])
    found(index)
    assert axes(index) == before
    assert learned == [N]
    new = index.fitted("auto").seen.methods["w50"].vectors.values
    assert np.allclose(new[:7], old[:7], atol=1e-6)
    (state,) = index.info().views
    assert state.sentence == "views w25, w50 learned from 360 items; 20 came and 3 went since."


def test_the_answers_are_close_to_those_of_a_fresh_fit(index):
    found(index)
    add(index, N, len(VECTORS))
    index.remove([f"a{i}" for i in range(0, 60, 3)])
    ours = index.fitted("auto")
    fresh = rerank.create("auto").fit(index.vectors())
    assert ours.choice.group_size == fresh.choice.group_size
    queries = clustered(n=20, d=24, clusters=40, seed=0)[0]
    pairs = zip(ours.rank_self(10).ids, fresh.rank_self(10).ids, strict=True)
    pairs = [*pairs, *zip(ours.rank(queries, 10).ids, fresh.rank(queries, 10).ids, strict=True)]
    assert np.mean([len(np.intersect1d(one, other)) for one, other in pairs]) >= 9


def test_neighbours_in_a_view_are_brought_up_to_date(index, monkeypatch):
    found(index)
    monkeypatch.setattr(KnnGraph, "build", lambda *_: pytest.fail("made again"))
    add(index, N, N + 30)
    index.remove(["a0", "a100"])
    ours = index.fitted("auto")
    for name in ("w25", "w50"):
        method = ours.seen.methods[name]
        assert method.known_neighbors.how == "index"
        similar = method.vectors.values @ method.vectors.values.T
        np.fill_diagonal(similar, -1)
        nearest = np.sort(similar, axis=1)[:, ::-1][:, : method.known_neighbors.k]
        assert np.allclose(method.known_neighbors.similarities, nearest, atol=1e-5)


def test_a_collection_that_has_drifted_is_learned_anew_with_the_next_fit(index, learned):
    found(index)
    ((version, _),) = axes(index)
    index.remove([f"a{i}" for i in range(80)])
    (state,) = index.info().views
    assert (state.came, state.went, state.due, state.version) == (0, 80, True, version)
    assert state.sentence.endswith("80 went since, so the next fit learns anew.")
    found(index, query="a90")
    assert learned == [N, N - 80]
    (state,) = index.info().views
    assert (state.items, state.came, state.went, state.due) == (N - 80, 0, 0, False)
    assert state.version > version
    graphs = [group.kind for group in index.store.groups("graph") if group.kind != "graph"]
    assert len(graphs) == 2
    assert all(str(state.version) in kind for kind in graphs)  # those of the old ones are gone


def test_rebuild_learns_anew(index, learned):
    first = found(index)
    version = index.info().views[0].version
    index.rebuild()
    (state,) = index.info().views
    assert state.version > version
    assert found(index) == first  # from the same items
    assert learned == [N, N]


def test_an_empty_index_and_one_without_views(make_index, learned):
    index = make_index(VECTORS[:30])
    found(index, method="cas")
    assert index.info().views == ()
    index.rebuild()
    found(index)
    index.remove(index.keys())
    index.rebuild()
    assert index.info().items == 0
    add(index, 0, 40)
    found(index)
    assert learned == [30, 40]


def test_euclidean_has_the_raw_view_alone(make_index):
    index = make_index(VECTORS[:N], metric="euclidean")
    results = index.search("a3", method="auto")
    assert "the raw view alone" in results.note
    assert index.info().views == ()


@pytest.mark.parametrize(
    "clusters", [7, 10]
)  # in groups of 50 and 36: more neighbours than the index promises
def test_large_groups(make_index, monkeypatch, clusters):
    items = clustered(n=380, d=24, clusters=clusters)[0]
    index = make_index(items[:350])
    index.fitted("auto")
    index.add_vectors(items[350:], [f"b{i}" for i in range(30)])
    with monkeypatch.context() as patch:
        patch.setattr(KnnGraph, "build", lambda *_: pytest.fail("made again"))
        patch.setattr("foldwalk.rerank.base.knn_graph", lambda *_, **__: pytest.fail("searched again"))
        ours = index.fitted("auto")
    fresh = rerank.create("auto").fit(index.vectors())
    assert ours.choice.group_size == fresh.choice.group_size > 30


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("clusters", [5, 7, 10])
def test_what_was_fitted_to_large_groups_is_the_same_when_it_is_read(make_index, clusters):
    items = clustered(n=380, d=24, clusters=clusters)[0]
    index = make_index(items)
    queries = clustered(n=3, d=24, clusters=3, seed=9)[0]
    asked = ["a3", *queries]
    first = [index.search(one, 20, "auto") for one in asked]
    with Index.open(index.path) as again, Index.open(index.path) as loaded:
        assert loaded.load_fitted("auto")
        for one, result in zip(asked, first, strict=True):
            for other in (again, loaded):
                found = other.search(one, 20, "auto")
                assert (found.hits, found.note) == (result.hits, result.note)


def _search_elsewhere(path: str, told) -> None:
    fitted.SAVED_FROM = 2
    CAS._prepare = None  # nothing is fitted, nothing learned
    known.views.learn = None
    with Index.open(path) as index:
        told.put((found(index), index.info().views[0].version))


@pytest.mark.usefixtures("saved")
def test_another_process_reads_them(index):
    first = found(index)
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = context.Process(target=_search_elsewhere, args=(str(index.path), told))
    process.start()
    answer = told.get(timeout=120)
    process.join()
    assert answer == (first, index.info().views[0].version)


@pytest.mark.usefixtures("saved")
def test_what_was_fitted_in_other_views_is_not_used(index, learned):
    """A fitted state of version A beside axes of version B: fitted again."""
    first = found(index)
    ((version, _),) = axes(index)
    arrays = get_arrays(index.store, KIND, version)
    turned = arrays | {"view.rooted.axes": np.ascontiguousarray(arrays["view.rooted.axes"][:, ::-1])}
    put_arrays(index.store, KIND, version + 1, turned)
    index.store.drop_rows(KIND, version)
    with Index.open(index.path) as again:
        assert not again.load_fitted("auto")
        assert found(again) != first
        assert again.fitted("auto").known_views.version == version + 1
    assert learned == [N]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("view.rooted.axes", lambda a: a * 1e6),
        ("view.rooted.axes", lambda a: a[:-1]),
        ("view.rooted.mean", lambda a: np.full_like(a, np.nan)),
        ("view.rooted.singular", lambda a: -a),
        ("view.other", lambda _: np.ones(3)),
        ("numbers", lambda a: a[::-1].copy()),
        ("names", lambda _: np.array(["w25", "w77"])),
        ("names", lambda _: np.array(7)),
        ("origin", lambda _: np.array("another")),
        ("names", lambda _: np.array(["+".join(["root"] * 30_000)])),
    ],
)
def test_what_cannot_have_been_learned_is_learned_anew(index, learned, name, wrong):
    first = found(index)
    ((version, _),) = axes(index)
    arrays = get_arrays(index.store, KIND, version)
    put_arrays(index.store, KIND, version, arrays | {name: wrong(arrays.get(name))})
    with Index.open(index.path) as again:
        assert found(again) == first
        (state,) = again.info().views
        assert state.version > version
    assert learned == [N, N]
    assert len(index.store.groups(KIND)) == 1


def test_a_graph_of_a_view_that_is_no_graph_is_made_again(index):
    first = found(index)
    for group in index.store.groups("graph"):
        arrays = get_arrays(index.store, *group)
        put_arrays(index.store, *group, arrays | {"ids": np.full_like(arrays["ids"], 10**8)})
    with Index.open(index.path) as again:
        assert found(again) == first


def test_without_the_right_to_write_they_are_learned_each_time(index, monkeypatch):
    monkeypatch.setattr(index.store, "put_rows", lambda *_: False)
    assert found(index)
    assert index.info().views == ()
    handed = index.hand_over("auto")
    with Index.open(index.path) as other:
        assert other.load_fitted("auto", handed=handed)
        assert found(other) == found(index)


def test_other_views_are_kept_beside_them_and_not_without_end(index):
    found(index)
    joined = ["root+w50", "root+w25", "w25+w50", "w50+w25", "root+root+w50"]
    for name in joined:
        found(index, method="cas", views=name)
    kept = [state.names for state in index.info().views]
    assert kept == [(name,) for name in joined[: -KEPT - 1 : -1]]


def test_more_views_stand_for_fewer(index, learned):
    found(index, effort="low")
    assert [state.names for state in index.info().views] == [("w50",)]
    assert index.info().views[0].sentence == "view w50 learned from 360 items."
    found(index)
    assert [state.names for state in index.info().views] == [("w25", "w50")]
    index.remove(["a300"])
    found(index, effort="low")
    assert learned == [N, N]


@pytest.mark.usefixtures("saved")
def test_a_backup_holds_them(index, tmp_path: Path):
    first = found(index)
    index.backup(tmp_path / "copy.fold")
    with Index.open(tmp_path / "copy.fold") as copy:
        assert isinstance(copy.info().views[0], ViewsState)
        assert copy.load_fitted("auto")
        assert found(copy) == first


@pytest.mark.usefixtures("saved")
def test_what_a_method_did_comes_with_its_answers(index):
    results = index.search("a3", method="auto")
    assert results.note == str(index.fitted("auto").choice)
    assert results.as_dict()["note"] == results.note
    assert index.explain("a3", "a43", method="auto").note == results.note
    assert index.search("a3", method="cas").note == ""
    with Index.open(index.path) as again:
        assert again.info().notes == {"auto": results.note}
    (group,) = (g for g in index.store.groups("fitted") if "auto" in g.kind)
    arrays = get_arrays(index.store, *group)
    for wrong in (np.array(5), np.array(["a", "b"])):
        put_arrays(index.store, *group, arrays | {"note": wrong})
        with Index.open(index.path) as again:
            assert again.info().notes == {}
    put_arrays(index.store, *group, arrays | {"note": np.array("x" * 100_000)})
    with Index.open(index.path) as again:
        assert len(again.info().notes["auto"]) < 1_000
