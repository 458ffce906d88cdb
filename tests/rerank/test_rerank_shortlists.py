"""Networks on shortlists are trusted as far as they help on lists that were held out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foldwalk import rerank
from foldwalk.core import Vectors
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.learned.shared import shortlists
from foldwalk.rerank.learned.shared.pseudo_labels import PseudoLabels
from foldwalk.rerank.learned.shared.shortlists import mean_average_precision
from foldwalk.rerank.learned.ssr import SSR
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=6, d=12, seed=3)
METHODS = ["csa", "lattqe", "ssr"]


def plain_ids():
    return rerank.create("plain").fit(GALLERY).rank(QUERIES, top=90).ids


def test_mean_average_precision_of_ranked_lists():
    scores = np.array([[0.1, 0.9, 0.5, 0.7], [0.9, 0.8, 0.7, 1.0]], np.float32)
    friends = np.array([[True, True, False, False], [False, False, True, False]])
    strangers = np.array([[False, False, True, True], [True, True, False, False]])
    # ranked: 1, 3, 2, 0, with hits at 1 and 4; then 0, 1, 2, with a hit at 3, behind nobody who is neither
    found = mean_average_precision(scores, friends, strangers)
    assert found == pytest.approx(((1 + 2 / 4) / 2 + 1 / 3) / 2)


def test_whom_a_chain_joins_is_no_stranger_on_long_lists():
    """A ring of 60: its far side is no friend of anybody, but joined with everybody."""
    turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(turns), np.sin(turns), np.zeros(60)])
    far = np.random.default_rng(0).normal([0, 0, 9], 0.1, (20, 3))
    items = Vectors.check(np.concatenate([ring, far]).astype(np.float32))
    near = knn_graph(items, 70)
    labels, rows = PseudoLabels(near), np.arange(60)
    for name in METHODS:
        friends, strangers = rerank.create(name)._told(labels, rows, near.ids[:60])
        assert not (friends & strangers).any()
        on_ring = near.ids[:60] < 60
        assert friends[on_ring].any()
        assert not friends[~on_ring].any()
        assert strangers[~on_ring].all()
        assert strangers[on_ring].any() == (name != "csa")


@pytest.mark.parametrize("name", METHODS)
def test_without_trust_it_is_plain_search(name, monkeypatch):
    monkeypatch.setattr(shortlists, "TRUSTS", (0.0,))
    fitted = rerank.create(name, steps=2).fit(GALLERY)
    assert float(fitted.network.trust) == 0
    assert (fitted.rank(QUERIES, top=90).ids == plain_ids()).all()


@pytest.mark.parametrize("name", METHODS)
def test_with_nothing_to_teach_it_is_plain_search(name):
    method = rerank.create(name, steps=2).learn(GALLERY, np.zeros(len(GALLERY)))
    assert (method.fit(GALLERY).rank(QUERIES, top=90).ids == plain_ids()).all()


def test_a_network_that_turns_lists_around_is_not_trusted(monkeypatch):
    def turned(self, queries, ids):
        plain = self.similarity(queries[:, None], self.items_of(ids), (ids >= 0)[:, None])[:, 0]
        return torch.from_numpy(-plain) + 0 * self.network.sharpness

    monkeypatch.setattr(SSR, "_scores", turned)
    assert float(rerank.create("ssr", steps=2).fit(GALLERY).network.trust) == 0


def test_trust_travels_with_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(shortlists, "TRUSTS", (0.25,))
    teacher = rerank.create("ssr", steps=2).learn(GALLERY)
    pupil = rerank.create("ssr").load_weights(teacher.save_weights(tmp_path / "weights.npz")).fit(GALLERY)
    assert float(pupil.network.trust) == 0.25


@pytest.mark.parametrize("name", METHODS)
def test_lists_may_be_read_in_any_number_of_parts(name, monkeypatch):
    whole = rerank.create(name, steps=3).fit(GALLERY).rank(QUERIES, top=90)
    monkeypatch.setattr(shortlists, "MOST_NUMBERS", 1)
    assert len(rerank.create(name, steps=0).fit(GALLERY).parts(5)) == 5
    parts = rerank.create(name, steps=3).fit(GALLERY).rank(QUERIES, top=90)
    assert np.allclose(parts.scores, whole.scores, atol=1e-5)
