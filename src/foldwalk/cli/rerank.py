"""``foldwalk rerank``: rank vectors of one file against those of another, or items by their distances."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from foldwalk.cli.output import AsJson, Force, print_json, remark, say


def rerank(
    out: Annotated[Path, typer.Option(help="Where the ranking goes: .npz, .csv or .parquet.")],
    gallery: Annotated[Path | None, typer.Option(help="Vectors to search: .npy, .npz or .parquet.")] = None,
    distances: Annotated[
        Path | None,
        typer.Option(help="Instead of vectors, n x n distances: .npy, or sparse as .npz of scipy."),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Vectors to search with; without it every gallery item is a query.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Name of the method (foldwalk methods); without it the usual one.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many items to list for each query.")] = 100,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the method, as k=20.")] = None,
    inductive: Annotated[
        bool, typer.Option("--inductive", help="Fit the gallery alone: queries do not join the graph.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Rank gallery vectors for each query vector and save the ranking.

    With --distances every item is a query for the others, and no vectors are needed.
    """
    from foldwalk import rerank as methods
    from foldwalk.cli.params import parse_params, refuse_large_neighborhoods
    from foldwalk.core import BadInput
    from foldwalk.core.matrix_files import read_matrix_file
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.core.vector_files import read_vector_file
    from foldwalk.rerank.registry import DEFAULT

    if (gallery is None) == (distances is None):
        raise BadInput("rerank takes --gallery or --distances, one of the two.")
    if distances is not None and queries is not None:
        raise BadInput("--distances goes without --queries: every item of the matrix is a query.")
    if inductive and queries is None:
        raise BadInput("--inductive needs --queries: without them the gallery ranks itself.")
    _check_out(out, force, inputs=[path for path in (gallery, distances, queries) if path is not None])
    method, params = method or DEFAULT, parse_params(param or [])
    ranker = methods.create(method, seed=seed, **params)
    matrix: Any = None if distances is None else read_matrix_file(distances)
    gallery_file = None if gallery is None else read_vector_file(gallery, ())
    items = None if gallery_file is None else gallery_file.checked("gallery")
    n_items = (matrix.shape or (0,))[0] if items is None else len(items)
    refuse_large_neighborhoods(methods.describe(method), params, n_items)
    query_file = None if queries is None else read_vector_file(queries, ())
    asked = None if query_file is None or items is None else query_file.checked("queries", items.dim)
    origin = gallery_file.origin if gallery_file else None
    if not as_json:
        remark(f"gallery: {origin}" if origin else f"distances: {distances}")
        remark(f"queries: {query_file.origin if query_file else 'every gallery item'}")

    began = time.perf_counter()
    with reporting(for_terminal()):
        if items is None:
            ranking = ranker.fit(distances=matrix).rank_self(top=top)
        elif asked is None:
            ranking = ranker.fit(items.values).rank_self(top=top)
        elif inductive:
            ranking = ranker.fit(items.values).rank(asked.values, top=top)
        else:
            ranking = ranker.rerank(asked.values, items.values, top=top)
    seconds = time.perf_counter() - began
    ranking.save(out)

    n_queries, depth = ranking.ids.shape
    if as_json:
        print_json(
            {
                "method": method,
                "parameters": params,
                "inductive": inductive,
                "seed": seed,
                "gallery": origin,
                "distances": None if distances is None else str(distances),
                "queries": query_file.origin if query_file else None,
                "n_gallery": n_items,
                "n_queries": n_queries,
                "top": depth,
                "seconds": round(seconds, 3),
                "out": str(out),
            }
        )
    else:
        say(f"{out}: the first {depth} of {n_items} items for {n_queries} queries, {seconds:.1f} s")


def _check_out(out: Path, force: bool, inputs: list[Path]) -> None:
    """Everything that could keep the ranking from being saved, before the long work begins."""
    from foldwalk.core import BadInput
    from foldwalk.core.parquet import load_pyarrow
    from foldwalk.core.targets import check_file

    if out.suffix not in (".npz", ".csv", ".parquet"):
        raise BadInput(f"--out {out}: a ranking is saved as .npz, .parquet or .csv.")
    if out.suffix == ".parquet":
        load_pyarrow()
    check_file(out, force, "--force", inputs)
