"""Whitening against its definition, on data whose covariance is known."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core.errors import BadInput, BadParameter, MissingData, NotFitted
from foldwalk.descriptors.pooling import unit
from foldwalk.descriptors.whitening import LearnedWhitening, PcaWhitening


@pytest.fixture
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(500, 8)) @ rng.normal(size=(8, 8)) + 1).astype(np.float32)


def projected(whitening, vectors):
    """y before it is normalised."""
    mean, projection = whitening.mean, whitening.projection
    return (unit(vectors) - mean) @ projection


def test_full_whitening_gives_the_identity(vectors):
    whitening = PcaWhitening(shrinkage=0).fit(vectors)
    y = projected(whitening, vectors)
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(y.T @ y / len(y), np.eye(8), atol=1e-3)
    transformed = whitening.transform(vectors)
    assert transformed.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(transformed, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(transformed, unit(y), atol=1e-5)


def test_shrinkage_by_its_formula(vectors):
    x = unit(vectors).astype(float)
    centred = x - x.mean(axis=0)
    covariance = np.zeros((8, 8))
    for row in centred:
        covariance += np.outer(row, row) / len(x)
    shrunk = 0.7 * covariance + 0.3 * np.trace(covariance) / 8 * np.eye(8)
    y = projected(PcaWhitening(shrinkage=0.3).fit(vectors), vectors)
    # Whitened with the shrunk covariance, distances are those of its inverse.
    for i, j in ((0, 1), (5, 9), (100, 3)):
        difference = x[i] - x[j]
        assert ((y[i] - y[j]) ** 2).sum() == pytest.approx(
            difference @ np.linalg.inv(shrunk) @ difference, rel=1e-3
        )


def test_full_shrinkage_only_centres_and_turns(vectors):
    centred = unit(vectors) - unit(vectors).mean(axis=0)
    y = PcaWhitening(shrinkage=1).fit(vectors).transform(vectors)
    np.testing.assert_allclose(y @ y.T, unit(centred) @ unit(centred).T, atol=1e-4)


def test_dim_keeps_the_strongest_axes(vectors):
    every = PcaWhitening(shrinkage=0.5).fit(vectors)
    few = PcaWhitening(dim=3, shrinkage=0.5).fit(vectors)
    np.testing.assert_allclose(projected(few, vectors), projected(every, vectors)[:, :3], atol=1e-5)
    spread = projected(every, vectors).std(axis=0)
    assert (np.diff(spread) < 1e-6).all()
    assert few.output_dim(8) == 3
    assert few.transform(vectors).shape == (500, 3)


def test_fewer_vectors_than_dimensions(vectors):
    y = PcaWhitening(shrinkage=0).fit(vectors[:4]).transform(vectors)
    assert np.isfinite(y).all()


def noisy_pairs(seed: int = 0, things: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Things told apart by the first three axes; the fourth is loud and says nothing."""
    rng = np.random.default_rng(seed)
    thing = rng.normal(size=(things, 6)) * [0.3, 0.3, 0.3, 0, 0.01, 0.01]
    thing[:, 5] += 3
    views = np.repeat(thing, 2, axis=0)
    views += rng.normal(size=views.shape) * [0.01, 0.01, 0.01, 0.6, 0.01, 0.01]
    return views.astype(np.float32), np.arange(2 * things).reshape(things, 2)


def test_learned_whitening_by_its_definition():
    vectors, pairs = noisy_pairs()
    whitening = LearnedWhitening(shrinkage=0).fit(vectors, pairs)
    y = projected(whitening, vectors)
    within = y[pairs[:, 0]] - y[pairs[:, 1]]
    np.testing.assert_allclose(within.T @ within / len(pairs), np.eye(6), atol=1e-2)
    total = np.cov(y, rowvar=False)
    np.testing.assert_allclose(total, np.diag(np.diag(total)), atol=1e-2 * total[0, 0])
    assert (np.diff(np.diag(total)) < 1e-3).all()


def test_learned_whitening_finds_the_other_of_each_pair():
    vectors, pairs = noisy_pairs()
    unseen, partners = noisy_pairs(seed=1, things=40)

    def first_is_right(x):
        similar = x @ x.T
        np.fill_diagonal(similar, -2)
        return (similar.argmax(axis=1)[partners[:, 0]] == partners[:, 1]).mean()

    learned = LearnedWhitening(dim=3, shrinkage=0).fit(vectors, pairs)
    plain, pca = first_is_right(unit(unseen)), PcaWhitening(shrinkage=0).fit(vectors)
    assert first_is_right(learned.transform(unseen)) > 0.5
    assert first_is_right(learned.transform(unseen)) > 2 * max(plain, first_is_right(pca.transform(unseen)))


@pytest.mark.parametrize("kind", [PcaWhitening, LearnedWhitening])
def test_saved_and_loaded(kind, tmp_path):
    vectors, pairs = noisy_pairs()
    whitening = kind(dim=4, shrinkage=0.25)
    whitening.fit(*((vectors, pairs) if kind is LearnedWhitening else (vectors,)))
    again = kind.load(whitening.save(tmp_path / "w.npz"))
    np.testing.assert_array_equal(again.transform(vectors), whitening.transform(vectors))
    assert (again.dim, again.shrinkage, again.fingerprint) == (4, 0.25, whitening.fingerprint)
    assert list(tmp_path.iterdir()) == [tmp_path / "w.npz"]
    other = LearnedWhitening if kind is PcaWhitening else PcaWhitening
    with pytest.raises(BadInput, match="not a whitening"):
        other.load(tmp_path / "w.npz")


def test_fingerprints_differ(vectors):
    assert PcaWhitening().fit(vectors).fingerprint != PcaWhitening().fit(vectors[:-1]).fingerprint


def test_what_cannot_be_loaded(tmp_path, vectors):
    with pytest.raises(MissingData, match="does not exist"):
        PcaWhitening.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(BadInput, match=r"text\.npz is not a whitening"):
        PcaWhitening.load(tmp_path / "text.npz")
    np.savez(tmp_path / "pickled.npz", header=np.array({"a": 1}, dtype=object))
    with pytest.raises(BadInput, match="not a whitening"):
        PcaWhitening.load(tmp_path / "pickled.npz")
    fitted = PcaWhitening().fit(vectors)
    with pytest.raises(BadInput, match=r"saved as \.npz"):
        fitted.save(tmp_path / "w.pkl")
    with pytest.raises(MissingData, match="not a folder"):
        fitted.save(tmp_path / "none" / "w.npz")


def test_bad_input(vectors):
    with pytest.raises(NotFitted, match="call fit"):
        PcaWhitening().transform(vectors)
    with pytest.raises(BadInput, match="at least two"):
        PcaWhitening().fit(vectors[:1])
    with pytest.raises(BadInput, match="all the same"):
        PcaWhitening().fit(np.ones((5, 3)))
    with pytest.raises(BadParameter, match="dim is 9"):
        PcaWhitening(dim=9).fit(vectors)
    with pytest.raises(BadInput, match="8 were expected"):
        PcaWhitening().fit(vectors).transform(vectors[:, :5])
    for bad in ({"dim": 0}, {"dim": 2.5}, {"dim": True}, {"shrinkage": -0.1}, {"shrinkage": 1.1}):
        with pytest.raises(BadParameter, match=next(iter(bad))):
            PcaWhitening(**bad)
    for pairs in ([], [[0, 1, 2]], [[0.0, 1.0]], [[0, 500]], [[-1, 0]]):
        with pytest.raises(BadInput, match="pairs"):
            LearnedWhitening().fit(vectors, pairs)
