"""What a training leaves to look at: its curves, and the pairs it mined."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from foldwalk.cli.sources import is_index

if TYPE_CHECKING:
    from PIL.Image import Image

    from foldwalk.learn.trainer.own import Outcome

CURVES, MINED = "curves.png", "mined.jpg"
Picture = Callable[[int], "Image | None"]


def write_pictures(outcome: Outcome, source: str, out: Path) -> list[str]:
    """The names of those that could be made."""
    return [name for name in (_curves(outcome, out), _mined(outcome, source, out)) if name]


def _curves(outcome: Outcome, out: Path) -> str | None:
    from foldwalk.core import MissingExtra
    from foldwalk.core.whole_files import write_whole
    from foldwalk.report.plots import training_curves

    try:
        drawn = training_curves(outcome.trained.history)
    except MissingExtra:  # a plot is not what the training was for
        return None
    write_whole(out / CURVES, drawn)
    return CURVES


def _mined(outcome: Outcome, source: str, out: Path) -> str | None:
    """A contact sheet of what was mined, where there are pictures of it."""
    from foldwalk.core.whole_files import write_whole
    from foldwalk.learn.mining.recipe import MinedRecipe
    from foldwalk.report.mined import contact_sheet, has_both

    recipe = outcome.trained.recipe
    if not isinstance(recipe, MinedRecipe) or not len(has_both(recipe.pools)):
        return None
    with _pictures(outcome, source) as picture:
        if picture(int(recipe.pools.anchors[0])) is None:
            return None
        write_whole(out / MINED, contact_sheet(recipe.pools, picture))
    return MINED


@contextmanager
def _pictures(outcome: Outcome, source: str) -> Iterator[Picture]:
    """The picture of an item that was trained on: the thumbnail of an index, or the file."""
    from foldwalk.descriptors import Unreadable, load_picture
    from foldwalk.index import Index

    keys, paths = outcome.train.keys or [], outcome.train.paths

    def of_file(item: int) -> Image | None:
        try:
            return None if paths is None else load_picture(paths[item], short_side=128)
        except Unreadable:
            return None

    if not is_index(source):
        yield of_file
        return
    with Index.open(source) as index:

        def of_index(item: int) -> Image | None:
            small = index.thumbnail(keys[item])
            return None if small is None else load_picture(io.BytesIO(small))

        yield of_index
