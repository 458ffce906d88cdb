"""``foldwalk methods``: what can rank, and with which parameters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, console, parameter_table, print_json

if TYPE_CHECKING:
    from foldwalk.rerank import MethodCard


def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its parameters."""
    from foldwalk import rerank

    cards = [rerank.describe(each) for each in ([name] if name else rerank.names())]
    if as_json:
        print_json(asdict(cards[0]) if name else [asdict(card) for card in cards])
    elif name:
        _print_card(cards[0])
    else:
        _print_table(cards)


def _print_table(cards: list[MethodCard]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("name", "family", "summary", "paper", title="Methods", title_justify="left")
    for card in cards:
        table.add_row(f"[bold]{card.name}", card.family, escape(card.summary), escape(card.paper))
    console().print(table)


def _print_card(card: MethodCard) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{card.name}[/bold]  ({card.family})")
    out.print(escape(card.summary))
    out.print(escape(card.paper), style="dim")
    out.print(". ".join(f"{fact}: {'yes' if holds else 'no'}" for fact, holds in card.facts().items()))
    out.print(parameter_table(card.parameters))
