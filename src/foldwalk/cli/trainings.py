"""``foldwalk trainings``: what can be trained, and with which parameters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, console, parameter_table, print_json

if TYPE_CHECKING:
    from foldwalk.learn.trainings import TrainingCard


def trainings(
    name: Annotated[str | None, typer.Argument(help="Show this training's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the trainings, or show one with its parameters."""
    from foldwalk.learn import trainings as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    if as_json:
        print_json(asdict(cards[0]) if name else [asdict(card) for card in cards])
    elif name:
        _print_card(cards[0])
    else:
        _print_table(cards)


def _labels(card: TrainingCard) -> str:
    return "needed" if card.needs_labels else "none"


def _print_table(cards: list[TrainingCard]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("name", "labels", "summary", "paper", title="Trainings", title_justify="left")
    for card in cards:
        table.add_row(f"[bold]{card.name}", _labels(card), escape(card.summary), escape(card.paper))
    console().print(table)


def _print_card(card: TrainingCard) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{card.name}[/bold]  (labels: {_labels(card)})")
    out.print(escape(card.summary))
    out.print(escape(card.paper), style="dim")
    out.print(escape(f"foldwalk train {card.name} {card.usage} --out OUT"), highlight=False)
    out.print(escape(f"writes {', '.join(card.writes)}"))
    out.print(parameter_table(card.parameters))
