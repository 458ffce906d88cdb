"""``foldwalk tune``: which method suits an index, by labels that lie around."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.bench import Params
from foldwalk.cli.output import AsJson, command_line, console, print_json, remark, say
from foldwalk.cli.sources import IndexPlace

if TYPE_CHECKING:
    from foldwalk.index import Index
    from foldwalk.index.tuning.types import Candidate, Outlook, Tuned


def tune(
    index: IndexPlace,
    by: Annotated[
        str | None,
        typer.Option(help='A field of the metadata, or "folders": those of the keys. The default, if any.'),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Pairs that somebody marked: .csv of key,key,same or different.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help='Candidates instead of the usual ones: "plain,cas,auto views=raw".')
    ] = None,
    param: Params = None,
    report: Annotated[Path | None, typer.Option(help="Folder for index.html and results.json.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show only; keep nothing.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Only forget what was kept.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare methods by labels, and have searches use the best where the evidence is enough.

    Without labels it shows what can be seen of the collection without them.
    """
    from foldwalk.core import BadInput
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index
    from foldwalk.index.tuning.labels import FOLDERS
    from foldwalk.index.tuning.pair_file import read_pairs
    from foldwalk.report.html import check_folder

    if by is not None and pairs is not None:
        raise BadInput("--by and --pairs are two kinds of labels; give one of them.")
    if forget and (by or pairs or methods or param or report or dry_run):
        raise BadInput("--forget goes alone: it forgets what was kept and does nothing else.")
    marked = None if pairs is None else read_pairs(pairs)
    if report is not None:
        check_folder(report, "tune")
    with Index.open(index) as collection, reporting(for_terminal()):
        if forget:
            _forget(index, collection, as_json)
            return
        candidates = _candidates(collection, methods, param or [])
        if by is None and marked is None and not collection.has_folders():
            found: Tuned | Outlook = collection.outlook()
        else:
            found = collection.tune(by or FOLDERS, marked, candidates, keep=not dry_run)
        place = collection.store.place
    if report is not None:
        _write_report(report, command_line().replace(index, place), place, found)
    if as_json:
        print_json({"index": index, **found.as_dict()})
    else:
        _show(index, found, dry_run)


def _forget(index: str, collection: Index, as_json: bool) -> None:
    known = collection.forget_preferred()
    if as_json:
        print_json({"index": index, "forgotten": known})
    else:
        usual, _ = collection.method_for()
        say(f"{index}: {'forgotten' if known else 'nothing was kept'}; searches use {usual}")


def _candidates(collection: Index, methods: str | None, param: list[str]) -> list[Candidate]:
    from foldwalk import rerank
    from foldwalk.cli.params import parse_method_params, parse_variants, refuse_large_neighborhoods
    from foldwalk.index.tuning.candidates import usual
    from foldwalk.index.tuning.types import Candidate

    named = (
        usual(collection.metric)
        if methods is None
        else [Candidate(*variant) for variant in parse_variants(methods, "--methods")]
    )
    params = parse_method_params(param, [each.method for each in named])
    found = [Candidate(each.method, {**params[each.method], **each.parameters}) for each in named]
    for each in found:
        refuse_large_neighborhoods(rerank.describe(each.method), each.parameters, len(collection))
    return found


def _show(index: str, found: Tuned | Outlook, dry_run: bool) -> None:
    from foldwalk.cli.tuning_tables import agreement_table, candidates_table, mutuality_table
    from foldwalk.index.tuning.types import Tuned

    out = console()
    if not isinstance(found, Tuned):
        out.print(mutuality_table(found))
        if found.agreement:
            out.print(agreement_table(found))
        say(f"{index} has no labels. Seen without: {found.sentence}")
        say("With labels tune compares methods: --by FIELD, --by folders, or --pairs FILE.")
        return
    out.print(candidates_table(found))
    for row in found.candidates:
        if row.failure is not None:
            remark(f"{row.name} failed: {row.failure}")
    say(found.sentence)
    if found.kept:
        say(f"{index}: kept, for searches that name no method; foldwalk tune --forget undoes it")
    elif dry_run:
        say("nothing was kept, as --dry-run says")


def _write_report(folder: Path, command: str, place: str, found: Tuned | Outlook) -> None:
    """The page is for others: it holds the place of the index, not an address with a password."""
    from foldwalk.core.json_text import to_json
    from foldwalk.core.whole_files import write_whole
    from foldwalk.measure.results import describe_run
    from foldwalk.report.tuning import tuning_page

    run = describe_run(command)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "results.json", to_json({"run": run, "index": place, **found.as_dict()}).encode())
    write_whole(folder / "index.html", tuning_page(place, found, run).encode(errors="backslashreplace"))
    remark(f"report: {folder / 'index.html'}")
