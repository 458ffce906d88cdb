"""``foldwalk datasets``: what can be loaded, where it is looked for, whether it is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.cards import show_cards
from foldwalk.cli.output import AsJson, console

if TYPE_CHECKING:
    from rich.text import Text

    from foldwalk.datasets import DatasetCard

Root = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the data sets; without it FOLDWALK_DATA, else ./data.", exists=True, file_okay=False
    ),
]


def datasets(
    name: Annotated[str | None, typer.Argument(help="Show this data set's card.")] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, or show what one needs and where to get it."""
    from foldwalk import datasets as registry

    cards = [registry.describe(each, root=root) for each in ([name] if name else registry.names())]
    details = (lambda card: _print_card(card, root)) if name else None
    show_cards(
        cards,
        "Data sets",
        {
            "state": _state,
            "what": lambda card: f"{card.title}: {card.what}",
        },
        details,
        as_json,
    )


def _state(card: DatasetCard) -> Text:
    from rich.text import Text

    return Text("present", style="green") if card.present else Text("absent", style="yellow")


def _print_card(card: DatasetCard, root: Path | None) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[bold]{escape(card.name)}[/bold]  {escape(card.title)} ", _state(card))
    out.print(escape(card.what))
    if card.layout:
        out.print("Looked for below the root (--root, else FOLDWALK_DATA, else ./data):")
        for place in card.layout:
            out.print(f"  {escape(place)}", highlight=False)
    if card.found:
        out.print(f"Found: {escape(str(card.found))}")
    elif not card.present:
        out.print(f"Not found{escape(f' below {root}') if root else ''}.")
    out.print(f"Get it from: {escape(card.source)}")
    out.print(escape(card.reference), style="dim")
