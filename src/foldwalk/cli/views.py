"""``foldwalk views``: the ways in which a collection's vectors can be looked at."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.cards import show_cards
from foldwalk.cli.output import AsJson


def views(
    name: Annotated[str | None, typer.Argument(help="Show this view alone.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the views of the vectors that `--param views=raw,w50` may name."""
    from foldwalk import views as registry

    cards = [registry.describe(each) for each in ([name] if name else registry.names())]
    show_cards(cards, "Views", {"what": lambda card: card.summary}, None, as_json)
