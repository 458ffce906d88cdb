"""What was asked for, as one vector.

Several examples become one query by Rocchio's rule (Rocchio 1971), with p and n the means of the positives
and of the negatives:

    q = p + 1/4 (p - n)

Its direction is that of p - n / 5, the customary weights of .75 and .15. With the cosine metric every example
is brought to length one first, and so is q.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image

from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.core.types import Float32Array
from foldwalk.core.vectors import Vectors, read_array
from foldwalk.index.types import Key, Like, Text
from foldwalk.index.view import View
from foldwalk.neighbors import prepare

PUSH = 0.25


@dataclass(frozen=True, eq=False)
class Query:
    """A vector as one that is stored; `own` are items that must not be answered.

    `row` is the item's place where the query is nothing but one item of the index.
    """

    vector: Float32Array
    own: tuple[int, ...] = ()
    row: int | None = None


def resolve(asked: Any, view: View, backbone: Callable[[], Any]) -> Query:
    """Any kind of query as a vector; `backbone` is called only if there is a picture to describe."""
    if not isinstance(asked, Like):
        return _single(asked, view, backbone)
    positives = _examples(asked.positives, "positives", view, backbone)
    negatives = _examples(asked.negatives, "negatives", view, backbone)
    if not positives:
        raise BadInput("Like needs at least one positive example.")
    if len(positives) == 1 and not negatives:
        return positives[0]
    wanted = _mean(positives)
    if negatives:
        wanted = wanted + PUSH * (wanted - _mean(negatives))
    own = tuple(sorted({place for query in (*positives, *negatives) for place in query.own}))
    return Query(_prepared(wanted, view, "the mean of the examples"), own)


def _examples(asked: Sequence[Any], name: str, view: View, backbone: Callable[[], Any]) -> list[Query]:
    if isinstance(asked, (str, bytes, os.PathLike, Key, Text, Image)):
        raise BadInput(f"{name} must be a list of examples.")
    return [_single(one, view, backbone) for one in asked]


def _mean(queries: Sequence[Query]) -> np.ndarray:
    return np.asarray(np.mean([query.vector for query in queries], axis=0, dtype=np.float64))


def _single(asked: Any, view: View, backbone: Callable[[], Any]) -> Query:
    if isinstance(asked, str) and not Path(asked).is_file():
        if asked not in view.positions:
            raise UnknownName(f"{asked!r} is neither a file nor a key of the index.")
        asked = Key(asked)
    if isinstance(asked, Key):
        row = view.position(asked.name)
        return Query(view.vector(row), (row,), row)
    if isinstance(asked, Text):
        return Query(_prepared(_describe_text(asked.words, backbone()), view, "the text"))
    if isinstance(asked, (str, os.PathLike)):
        return Query(_prepared(_describe_file(Path(asked), backbone()), view, str(asked)))
    if isinstance(asked, Image):
        vector = backbone().embed([asked.convert("RGB")])[0]
        return Query(_prepared(vector, view, "the picture"))
    vector = asked if isinstance(asked, np.ma.MaskedArray) else read_array(asked, "the query")
    if vector.ndim != 1:
        raise BadInput(f"a query vector must be 1-D, but it has shape {vector.shape}; search one at a time.")
    return Query(_prepared(vector, view, "the query"))


def _describe_file(path: Path, backbone: Any) -> Float32Array:
    from foldwalk.descriptors import Unreadable, load_picture

    try:
        picture = load_picture(path, short_side=backbone.short_side)
    except Unreadable as error:
        raise BadInput(f"{path} cannot be searched with: {error}") from None
    return np.asarray(backbone.embed([picture])[0])


def _describe_text(words: str, backbone: Any) -> Float32Array:
    if not isinstance(words, str) or not words.strip():
        raise BadInput("a text to search with must hold words.")
    return np.asarray(backbone.embed_text([words])[0])


def _prepared(vector: Any, view: View, name: str) -> Float32Array:
    checked = Vectors.check(vector[None], name, view.facts.dim)
    return np.asarray(prepare(checked, view.facts.metric, scale=1.0).values[0])
