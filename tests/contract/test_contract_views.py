"""What holds for every method in several views, and for every view."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank, views
from foldwalk.core import BadInput, BadParameter
from samples import clustered

NAMES = [name for name in rerank.names() if not rerank.describe(name).needs_training]
LEARNERS = [name for name in rerank.names() if rerank.describe(name).needs_training]
GALLERY, LABELS = clustered(n=90)
QUERIES = np.concatenate([GALLERY[:4] + 0.02, clustered(n=4, seed=1)[0]]).astype(np.float32)
SEVERAL = "raw,w50"
VIEWS = views.names()


def total_order(ranking, queries, items):
    assert (np.sort(ranking.ids, axis=1) == np.arange(items)).all()
    assert len(ranking) == queries
    assert (np.diff(ranking.scores, axis=1) <= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_several_views(name, tmp_path):
    method = rerank.create(name, views=SEVERAL).fit(GALLERY)
    total_order(method.rank(QUERIES, top=1000), len(QUERIES), len(GALLERY))
    total_order(rerank.create(name, views=SEVERAL).rerank(QUERIES, GALLERY, 1000), len(QUERIES), len(GALLERY))
    own = method.rank_self(top=10)
    assert (LABELS[own.ids[:, :5]] == LABELS[:, None]).mean() > 0.95
    assert not (own.ids == np.arange(len(GALLERY))[:, None]).any()
    assert (method.rank(QUERIES, top=7).ids == method.rank(QUERIES, top=50).ids[:, :7]).all()
    again = rerank.load(rerank.save(method, tmp_path / "fitted.npz"))
    assert again.rank(QUERIES, top=50).scores.tobytes() == method.rank(QUERIES, top=50).scores.tobytes()
    listed = rerank.create(name, views=["raw", "w50"]).fit(GALLERY)
    assert listed.rank_self(10).ids.tobytes() == own.ids.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_few_items_zero_vectors_and_copies(name):
    for items in (GALLERY[:1], GALLERY[:3], np.repeat(GALLERY[:2], 4, axis=0)):
        total_order(rerank.create(name, views=SEVERAL).fit(items).rank(QUERIES, 99), len(QUERIES), len(items))
    holed = GALLERY.copy()
    holed[5] = 0
    ranking = rerank.create(name, views=SEVERAL).fit(holed).rank(QUERIES, top=1000)
    assert (ranking.ids[:, -1] == 5).all()


@pytest.mark.parametrize("name", [n for n in NAMES if n != "auto"])
def test_one_view_is_the_method_on_the_vectors_of_that_view(name):
    view = views.learn(["w50"], GALLERY)["w50"]
    seen = rerank.create(name, views="w50").fit(GALLERY)
    direct = rerank.create(name).fit(view.see(GALLERY))
    assert (seen.rank_self(20).ids == direct.rank_self(20).ids).mean() > 0.98
    asked = QUERIES / np.linalg.norm(QUERIES, axis=1, keepdims=True)
    assert (seen.rank(QUERIES, 20).ids == direct.rank(view.see(asked), 20).ids).mean() > 0.98
    raw = rerank.create(name, views="raw").fit(GALLERY).rank(QUERIES, 20)
    assert raw.scores.tobytes() == rerank.create(name).fit(GALLERY).rank(QUERIES, 20).scores.tobytes()


@pytest.mark.parametrize("name", ["plain", "cas", "k_reciprocal"])
def test_what_has_no_views_says_so(name):
    with pytest.raises(BadInput, match="cosine"):
        rerank.create(name, views=SEVERAL, metric="euclidean").fit(GALLERY)
    with pytest.raises(BadInput, match="vectors"):
        rerank.create(name, views=SEVERAL).fit(graph=GALLERY @ GALLERY.T)
    for wrong in ("w51", "", "raw,raw", 5, None, ["raw", 7]):
        with pytest.raises((BadParameter, BadInput, LookupError)):
            rerank.create(name, views=wrong)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_learns_has_a_view_of_its_own(name):
    with pytest.raises(BadInput, match="leave out views"):
        rerank.create(name, views=SEVERAL).fit(GALLERY)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view(name):
    items = GALLERY.copy()
    items[3] = 0
    view = views.learn([name], items)[name]
    seen = view.see(items)
    assert not seen[3].any()  # what has no direction gets none
    assert np.allclose(np.linalg.norm(np.delete(seen, 3, axis=0), axis=1), 1, atol=1e-5)
    # A row does not depend on who is asked about beside it.
    assert np.allclose(view.see(items[7:8]), seen[7:8], atol=1e-6)
    again = views.restore([name], view.state(), items.shape[1])[name]
    assert again.see(items).tobytes() == seen.tobytes()
    assert views.learn([name], items.copy())[name].see(items).tobytes() == seen.tobytes()
    for part in name.split("+"):
        assert views.describe(part).summary


@pytest.mark.parametrize("name", VIEWS)
def test_of_items_that_are_all_the_same_or_few(name):
    for items in (
        np.ones((5, 4), np.float32) / 2,
        np.ones((1, 4), np.float32) / 2,
        np.zeros((3, 4), np.float32),
    ):
        seen = views.learn([name], items)[name].see(items)
        assert seen.shape[1] >= 1
        assert np.isfinite(seen).all()
