"""``foldwalk evaluate``: a saved ranking, or methods, by a data set's own protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwalk.cli.bench import DatasetNames, Inductive, Params, Queries, Seed, measure, prepare, show
from foldwalk.cli.datasets import Root
from foldwalk.cli.output import AsJson, console, print_json


def evaluate(
    dataset: DatasetNames,
    ranking: Annotated[Path | None, typer.Option(help="A saved ranking: .npz, .csv or .parquet.")] = None,
    methods: Annotated[str | None, typer.Option(help='Methods to run instead, by commas, or "all".')] = None,
    root: Root = None,
    param: Params = None,
    queries: Queries = None,
    inductive: Inductive = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say how good a saved ranking is, or what methods reach, on a data set."""
    from foldwalk.core import BadInput

    if (ranking is None) == (methods is None):
        raise BadInput("evaluate needs either --ranking or --methods, and not both.")
    if methods is not None:
        jobs, _ = prepare(dataset, methods, root, param or [], queries, inductive, seed)
        show(measure(jobs), as_json)
        return
    if ranking is not None:
        if param or queries is not None or inductive:
            raise BadInput("--param, --queries and --inductive need --methods: a saved ranking is fixed.")
        _evaluate_saved(dataset, ranking, root, as_json)


def _evaluate_saved(dataset: str, path: Path, root: Path | None, as_json: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from foldwalk import datasets
    from foldwalk.core import Ranking

    saved = Ranking.load(path)
    protocol = datasets.load(dataset, root=root).protocol
    figures = protocol.evaluate(saved)
    n_queries, depth = saved.ids.shape
    if as_json:
        print_json(
            {
                "dataset": dataset,
                "ranking": str(path),
                "protocol": protocol.name,
                "n_queries": n_queries,
                "depth": depth,
                "main": protocol.main,
                "figures": figures,
            }
        )
        return
    caption = f"{protocol.name}, {n_queries} queries, judged over the first {depth} of each ranking"
    table = Table("figure", title=escape(f"{dataset}: {path.name}"), caption=caption, title_justify="left")
    table.add_column("per cent", justify="right")
    for key, value in figures.items():
        table.add_row(f"[bold]{escape(key)}" if key == protocol.main else escape(key), f"{100 * value:.2f}")
    console().print(table)
