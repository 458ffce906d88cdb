"""``foldwalk trainings``: what can be trained, and with which parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.cards import show_cards
from foldwalk.cli.output import AsJson, console, parameter_table

if TYPE_CHECKING:
    from foldwalk.learn.trainings import TrainingCard


HOW = "one folder per class, a file of vectors with labels, --labels FILE.csv, or --by FIELD of an index"


def trainings(
    name: Annotated[str | None, typer.Argument(help="Show this training's card.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the trainings, or show one with its parameters."""
    from foldwalk.learn import trainings as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    show_cards(
        cards,
        "Trainings",
        {
            "labels": _labels,
            "summary": lambda card: card.summary,
            "paper": lambda card: card.paper,
        },
        _print_card if name else None,
        as_json,
    )


def _labels(card: TrainingCard) -> str:
    return "needed" if card.needs_labels else "none"


def _print_card(card: TrainingCard) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{card.name}[/bold]  (labels: {_labels(card)})")
    out.print(escape(card.summary))
    out.print(escape(card.paper), style="dim")
    out.print(escape(f"trains on {card.takes}"))
    if card.needs_labels:
        out.print(escape(f"labels: {HOW}"))
    out.print(escape(f"foldwalk train {card.name} {card.usage} --out OUT"), highlight=False)
    out.print(escape(f"writes {', '.join(card.writes)}"))
    out.print(parameter_table(card.parameters))
