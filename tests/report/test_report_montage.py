"""Which queries are shown, and what the pictures look like."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from foldwalk.measure.jobs import Details
from foldwalk.report.montage import (
    GREEN,
    RED,
    Strip,
    data_uri,
    sheet,
    telling_queries,
    thumbnail,
    visible_change,
)


def details(right: list[int], per_query: list[float]) -> Details:
    """Queries with so many right ones first."""
    first = np.arange(10) < np.array(right)[:, None]
    return Details(np.zeros(101), np.array(per_query), np.zeros((len(right), 10), dtype=np.int64), first)


def test_change_counts_the_first_ten_before_the_figure() -> None:
    plain = details([5, 10, 3, 0], [0.5, 0.2, 0.5, np.nan])
    other = details([7, 10, 2, 0], [0.6, 0.9, 0.6, np.nan])
    np.testing.assert_allclose(visible_change(plain, other), [2.1, 0.7, -0.9, 0])


def test_largest_changes_first_and_the_worst_loss_always() -> None:
    better = np.array([0.4, 0.1, 0.5, 0.0, 0.3, 0.0])
    worse = np.array([0.0, 0.0, 0.0, -0.1, 0.0, 0.0])
    assert telling_queries([better, worse], count=2) == [2, 0, 3]


def test_a_loss_that_is_already_shown_is_not_repeated() -> None:
    assert telling_queries([np.array([-0.4, 0.1])], count=2) == [0, 1]


def test_nothing_to_show() -> None:
    assert telling_queries([]) == []
    assert telling_queries([np.zeros(2)]) == []


def test_data_uri_is_a_small_jpeg() -> None:
    uri = data_uri(Image.new("L", (300, 100), 128), size=40)
    head, _, body = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(body))) as picture:
        assert (picture.format, picture.size) == ("JPEG", (40, 40))


def test_small_pictures_are_enlarged_without_blurring() -> None:
    checker = Image.fromarray(np.array([[0, 255], [255, 0]], dtype=np.uint8))
    assert set(np.unique(np.asarray(thumbnail(checker, 32)))) == {0, 255}


def test_sheet_frames_right_green_and_wrong_red() -> None:
    grey = Image.new("L", (8, 8), 128)
    canvas = np.asarray(sheet(grey, [Strip("only", [grey, grey, None], [True, False, False])], size=20))

    def columns(colour: tuple[int, int, int]) -> np.ndarray:
        return np.flatnonzero((canvas == colour).all(axis=2).any(axis=0))

    green, red = columns(GREEN), columns(RED)
    assert (
        len(green) == len(red) == 28
    )  # 20 of the picture and 4 on each side; a missing picture has no frame
    assert green.max() < red.min()
