"""``foldwalk stores``: where a collection can live."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, console, print_json

if TYPE_CHECKING:
    from foldwalk.stores import StoreCard


def stores(
    name: Annotated[str | None, typer.Argument(help="Show this store's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the places where a collection can live, or show one of them."""
    from foldwalk import stores as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    if as_json:
        print_json(asdict(cards[0]) if name else [asdict(card) for card in cards])
    else:
        _print_table(cards)


def _print_table(cards: list[StoreCard]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("name", "address", "what", "needs", title="Stores", title_justify="left")
    for card in cards:
        needs = f"foldwalk[{card.extra}]" if card.extra else "nothing more"
        addresses = ", ".join(f"{scheme}://..." for scheme in card.schemes)
        table.add_row(f"[bold]{card.name}", addresses, escape(card.summary), escape(needs))
    console().print(table)
