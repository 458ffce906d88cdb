"""``foldwalk bench`` and ``foldwalk evaluate``, end to end on the digits."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from foldwalk import datasets, rerank
from foldwalk.cli.bench import prepare
from foldwalk.cli.main import app
from foldwalk.cli.tables import comparison_table, failures
from foldwalk.measure.jobs import Measurement
from foldwalk.measure.results import compare

DIGITS = ("--dataset", "digits", "--queries", "60")


def test_bench_with_a_report(foldwalk, tmp_path: Path) -> None:
    report = tmp_path / "report"
    result = foldwalk("bench", *DIGITS, "--methods", "manifold_ranking", "--report", report)
    assert result.returncode == 0, result.stderr
    assert "manifold_ranking" in result.stdout
    assert "60 queries over 1737 items" in result.stdout
    assert sorted(path.name for path in report.iterdir()) == ["index.html", "results.csv", "results.json"]

    saved = json.loads((report / "results.json").read_text())
    plain, walked = saved["results"]
    assert [plain["method"], walked["method"]] == ["plain", "manifold_ranking"]
    assert walked["figures"]["mAP"] > plain["figures"]["mAP"] + 0.1
    assert saved["run"]["command"].startswith("foldwalk bench --dataset digits")
    with open(report / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[1]["mAP"]) == walked["figures"]["mAP"]
    page = (report / "index.html").read_text()
    assert f"{100 * walked['figures']['mAP']:.2f}" in page
    assert page.count('class="montage"') >= 1
    assert page.count('class="strip"') % 2 == 0  # plain and the method under each query


def test_evaluate_methods_is_bench_without_a_report(foldwalk, tmp_path: Path) -> None:
    result = foldwalk("evaluate", *DIGITS, "--methods", "plain", "--json")
    outcome = json.loads(result.stdout)
    (row,) = outcome["results"]  # plain is not run twice
    assert (row["method"], row["n_queries"], row["protocol"]) == ("plain", 60, "query-gallery")
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_fails_is_a_row_and_the_rest_still_runs(foldwalk) -> None:
    """The dense solver refuses more than 10,000 items; rankings of so many are judged to a depth of 1,000."""
    result = foldwalk(
        "bench",
        *(
            "--dataset",
            "synthetic:10500",
            "--queries",
            "10",
            "--methods",
            "manifold_ranking,alpha_qe",
            "--json",
        ),
        *("--param", "manifold_ranking.solver=closed"),
    )
    assert result.returncode == 0, result.stderr
    plain, failed, fine = json.loads(result.stdout)["results"]
    assert "solver='closed'" in failed["failure"]
    assert failed["figures"] == {}
    assert (plain["failure"], fine["failure"]) == (None, None)
    assert (fine["n_queries"], fine["depth"]) == (10, 1000)


def test_a_failed_row_on_the_terminal() -> None:
    rows = [
        Measurement("d", "plain", {}, False, main="mAP", figures={"mAP": 0.5}),
        Measurement("d", "other", {}, False, failure="out of memory"),
    ]
    (comparison,) = compare(rows)
    table = comparison_table(comparison, width=100)
    assert list(table.columns[0].cells) == ["[bold]plain", "[bold]other"]
    assert list(table.columns[1].cells) == ["50.00", "[red]failed"]
    assert failures(comparison) == ["other failed on d: out of memory"]


def test_losses_are_red_and_gains_green() -> None:
    rows = [
        Measurement("d", name, {}, False, main="mAP", figures={"mAP": value})
        for name, value in (("plain", 0.5), ("worse", 0.25), ("better", 0.75), ("same", 0.5))
    ]
    (comparison,) = compare(rows)
    cells = list(comparison_table(comparison, width=100).columns[1].cells)
    assert cells == ["50.00", "25.00 [red]-25.00[/]", "75.00 [green]+25.00[/]", "50.00 [default]+0.00[/]"]


def test_narrow_terminals_show_fewer_figures() -> None:
    figures = {f"f{i}": 0.5 for i in range(8)}
    (comparison,) = compare([Measurement("d", "plain", {}, False, main="f3", figures=figures)])
    narrow = [c.header for c in comparison_table(comparison, width=80).columns]
    wide = [c.header for c in comparison_table(comparison, width=200).columns]
    assert narrow == ["method", "f3", "f0", "f1", "wall s", "CPU s", "peak MB"]
    assert wide == ["method", "f3", "f0", "f1", "f2", "f4", "f5", "f6", "f7", "wall s", "CPU s", "peak MB"]


def test_jobs_carry_their_parameters_and_start_with_plain() -> None:
    jobs, trials = prepare(
        "digits,pami", "manifold_ranking", None, ["manifold_ranking.k=9"], 20, inductive=True, seed=7
    )
    assert [(job.dataset, job.method) for job in jobs] == [
        ("digits", "plain"),
        ("digits", "manifold_ranking"),
        ("pami", "plain"),
        ("pami", "manifold_ranking"),
    ]
    assert [dict(job.parameters) for job in jobs[:2]] == [{}, {"k": 9}]
    assert all((job.queries, job.inductive, job.seed) == (20, True, 7) for job in jobs)
    assert set(trials) == {"digits", "pami"}


def test_all_means_every_method() -> None:
    jobs, _ = prepare("pami", "all", None, [], 20, inductive=False, seed=0)
    assert [job.method for job in jobs] == rerank.names()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--dataset", "digit", "--methods", "plain"], "digits"),
        (["--dataset", "digits", "--methods", "plian"], "did you mean plain"),
        (["--dataset", "digits", "--methods", ","], "--methods names nothing"),
        (["--dataset", "digits", "--methods", "plain", "--param", "plain.k=3"], "has no parameter 'k'"),
        (["--dataset", "digits", "--methods", "plain", "--param", "dfs.k=3"], "which is not run"),
        (
            ["--dataset", "digits", "--methods", "manifold_ranking", "--param", "manifold_ranking.k=1797"],
            "k is 1797, but it must be below the number of gallery items, 1797",
        ),
        (["--dataset", "digits", "--methods", "plain", "--report", "."], "is not empty"),
        (["--dataset", "digits", "--methods", "plain", "--root", "nowhere"], "--root"),
        (["--dataset", "roxford5k", "--methods", "plain", "--root", "."], "roxford5k"),
    ],
)
def test_bench_refuses_before_it_starts(foldwalk, tmp_path: Path, arguments, expected: str) -> None:
    (tmp_path / "mine.txt").write_text("not a report")
    result = foldwalk("bench", *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("foldwalk: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert expected in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_evaluate_a_saved_ranking(tmp_path: Path) -> None:
    dataset = datasets.load("pami")
    ranking = rerank.create("plain", metric=dataset.metric).fit(dataset.gallery).rank_self(top=200)
    path = ranking.save(tmp_path / "r.npz")
    result = CliRunner().invoke(app, ["evaluate", "--dataset", "pami", "--ranking", str(path), "--json"])
    outcome = json.loads(result.stdout)
    assert outcome["figures"] == dataset.protocol.evaluate(ranking)
    assert (outcome["n_queries"], outcome["depth"]) == (1500, 200)
    shown = CliRunner().invoke(app, ["evaluate", "--dataset", "pami", "--ranking", str(path)]).stdout
    assert f"{100 * outcome['figures']['mAP']:.2f}" in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "either --ranking or --methods"),
        (["--ranking", "r.npz", "--methods", "plain"], "either --ranking or --methods"),
        (["--ranking", "r.npz", "--queries", "5"], "a saved ranking is fixed"),
        (["--ranking", "missing.npz"], "missing.npz does not exist"),
        (["--ranking", "text.npz"], "is not a ranking"),
        (["--ranking", "r.npz"], "has 3 rows"),
    ],
)
def test_evaluate_refuses(foldwalk, tmp_path: Path, arguments: list[str], expected: str) -> None:
    np.savez(tmp_path / "r.npz", ids=np.array([[1], [2], [0]]), scores=np.ones((3, 1)))
    (tmp_path / "text.npz").write_text("no archive")
    result = foldwalk("evaluate", "--dataset", "pami", *arguments)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1, result.stderr
    assert expected in result.stderr
