"""``foldwalk backbones``: what can describe pictures, how it is named, what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.cards import needs, show_cards
from foldwalk.cli.output import AsJson, console

if TYPE_CHECKING:
    from foldwalk.descriptors import BackboneCard


def backbones(
    name: Annotated[str | None, typer.Argument(help="Show this backbone's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models that describe pictures, or show one with its options."""
    from foldwalk.descriptors import backbones as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    show_cards(
        cards,
        "Backbones",
        {
            "how it is named": lambda card: card.named,
            "needs": lambda card: needs(card.extra),
            "summary": lambda card: card.summary,
        },
        _print_card if name else None,
        as_json,
    )


def _print_card(card: BackboneCard) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = console()
    out.print(f"[bold]{card.name}[/bold]  {escape(card.summary)}")
    example = "" if card.example == card.named else f", as {card.example}"
    out.print(escape(f"Named: {card.named}{example}"), highlight=False)
    out.print(f"Dimensions: {escape(card.dimensions)}", highlight=False)
    if card.extra:
        out.print(escape(f'Needs: pip install "foldwalk[{card.extra}]"'), highlight=False)
    if card.remark:
        out.print(escape(card.remark))
    if card.options:
        table = Table("option", "default")
        for option, default in card.options.items():
            table.add_row(f"[bold]{option}", escape(str(default)))
        out.print(table)
