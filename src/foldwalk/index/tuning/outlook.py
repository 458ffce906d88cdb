"""What can be seen of a collection without labels: the size of its groups, and how far the views agree."""

from __future__ import annotations

import numpy as np

from foldwalk.core.errors import BadInput
from foldwalk.core.types import IntArray
from foldwalk.index.tuning.types import Outlook
from foldwalk.index.view import View
from foldwalk.rerank.automatic.auto import Auto
from foldwalk.rerank.automatic.halves import shared

FIRST = 10
SAMPLE = 1_000  # items by which views are compared


def outlook(view: View) -> Outlook:
    """As `auto` sees it."""
    fitted = view.fitted_once(Auto.name, {})
    if not isinstance(fitted, Auto):
        raise BadInput(f"{view.store.place} cannot be looked at: there is no method {Auto.name}.")
    choice = fitted.choice
    return Outlook(
        items=len(view),
        group_size=choice.group_size,
        mutuality=tuple(choice.mutuality.tolist()),
        agreement=_agreement(view, (*choice.views, *choice.left_out)),
        sentence=fitted.note,
    )


def _agreement(view: View, names: tuple[str, ...]) -> dict[str, float]:
    if len(view) < 2 or len(names) < 2:
        return {}
    rows = np.unique(np.linspace(0, len(view) - 1, min(len(view), SAMPLE)).astype(np.int64))
    plain = _first(view, "raw", rows)
    return {name: shared(_first(view, name, rows), plain) for name in names if name != "raw"}


def _first(view: View, name: str, rows: IntArray) -> IntArray:
    return view.fitted_once("plain", {"views": name}).rank_rows(rows, FIRST).ids
