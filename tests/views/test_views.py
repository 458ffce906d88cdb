"""Views beside their definition, what they keep, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk import views
from foldwalk.core import BadInput, UnknownName
from foldwalk.views.base import SAMPLE, Collection
from samples import clustered


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def whitened(items, asked, power):
    """From the definition: square roots, centred, singular vectors, singular values to a power."""
    rooted = unit(np.sign(items) * np.sqrt(np.abs(items))).astype(np.float64)
    mean = rooted.mean(axis=0)
    _, singular, axes = np.linalg.svd(rooted - mean, full_matrices=False)
    kept = singular**2 > 1e-7 * singular[0] ** 2
    other = unit(np.sign(asked) * np.sqrt(np.abs(asked))) - mean
    return unit(other @ axes[kept].T * singular[kept] ** -power)


@pytest.mark.parametrize(("name", "power"), [("w25", 0.25), ("w50", 0.5)])
@pytest.mark.parametrize("n", [12, 120])  # fewer items than dimensions, and more
def test_whitened_views_are_their_definition(name, power, n):
    items, _ = clustered(n=n, d=16)
    asked, _ = clustered(n=9, d=16, seed=5)
    view = views.learn([name], items)[name]
    for rows in (items, asked):
        # Axes are known up to their sign: what counts are products.
        expected = whitened(items, rows, power)
        seen = view.see(rows)
        assert seen.dtype == np.float32
        assert np.allclose(seen @ seen.T, expected @ expected.T, atol=2e-4)


def test_raw_is_the_vectors_and_root_their_square_roots():
    items, _ = clustered()
    assert views.learn(["raw"], items)["raw"].see(items) is items
    rooted = views.learn(["root"], items)["root"].see(items)
    assert np.allclose(rooted, unit(np.sign(items) * np.sqrt(np.abs(items))), atol=1e-6)


def test_one_after_the_other():
    items, _ = clustered()
    chain = views.learn(["root+w50"], items)["root+w50"]
    rooted = views.learn(["root"], items)["root"].see(items)
    assert chain.see(items).tobytes() == views.learn(["w50"], rooted)["w50"].see(rooted).tobytes()


def test_many_items_are_sampled():
    assert len(Collection(np.ones((2 * SAMPLE + 1, 2), np.float32)).values) <= SAMPLE


def test_what_cannot_have_been_learned_is_refused():
    items, _ = clustered()
    state = views.learn(["w50"], items)["w50"].state()
    name = next(key for key in state if key.endswith("axes"))
    singular = name.replace("axes", "singular")
    broken = [
        state | {name: state[name][:3]},
        state | {name: state[name] * 1e6},
        state | {name: np.full_like(state[name], np.nan)},
        state | {singular: -state[singular]},
        {},
    ]
    for one in broken:
        with pytest.raises(BadInput, match="view w50"):
            views.restore(["w50"], one, items.shape[1])
    with pytest.raises(BadInput):
        views.restore(["w50"], state, items.shape[1] + 1)
    with pytest.raises(BadInput, match="belongs to none"):
        views.restore(["w50"], state | {"mean": state[name]}, items.shape[1])
    with pytest.raises(UnknownName, match="did you mean w50"):
        views.create("w51")
