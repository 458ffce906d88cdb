"""What every data set promises. One that is added later is tested here without an edit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foldwalk import datasets
from foldwalk.core import MissingData

NAMES = datasets.names()


def is_there(name: str, root: Path) -> bool:
    return datasets.describe(name, root).present


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_it_is_and_where_to_get_it(name: str, tmp_path: Path) -> None:
    card = datasets.describe(name, tmp_path)
    assert card.name == name
    assert all((card.title, card.what, card.source, card.reference))
    assert bool(card.layout) != card.present  # nothing is looked for where a set comes with the install


@pytest.mark.parametrize("name", NAMES)
def test_an_absent_set_says_one_sentence(name: str, tmp_path: Path) -> None:
    if is_there(name, tmp_path):
        assert datasets.load(name, tmp_path).gallery is not None
        return
    assert datasets.describe(name, tmp_path).found is None
    with pytest.raises(MissingData) as caught:
        datasets.load(name, tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message
    assert message.endswith(".")
    assert "\n" not in message
    assert "get " in message


@pytest.mark.parametrize("name", NAMES)
def test_a_set_that_is_there_fits_its_protocol(name: str, data_root: Path) -> None:
    if not is_there(name, data_root):
        pytest.skip(f"{name} is not in {data_root}")
    first, second = datasets.load(name, data_root), datasets.load(name, data_root)
    assert first.name.partition(":")[0] == name
    if first.gallery is None:
        assert first.kind == "pictures"
        return
    assert np.isfinite(first.gallery).all()
    assert np.array_equal(first.gallery, second.gallery)
    asked = first.gallery if first.queries is None else first.queries
    assert first.protocol.n_queries == len(asked)
    if first.labels is not None:
        assert len(first.labels) == len(first.gallery)
