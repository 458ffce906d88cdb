"""``foldwalk search``: the items of an index that belong with a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foldwalk.cli.output import AsJson, console, print_json, remark
from foldwalk.cli.sources import IndexPlace, Method, is_vectors

if TYPE_CHECKING:
    from foldwalk.index import Index, Results


def search(
    index: IndexPlace,
    queries: Annotated[
        list[str] | None, typer.Argument(metavar="PICTURE...", help="Pictures, keys, or files of vectors.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Words to search with, where the index was made with a CLIP model."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many items to list for each query.")] = 10,
    method: Method = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the method, as k=20.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Only items with field=value, or field=low..high.")
    ] = None,
    fold: Annotated[bool, typer.Option("--fold", help="Show near-duplicates as one.")] = False,
    like: Annotated[list[str] | None, typer.Option(help="More like this key or picture.")] = None,
    unlike: Annotated[list[str] | None, typer.Option(help="Less like this key or picture.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search with pictures or words, one after the other; --like and --unlike join each of them."""
    from foldwalk.cli.params import parse_params
    from foldwalk.core import BadInput
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index, Like, Text

    if not queries and not like and not text:
        raise BadInput("search needs a picture, a key, --text, or --like.")
    params, conditions = parse_params(param or []), parse_where(where or [])
    asked = [pair for query in queries or [] for pair in read_queries(query)]
    asked += [(words, Text(words)) for words in text or []]
    if like or unlike:
        name = ", ".join([*(f"like {key}" for key in like or []), *(f"unlike {key}" for key in unlike or [])])
        joined = [(f"{one}, {name}", Like([query, *(like or [])], unlike or [])) for one, query in asked]
        asked = joined or [(name, Like(like or [], unlike or []))]
    answers = []
    with Index.open(index) as collection, reporting(for_terminal()):
        told = set()
        for name, query in asked:
            chosen, given = collection.method_for(method, params, query)
            if len(collection) and chosen not in told:
                _tell_of_training(collection, chosen, given)
                told.add(chosen)
            found = collection.search(query, top, chosen, given, conditions, fold)
            answers.append({"query": name, **found.as_dict()})
            if not as_json:
                _print(name, found)
    if as_json:
        print_json({"index": index, "results": answers})


def _tell_of_training(collection: Index, method: str, params: dict[str, Any]) -> None:
    """Say before a search that it trains first, or that items came after the training."""
    again = f"foldwalk train {method} {collection.store.place}"
    if not collection.is_fitted(method, params):
        beforehand = f"; {again} does it beforehand" if _can_be_trained(method) else ""
        remark(f"{method} is trained on {len(collection)} items first, once for all searches{beforehand}.")
        return
    for model in collection.models():
        if model.method == method and model.came:
            remark(f"{model.came} of {len(collection)} items came after the training; {again} takes them in.")


def _can_be_trained(method: str) -> bool:
    from foldwalk.learn import trainings

    return method in trainings.names()


def parse_where(items: list[str]) -> dict[str, Any]:
    """["year=1990..1999", "place=Oslo"] as conditions; a field given again adds a value.

    A number on the command line may be one in the metadata, or a text that looks like it.
    """
    from foldwalk.cli.params import parse_value
    from foldwalk.core import BadInput

    conditions: dict[str, Any] = {}
    for item in items:
        field, equals, text = (part.strip() for part in item.partition("="))
        if not equals or not field or not text:
            raise BadInput(f"--where {item} must read field=value or field=low..high.")
        low, dots, high = (part.strip() for part in text.partition(".."))
        if dots and field in conditions:
            raise BadInput(f"--where {field} is given twice, once as a range; give it once.")
        if dots:
            limits = {"min": parse_value(low) if low else None, "max": parse_value(high) if high else None}
            conditions[field] = {name: limit for name, limit in limits.items() if limit is not None}
        else:
            conditions.setdefault(field, [])
            if isinstance(conditions[field], dict):
                raise BadInput(f"--where {field} is given twice, once as a range; give it once.")
            conditions[field] += [text, parse_value(text)]
    return conditions


def read_queries(text: str) -> list[tuple[str, Any]]:
    """A picture or key as it is; a file of vectors as the vectors it holds, by their keys or their rows."""
    from foldwalk.core.vector_files import read_vector_file

    if not is_vectors(Path(text)):
        return [(text, text)]
    file = read_vector_file(Path(text), ("keys",))
    vectors = file.checked("queries").values
    keys = file.keys or [str(row) for row in range(len(vectors))]
    names = [text] if len(keys) == 1 else [f"{text}:{key}" for key in keys]
    return list(zip(names, vectors, strict=True))


def _print(text: str, found: Results) -> None:
    from rich.markup import escape
    from rich.table import Table

    spent = sum(found.seconds.values())
    table = Table(title=escape(text), caption=f"{found.method}, {1000 * spent:.0f} ms", title_justify="left")
    for name in ("rank", "plain"):
        table.add_column(name, justify="right")
    table.add_column("key", overflow="fold")
    for name in ("score", "similarity"):
        table.add_column(name, justify="right")
    has_metadata = any(hit.metadata for hit in found.hits)
    if has_metadata:
        table.add_column("known of it", overflow="fold")
    for hit in found.hits:
        known = ", ".join(f"{name}: {value}" for name, value in hit.metadata.items())
        twins = f" (and {len(hit.duplicates)} like it)" if hit.duplicates else ""
        table.add_row(
            str(hit.rank),
            str(hit.plain_rank),
            escape(hit.key + twins),
            f"{hit.score:.4f}",
            f"{hit.similarity:.4f}",
            *([escape(known)] if has_metadata else []),
        )
    console().print(table)
    if found.note:
        console().print(f"[dim]{escape(found.note)}[/]")
