"""Seeds: reproducible, one stream per purpose, no global state."""

from __future__ import annotations

import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.core.seeds import check_seed, generator


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, np.int32(7), np.uint64(7)])
def test_takes_whole_numbers(seed):
    checked = check_seed(seed)
    assert checked == seed
    assert type(checked) is int


@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, np.float64(1), True, np.True_, None, "7", [1]])
def test_refuses_anything_else(seed):
    with pytest.raises(BadInput, match=r"seed must be a whole number from 0 to 2\*\*32 - 1, but it is "):
        check_seed(seed)
    with pytest.raises(BadInput):
        generator(seed)


def test_the_same_seed_and_purpose_draw_the_same_numbers():
    np.random.seed(0)  # noqa: NPY002 - the global state must not matter
    first = generator(3, "anchors").random(100)
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(first, generator(3, "anchors").random(100))
    assert np.array_equal(first, generator(np.int64(3), "anchors").random(100))


def test_purposes_and_seeds_are_independent():
    streams = [generator(seed, purpose).normal(size=5000) for seed in (0, 1) for purpose in ("", "a", "b")]
    correlation = np.corrcoef(streams)
    assert np.abs(correlation - np.eye(len(streams))).max() < 0.06


def test_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generator(0, "anything").random(10)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
