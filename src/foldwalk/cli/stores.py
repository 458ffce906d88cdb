"""``foldwalk stores``: where a collection can live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.cards import needs, show_cards
from foldwalk.cli.output import AsJson, console

if TYPE_CHECKING:
    from foldwalk.stores import StoreCard


def stores(
    name: Annotated[str | None, typer.Argument(help="Show this store's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the places where a collection can live, or show one of them."""
    from foldwalk import stores as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    show_cards(
        cards,
        "Stores",
        {
            "address": _addresses,
            "what": lambda card: card.summary,
            "needs": lambda card: needs(card.extra) or "nothing more",
        },
        _print_card if name else None,
        as_json,
    )


def _addresses(card: StoreCard) -> str:
    return ", ".join(f"{scheme}://..." for scheme in card.schemes)


def _print_card(card: StoreCard) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{card.name}[/bold]  {escape(_addresses(card))}", highlight=False)
    out.print(escape(card.summary))
    if card.extra:
        out.print(escape(f'Needs: pip install "{needs(card.extra)}"'), highlight=False)
