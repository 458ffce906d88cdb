"""What the registries hold, as the commands that list it show it: a table, one card, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from foldwalk.cli.output import console, print_json

Column = Callable[[Any], Any]


def show_cards(
    cards: Sequence[Any],
    title: str,
    columns: Mapping[str, Column],
    details: Callable[[Any], None] | None,
    as_json: bool,
) -> None:
    """All cards as a table of names and `columns`; with `details` the first one alone, in full.

    A column gives plain text, or text of rich's own kind where it has a colour.
    """
    from rich.markup import escape
    from rich.table import Table

    if as_json:
        print_json(asdict(cards[0]) if details else [asdict(card) for card in cards])
    elif details:
        details(cards[0])
    else:
        table = Table("name", *columns, title=title, title_justify="left")
        for card in cards:
            cells = (column(card) for column in columns.values())
            table.add_row(f"[bold]{card.name}", *(escape(c) if isinstance(c, str) else c for c in cells))
        console().print(table)


def needs(extra: str | None) -> str:
    """What has to be installed beside the core."""
    return f"foldwalk[{extra}]" if extra else ""
