"""``foldwalk explain``: why an item is among the answers."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace, Method


def explain(
    index: IndexPlace,
    query: Annotated[str, typer.Argument(help="A picture, a key, or one vector as .npy.")],
    key: Annotated[str, typer.Argument(help="The item to explain.")],
    method: Method = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the method, as k=20.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the strongest chain of pictures from a query to an item, and how its rank changed."""
    from foldwalk.cli.params import parse_params
    from foldwalk.cli.search import read_queries
    from foldwalk.core import BadInput
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index

    asked = read_queries(query)
    if len(asked) != 1:
        raise BadInput(f"{query} holds {len(asked)} vectors; explain takes one.")
    with Index.open(index) as collection, reporting(for_terminal()):
        chosen, params = collection.method_for(method, parse_params(param or []))
        found = collection.explain(asked[0][1], key, chosen, params)
    if as_json:
        print_json({"index": index, "query": query, "key": key, "method": chosen, **found.as_dict()})
        return
    for step in found.steps:
        name = step.key if step.key is not None else query
        say(name if step.similarity is None else f"  {step.similarity:.3f}  {name}")
    say(found.sentence)
    if found.note:
        say(f"{chosen}: {found.note}")
