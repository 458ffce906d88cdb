"""Networks on shortlists are trusted as far as they help on lists that were held out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foldwalk import rerank
from foldwalk.rerank.learned import shortlists
from foldwalk.rerank.learned.shortlists import mean_average_precision
from foldwalk.rerank.learned.ssr import SSR
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=6, d=12, seed=3)
METHODS = ["csa", "lattqe", "ssr"]


def plain_ids():
    return rerank.create("plain").fit(GALLERY).rank(QUERIES, top=90).ids


def test_mean_average_precision_of_ranked_lists():
    scores = np.array([[0.1, 0.9, 0.5, 0.7], [0.9, 0.8, 0.7, 0.0]], np.float32)
    ids = np.array([[3, 4, 5, 6], [3, 4, 5, -1]])
    same = np.array([[True, True, False, False], [False, False, True, False]])
    # ranked: 4, 6, 5, 3, with hits at 1 and 4; then 3, 4, 5, with a hit at 3
    assert mean_average_precision(scores, ids, same) == pytest.approx(((1 + 2 / 4) / 2 + 1 / 3) / 2)


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
        plain = self._similarity(queries[:, None], self._items(ids), (ids >= 0)[:, None])[:, 0]
        return torch.from_numpy(-plain) + 0 * self.network.sharpness

    monkeypatch.setattr(SSR, "_scores", turned)
    assert float(rerank.create("ssr", steps=2).fit(GALLERY).network.trust) == 0


def test_trust_travels_with_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(shortlists, "TRUSTS", (0.25,))
    teacher = rerank.create("ssr", steps=2).learn(GALLERY)
    pupil = rerank.create("ssr").load_weights(teacher.save_weights(tmp_path / "weights.npz")).fit(GALLERY)
    assert float(pupil.network.trust) == 0.25
