"""``foldwalk methods``: what can rank, and with which parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.cards import show_cards
from foldwalk.cli.output import AsJson, console, parameter_table

if TYPE_CHECKING:
    from foldwalk.rerank import MethodCard


def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its parameters."""
    from foldwalk import rerank

    cards = [rerank.describe(each) for each in ([name] if name else rerank.names())]
    show_cards(
        cards,
        "Methods",
        {
            "family": lambda card: card.family,
            "summary": lambda card: card.summary,
            "paper": lambda card: card.paper,
        },
        _print_card if name else None,
        as_json,
    )


def _print_card(card: MethodCard) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{card.name}[/bold]  ({card.family})")
    out.print(escape(card.summary))
    out.print(escape(card.paper), style="dim")
    out.print(". ".join(f"{fact}: {'yes' if holds else 'no'}" for fact, holds in card.facts().items()))
    out.print(parameter_table(card.parameters))
    for name, preset in card.presets.items():
        values = " ".join(f"{parameter}={value}" for parameter, value in preset.values.items())
        out.print(f"[bold]preset={name}[/bold]  {escape(preset.text)}")
        out.print(f"  {escape(values)}", style="dim")
