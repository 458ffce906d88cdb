"""``foldwalk bench``: methods side by side on data sets, with what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.datasets import Root
from foldwalk.cli.output import AsJson, command_line, console, print_json, remark

if TYPE_CHECKING:
    from collections.abc import Callable

    from foldwalk.measure.jobs import Job, Measurement
    from foldwalk.measure.trial import Trial

DatasetNames = Annotated[str, typer.Option("--dataset", help="Data sets, separated by commas.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", help="A parameter of a method, as cas.cluster_k=20.")
]
Queries = Annotated[int | None, typer.Option(min=1, help="Rank for a random sample of so many queries.")]
Inductive = Annotated[
    bool, typer.Option("--inductive", help="Fit the gallery alone: queries do not join the graph.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]


def bench(
    dataset: DatasetNames,
    methods: Annotated[str, typer.Option(help='Methods, separated by commas, or "all".')],
    report: Annotated[Path | None, typer.Option(help="Folder for index.html, results.csv and .json.")] = None,
    root: Root = None,
    param: Params = None,
    queries: Queries = None,
    inductive: Inductive = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure methods on data sets: figures, seconds, memory, next to plain search.

    The report is written whenever a data set is through.
    """
    from foldwalk.report.html import check_folder

    if report is not None:
        check_folder(report, "bench")
    jobs, loaded = prepare(dataset, methods, root, param or [], queries, inductive, seed)
    if report is None:
        measurements = measure(jobs)
    else:
        measurements = measure(jobs, lambda found: _write_report(report, found, loaded))
        remark(f"report: {report / 'index.html'}")
    show(measurements, as_json)


def prepare(
    dataset: str,
    methods: str,
    root: Path | None,
    param: list[str],
    queries: int | None,
    inductive: bool,
    seed: int,
) -> tuple[list[Job], dict[str, Trial]]:
    """The jobs to run, plain search first on each data set, and the data sets; refuses what cannot work."""
    from contextlib import suppress

    from foldwalk import rerank
    from foldwalk.cli.params import parse_method_params, parse_names, refuse_large_neighborhoods
    from foldwalk.core import MissingExtra
    from foldwalk.measure.jobs import Job
    from foldwalk.measure.results import BASELINE

    named = rerank.names() if methods == "all" else parse_names(methods, "--methods")
    names = list(dict.fromkeys([BASELINE, *named]))
    params = parse_method_params(param, names)
    for name in names:
        # A method whose packages are not installed becomes a failed row; the others can still run.
        with suppress(MissingExtra):
            rerank.create(name, seed=seed, **params[name])

    jobs, loaded = [], {}
    for dataset_name in parse_names(dataset, "--dataset"):
        own = [Job(dataset_name, name, params[name], root, queries, inductive, seed) for name in names]
        loaded[dataset_name] = own[0].load()
        for name in names:
            refuse_large_neighborhoods(rerank.describe(name), params[name], len(loaded[dataset_name].gallery))
        jobs += own
    return jobs, loaded


def measure(
    jobs: list[Job], set_done: Callable[[list[Measurement]], None] | None = None
) -> list[Measurement]:
    """Run the jobs and say how far they are."""
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.measure.jobs import measure_all

    with reporting(for_terminal()):
        return measure_all(jobs, set_done)


def show(measurements: list[Measurement], as_json: bool) -> None:
    from foldwalk.cli.tables import comparison_table, failures
    from foldwalk.measure.results import as_dict, compare, describe_run

    if as_json:
        print_json(as_dict(measurements, describe_run(command_line())))
        return
    out = console()
    for comparison in compare(measurements):
        out.print(comparison_table(comparison, out.width))
        for failure in failures(comparison):
            remark(failure)


def _write_report(folder: Path, measurements: list[Measurement], loaded: dict[str, Trial]) -> None:
    from foldwalk.core.whole_files import write_whole
    from foldwalk.measure.results import compare, describe_run, write_csv, write_json
    from foldwalk.report.html import comparison_section, page

    run = describe_run(command_line())
    sections = [comparison_section(c, loaded[c.dataset]) for c in compare(measurements)]
    text = page(
        "bench",
        "How the methods compare",
        "Every figure stands next to plain search, the ranking by similarity alone; what does worse is red.",
        sections,
        run,
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "results.csv", measurements)
    write_json(folder / "results.json", measurements, run)
    write_whole(folder / "index.html", text.encode(errors="backslashreplace"))
