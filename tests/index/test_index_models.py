"""A method that learns features is trained once: the model stays with the index and serves later items."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput, MissingData
from foldwalk.index import Index, ModelState
from foldwalk.index.models import rows_of
from foldwalk.rerank.learned.gradnet.model import GradNet
from foldwalk.rerank.learned.gss import GSS
from foldwalk.stores import CannotWrite
from samples import clustered

pytest.importorskip("torch")

VECTORS = clustered(n=90, d=16)[0]
KEYS = [f"a{i}" for i in range(len(VECTORS))]
SMALL = {"epochs": 2, "layer_sizes": "512,128,64", "anchors": 5, "codebooks": 1, "rounds": 1}


@pytest.fixture
def trainings(monkeypatch):
    """Counts the trainings."""
    counted = []
    fit = GradNet.fit_graph

    def spy(self, *arguments, **options):
        counted.append(len(arguments[0]))
        return fit(self, *arguments, **options)

    monkeypatch.setattr(GradNet, "fit_graph", spy)
    return counted


@pytest.fixture
def index(make_index):
    return make_index(VECTORS[:70])


def searched(index, query="a3", **parameters):
    return index.search(query, method="gradnet", parameters=parameters or SMALL).hits


def test_the_next_process_does_not_train(index, trainings):
    assert not index.is_fitted("gradnet", SMALL)
    first = searched(index)
    assert index.is_fitted("gradnet", SMALL)
    assert searched(index) == first
    with Index.open(index.path) as again:
        assert again.is_fitted("gradnet", SMALL)
        assert searched(again) == first
        assert again.search("a3", method="gradnet").hits == first  # whatever it was trained with
        assert again.info().methods_fitted == ("gradnet",)
    assert trainings == [70]


def test_it_ranks_as_the_method_itself(index):
    direct = rerank.create("gradnet", **SMALL).fit(VECTORS[:70])
    wanted = direct.rank(VECTORS[80:81], top=10)
    searched(index)
    with Index.open(index.path) as again:
        hits = searched(again, VECTORS[80])
        assert [hit.key for hit in hits] == [f"a{i}" for i in wanted.ids[0]]
        assert np.allclose([hit.score for hit in hits], wanted.scores[0], atol=1e-6)
        assert np.allclose(again.features(), direct.model.features, atol=1e-6)


def test_items_that_come_later_get_their_features_from_the_model(index, trainings):
    searched(index)
    learned, model = index.features(), index.model()
    index.add_vectors(VECTORS[70:], KEYS[70:])
    index.remove(["a7", "a20"])
    with Index.open(index.path) as again:
        assert again.models() == (ModelState("gradnet", 70, 20, 2),)
        assert again.info().models == again.models()
        kept = [i for i in range(70) if i not in (7, 20)]
        wanted = np.concatenate([learned[kept], model.transform(VECTORS[70:])])
        assert np.allclose(again.features(), wanted, atol=1e-6)
        keys = again.keys()
        item, unseen = wanted[keys.index("a80")], model.transform(VECTORS[5:6] * 2)[0]
        for query, asked, own in (("a80", item, "a80"), (VECTORS[5] * 2, unseen, None)):
            order = [keys[i] for i in np.argsort(-(wanted @ asked), kind="stable") if keys[i] != own]
            assert [hit.key for hit in searched(again, query)] == order[:10]
    with Index.open(index.path) as third:  # and its features are read, not computed again
        assert searched(third, "a80") == searched(index, "a80")
    assert trainings == [70]


def test_other_parameters_are_fitted_beside_the_model(index, trainings):
    first = searched(index)
    other = {**SMALL, "k": 3}
    assert not index.is_fitted("gradnet", other)
    assert searched(index, **other) != first
    with Index.open(index.path) as again:
        assert again.is_fitted("gradnet", other)
        searched(again, **other)
        assert again.search("a3", method="gradnet").hits == first
    assert trainings == [70, 70]


def test_a_damaged_model_is_trained_again(index, trainings):
    first = searched(index)
    (path,) = (index.path / "derived" / "model").iterdir()
    path.write_bytes(path.read_bytes()[:-300])
    for _ in range(2):
        with Index.open(index.path) as again:
            assert searched(again) == first
    assert trainings == [70, 70]
    assert len(list((index.path / "derived" / "model").iterdir())) == 1


def test_vectors_of_another_size_are_trained_on_anew(index, trainings):
    searched(index)
    index.remove(KEYS[:70])
    index.add_vectors(VECTORS[:40, :8], KEYS[:40])
    searched(index)
    with Index.open(index.path) as again:
        searched(again)
        assert again.models() == (ModelState("gradnet", 40, 0, 0),)
    assert trainings == [70, 40]


def test_where_nothing_can_be_written_it_searches_all_the_same(index, trainings, monkeypatch):
    monkeypatch.setattr(index.store, "put_rows", lambda *_: False)
    first = searched(index)
    assert searched(index) == first
    assert trainings == [70]
    with pytest.raises(CannotWrite, match="no right to keep"):
        index.attach(index.fitted("gradnet", SMALL))
    with pytest.raises(CannotWrite, match="no right to keep"):
        index.check_can_attach()


def test_what_is_attached_is_used(index, trainings):
    index.check_can_attach()
    assert not list((index.path / "derived").glob("model*"))
    method = rerank.create("gradnet", **SMALL, seed=5).fit(index.vectors())
    index.attach(method)
    assert np.array_equal(index.features(), method.model.features)
    assert [hit.key for hit in index.search("a3", method="gradnet").hits] == [
        KEYS[i] for i in method.rank_rows([3], 10).ids[0]
    ]
    index.attach(rerank.create("gradnet", **SMALL, seed=6).fit(index.vectors()))
    assert not np.array_equal(index.features(), method.model.features)
    with pytest.raises(BadInput, match="on 50 items, not on 70"):
        index.attach(rerank.create("gradnet", **SMALL).fit(VECTORS[:50]))
    assert trainings == [70, 70, 50]


def test_without_a_model_there_are_no_features(index, trainings):
    for ask in (index.features, index.model, lambda: index.transform(VECTORS)):
        with pytest.raises(MissingData, match=r"no trained model: .* foldwalk train gradnet .*x\.fold"):
            ask()
    assert index.models() == ()
    assert not trainings


def test_whatever_else_trains_is_kept_for_its_version(index, monkeypatch):
    counted, prepare = [], GSS._prepare

    def spy(self):
        counted.append(1)
        prepare(self)

    monkeypatch.setattr(GSS, "_prepare", spy)
    first = index.search("a3", method="gss", parameters={"steps": 2}).hits
    with Index.open(index.path) as again:
        assert again.search("a3", method="gss", parameters={"steps": 2}).hits == first
    assert len(counted) == 1


def test_seeds_are_kept_apart(index):
    first, second = (index.fitted("gss", {"steps": 2, "seed": seed}) for seed in (1, 2))
    assert (first.seed, second.seed) == (1, 2)
    with Index.open(index.path) as again:
        kept = again.fitted("gss", {"steps": 2, "seed": 2})
        assert np.array_equal(kept.weights[0], second.weights[0])
        assert not np.array_equal(kept.weights[0], first.weights[0])


def test_places_among_others():
    among, numbers = np.array([2, 5, 9]), np.array([0, 2, 3, 9, 11])
    assert rows_of(numbers, among).tolist() == [-1, 0, -1, 2, -1]
    assert rows_of(numbers, among[:0]).tolist() == [-1] * 5
