"""Candidates compared by the labels of a collection, and the winner kept where the evidence is enough.

Neither the graph nor a fit sees the labels, so each candidate is fitted once, for all folds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from foldwalk.core.errors import BadInput, FoldwalkError
from foldwalk.core.progress import task
from foldwalk.core.types import Float64Array
from foldwalk.index.tuning.by_class import ByClass
from foldwalk.index.tuning.by_pairs import ByPairs, Pair
from foldwalk.index.tuning.candidates import checked, usual
from foldwalk.index.tuning.choosing import choose, doubt, too_few
from foldwalk.index.tuning.folds import mean, standard_error
from foldwalk.index.tuning.labels import codes_by
from foldwalk.index.tuning.types import Candidate, Scored, Tuned
from foldwalk.index.view import View

DEEPEST = 1_000

Judge = ByClass | ByPairs


def tune(
    view: View,
    by: str,
    pairs: Iterable[Pair] | None,
    candidates: Iterable[Candidate] | None,
    used: Candidate,
) -> Tuned:
    """What came of comparing; nothing is kept here. `used` is compared with the others in any case."""
    metric = view.facts.metric
    chosen = checked(usual(metric) if candidates is None else candidates, used, metric)
    if pairs is None:
        return compare(view, by, ByClass(codes_by(view, by)), chosen, used)
    return compare(view, "pairs", ByPairs(pairs, view.positions), chosen, used)


def compare(view: View, by: str, judge: Judge, candidates: Sequence[Candidate], used: Candidate) -> Tuned:
    """Each candidate fitted and judged; those that fail are left out of the choice."""
    depth = min(len(view) - 1, DEEPEST)
    rows, judged = [], []
    with task("candidates", total=len(candidates), unit="candidates") as advance:
        for candidate in candidates:
            row, values = _scored(view, candidate, judge, depth)
            if row.failure is not None and candidate == used:
                raise BadInput(f"{used.name}, which searches use, cannot be compared: {row.failure}")
            rows.append(row)
            judged.append(values)
            advance(1)
    worked = [place for place, row in enumerate(rows) if row.failure is None]
    at = worked.index(candidates.index(used))
    chosen = choose(np.array([judged[place] for place in worked]), judge.groups, judge.folds, at)
    for vote, count in chosen.votes.items():
        rows[worked[vote]] = replace(rows[worked[vote]], folds=count)
    groups = len(np.unique(judge.groups))
    few = too_few(chosen, groups, len(judge.groups), judge.group, judge.item)
    why = few or doubt(chosen, used.name)
    tuned = Tuned(
        by=by,
        items=len(view),
        labelled=judge.labelled,
        groups=groups,
        asked=len(judge.rows),
        depth=depth,
        folds=len(np.unique(judge.folds)),
        candidates=tuple(rows),
        used=used.name,
        winner=rows[worked[chosen.winner]].name,
        held_out=chosen.held_out,
        lead=chosen.lead,
        lead_error=chosen.error,
        enough=not why,
        kept=False,
        sentence="",
    )
    return replace(tuned, sentence=_sentence(tuned, few, why))


def _scored(view: View, candidate: Candidate, judge: Judge, depth: int) -> tuple[Scored, Float64Array]:
    """Its figures, and the first of them for each unit."""
    row = Scored(candidate.name, candidate.method, dict(candidate.parameters))
    began = time.perf_counter()
    try:
        ids = view.fitted_once(candidate.method, candidate.parameters).rank_rows(judge.rows, depth).ids
    except FoldwalkError as error:
        return replace(row, failure=str(error)), np.zeros(0)
    values = dict(zip(judge.figures, judge.judge(ids), strict=True))
    return replace(
        row,
        figures={name: mean(each) for name, each in values.items()},
        errors={name: standard_error(each, judge.groups) for name, each in values.items()},
        seconds=time.perf_counter() - began,
    ), values[judge.figures[0]]


def _sentence(tuned: Tuned, few: str, why: str) -> str:
    if tuned.winner == tuned.used:
        thin = f", but the evidence is thin: {few}" if few else ""
        return f"Nothing ranks above {tuned.used}, which searches use; it stays{thin}."
    if why:
        return f"The evidence for {tuned.winner} is too thin: {why}; {tuned.used} stays."
    lead = f"{100 * tuned.lead:.1f} ± {100 * tuned.lead_error:.1f} above {tuned.used}"
    return (
        f"{tuned.winner} ranks best: chosen on the other folds, {tuned.first} on those held out is "
        f"{100 * tuned.held_out:.1f}, {lead}."
    )
