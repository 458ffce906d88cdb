"""Short lists re-ranked by themselves: each is the gallery of its query, and of nobody else."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput
from samples import clustered

GALLERY, LABELS = clustered()
QUERIES = GALLERY[:5] + np.float32(0.01)
LISTS = np.random.default_rng(0).permuted(np.tile(np.arange(len(GALLERY)), (5, 1)), axis=1)[:, :60]
QUICK = [name for name in rerank.names() if not rerank.describe(name).needs_training]


@pytest.mark.parametrize("name", QUICK)
def test_each_query_is_ranked_as_if_its_list_were_all_there_is(name):
    method = rerank.create(name)
    together = method.rerank_candidates(QUERIES, GALLERY[LISTS], top=20)
    assert together.ids.shape == (5, 20)
    for q in range(5):
        alone = method.rerank(QUERIES[q : q + 1], GALLERY[LISTS[q]], top=20)
        assert together.ids[q].tobytes() == alone.ids[0].tobytes()
        assert together.scores[q].tobytes() == alone.scores[0].tobytes()


def test_ids_are_places_in_the_list():
    ranking = rerank.create("plain").rerank_candidates(QUERIES, GALLERY[LISTS], top=1000)
    assert (np.sort(ranking.ids, axis=1) == np.arange(60)).all()
    unit = GALLERY / np.linalg.norm(GALLERY, axis=1, keepdims=True)
    for query, members, row in zip(QUERIES, LISTS, ranking.ids, strict=True):
        assert np.array_equal(row, np.argsort(-(unit[members] @ query), kind="stable"))


def test_one_query_and_lists_of_different_lengths():
    method = rerank.create("cas")
    one = method.rerank_candidates(QUERIES[0], GALLERY[LISTS[0]], top=10)
    assert one.ids.shape == (1, 10)
    uneven = [GALLERY[LISTS[0]], GALLERY[LISTS[1, :30]].tolist()]
    both = method.rerank_candidates(QUERIES[:2], uneven, top=10)
    assert both.ids[0].tobytes() == one.ids[0].tobytes()
    assert both.ids[1].max() < 30
    with pytest.raises(BadInput) as caught:
        method.rerank_candidates(QUERIES[:2], uneven, top=100)
    assert str(caught.value) == (
        "candidates, list 1 has 30 items, but top is 60 and another list has as many: ask for a top of 30, "
        "or hand in lists of one length at a time."
    )


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    wanted = rerank.create("plain").rerank_candidates(QUERIES, GALLERY[LISTS], top=9)
    asked = torch.tensor(QUERIES, requires_grad=True)
    given = rerank.create("plain").rerank_candidates(asked, torch.tensor(GALLERY[LISTS]), top=9)
    assert given.ids.tobytes() == wanted.ids.tobytes()


def test_the_fitted_state_is_left_alone():
    method = rerank.create("cas").fit(GALLERY)
    before = method.rank(QUERIES).scores.tobytes()
    method.rerank_candidates(QUERIES, GALLERY[LISTS])
    assert method.rank(QUERIES).scores.tobytes() == before


@pytest.mark.parametrize(
    ("queries", "candidates", "sentence"),
    [
        (QUERIES, GALLERY[LISTS[:4]], "there are 5 queries, but 4 lists of candidates"),
        (
            QUERIES,
            GALLERY,
            "candidates must be (queries, items, dimensions) or a list with one array per query",
        ),
        (QUERIES, 3.0, "but its shape is ()"),
        (QUERIES[0], GALLERY[LISTS], "candidates, list 0 must be 2-D"),
        (QUERIES[:1], [GALLERY[:, :3]], "candidates, list 0 has 3 dimensions, but"),
        (QUERIES[:2], [GALLERY[:9], GALLERY[:0]], "candidates, list 1 is empty"),
        (QUERIES[:1], [GALLERY[:9] * np.nan], "candidates, list 0, row 0, column 0 is nan"),
        (QUERIES[:1] * np.inf, [GALLERY[:9]], "queries, row 0, column 0"),
        (np.ma.masked_greater(QUERIES[:1], -9), [GALLERY[:9]], "queries, row 0, column 0 is masked"),
        ([], [], "queries"),
    ],
)
def test_what_does_not_fit_together_is_refused(queries, candidates, sentence):
    with pytest.raises(BadInput) as caught:
        rerank.create("plain").rerank_candidates(queries, candidates)
    assert sentence in str(caught.value)


def test_who_trains_says_that_a_list_is_too_little():
    with pytest.raises(BadInput, match="gradnet trains a network, which a short list is too little for"):
        rerank.create("gradnet").rerank_candidates(QUERIES, GALLERY[LISTS])
