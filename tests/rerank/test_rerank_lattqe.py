"""Attention query expansion: untrained it is alpha-QE, it learns with labels or without, weights travel."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput, MissingData
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=6, d=12, seed=3)
# Directions that carry the label, hidden below five times as many that carry nothing.
RNG = np.random.default_rng(5)
HARD_LABELS = np.arange(240) % 12
HARD = np.hstack([np.eye(12)[HARD_LABELS], 0.22 * RNG.normal(size=(240, 60))]).astype(np.float32)


@pytest.mark.parametrize("dba", [False, True])
def test_untrained_it_is_alpha_qe(dba):
    ours = rerank.create("lattqe", steps=0, k=7, dba=dba).fit(GALLERY)
    # `alpha_qe` counts the item itself among its k on the gallery's side, this method does not.
    theirs = rerank.create("alpha_qe", k=8 if dba else 7, alpha=3, dba=dba, dba_k=8).fit(GALLERY)
    if dba:
        assert np.allclose(ours.expanded.gallery.values, theirs.expanded.gallery.values, atol=1e-4)
    else:
        assert np.allclose(ours.rank(QUERIES, top=90).scores, theirs.rank(QUERIES, top=90).scores, atol=1e-4)


def precision(method, top=19):
    ids = method.rank_self(top=top).ids
    return (HARD_LABELS[ids] == HARD_LABELS[:, None]).mean()


def test_training_improves_on_where_it_started():
    before = precision(rerank.create("lattqe", steps=0).fit(HARD))
    unsupervised = precision(rerank.create("lattqe", steps=40).fit(HARD))
    assert unsupervised > before + 0.02


def test_learned_elsewhere_with_labels_then_used(tmp_path):
    teacher = rerank.create("lattqe", steps=40).learn(HARD[:120], HARD_LABELS[:120])
    saved = teacher.save_weights(tmp_path / "weights.npz")
    pupil = rerank.create("lattqe").load_weights(saved).fit(HARD)
    untrained = rerank.create("lattqe", steps=0).fit(HARD)
    assert precision(pupil) > precision(untrained) + 0.02
    assert (pupil.rank_self().ids == teacher.fit(HARD).rank_self().ids).all()
    again = rerank.load(rerank.save(pupil, tmp_path / "fitted.npz"))
    assert (again.rerank(HARD[:2], HARD[9:]).ids == pupil.rerank(HARD[:2], HARD[9:]).ids).all()


def test_weights_that_do_not_fit_are_refused(tmp_path):
    small = rerank.create("lattqe", steps=0, k=4)
    with pytest.raises(BadInput, match="learned nothing yet"):
        small.save_weights(tmp_path / "none.npz")
    saved = small.fit(GALLERY).save_weights(tmp_path / "small.npz")
    with pytest.raises(BadInput, match="do not fit"):
        rerank.create("lattqe", k=5).load_weights(saved).fit(GALLERY)
    with pytest.raises(MissingData, match="does not exist"):
        small.load_weights(tmp_path / "nowhere.npz")
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="does not hold weights"):
        small.load_weights(tmp_path / "broken.npz")
    with pytest.raises(BadInput, match=r"saved as \.npz"):
        small.save_weights(tmp_path / "weights.pt")
    with pytest.raises(BadInput, match="one for each of 90 items"):
        small.learn(GALLERY, [1, 2])
