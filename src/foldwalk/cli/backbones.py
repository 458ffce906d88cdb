"""``foldwalk backbones``: what can describe pictures, how it is named, what it needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, console, print_json

if TYPE_CHECKING:
    from foldwalk.descriptors import BackboneCard


def backbones(
    name: Annotated[str | None, typer.Argument(help="Show this backbone's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models that describe pictures, or show one with its options."""
    from foldwalk.descriptors import backbones as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    if as_json:
        print_json(asdict(cards[0]) if name else [asdict(card) for card in cards])
    elif name:
        _print_card(cards[0])
    else:
        _print_table(cards)


def _print_table(cards: list[BackboneCard]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("name", "how it is named", "needs", "summary", title="Backbones", title_justify="left")
    for card in cards:
        needs = f"foldwalk[{card.extra}]" if card.extra else ""
        table.add_row(f"[bold]{card.name}", escape(card.named), escape(needs), escape(card.summary))
    console().print(table)


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
