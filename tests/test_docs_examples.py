"""The documentation's examples: the method passes the contract, the code runs, the commands parse."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import runpy
import shlex
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import typer

from foldwalk import rerank
from foldwalk.cli.main import app
from foldwalk.rerank import registry

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"documented_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page: str, language: str) -> list[str]:
    """What stands between ```language and ``` on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.M | re.S)


CONTRACT = load_module(ROOT / "tests" / "contract" / "test_contract.py")
clustered = CONTRACT.clustered
CHECKS = [
    check
    for name, check in inspect.getmembers(CONTRACT, inspect.isfunction)
    if name.startswith("test_") and list(inspect.signature(check).parameters) == ["name"]
]


@pytest.fixture
def mutual_rank():
    """The name of the example method, registered for one test only; the package may have it, too."""
    with registry._methods.trial("mutual_rank"):
        yield load_module(DOCS / "examples" / "my_method.py").MutualRank.name


def test_the_checks_of_the_contract_were_found():
    assert len(CHECKS) >= 15


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_example_method_keeps_the_contract(mutual_rank, check):
    check(mutual_rank)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_example_method_takes_few_items(mutual_rank, n):
    CONTRACT.test_fewer_items_than_neighbours(mutual_rank, n)


def test_the_example_method_is_saved_and_loaded(mutual_rank, tmp_path):
    CONTRACT.test_saved_and_loaded_it_ranks_the_same(mutual_rank, tmp_path)


# --8<-- [start:naive]
def naive_scores(query, items, k, weight):
    """1 / ((1 - weight) r(q, i) + weight r(i, q)) for the k nearest items of the query."""
    nearest = sorted(range(len(items)), key=lambda i: (-float(items[i] @ query), i))[:k]
    scores = {}
    for place, i in enumerate(nearest, start=1):
        others = sorted((float(items[i] @ items[j]) for j in range(len(items)) if j != i), reverse=True)
        place_of_query = 1 + sum(s > float(items[i] @ query) for s in others[:k])
        scores[i] = 1 / ((1 - weight) * place + weight * place_of_query)
    return scores


def test_mutual_rank_against_a_loop(mutual_rank):
    gallery, queries = clustered(n=80)[0], clustered(n=9, seed=4)[0]
    ranking = rerank.create(mutual_rank, k=12, weight=0.3).fit(gallery).rank(queries, top=12)
    for q, query in enumerate(queries):
        expected = naive_scores(query, gallery, k=12, weight=0.3)
        assert np.allclose(ranking.scores[q], [expected[i] for i in ranking.ids[q]], atol=1e-6)


def test_mutual_rank_counts_no_absent_neighbours(mutual_rank):
    """Item 0 has no neighbours, zero rows are none: the query, opposite as it is, comes first for it."""
    ranking = rerank.create(mutual_rank).fit([[1, 0], [0, 0], [0, 0]]).rank([[-1, 0]], top=1)
    assert (ranking.ids.item(), ranking.scores.item()) == (0, 1.0)


def test_mutual_rank_of_weight_zero_is_plain_search(mutual_rank):
    gallery, queries = clustered(n=80)[0], clustered(n=9, seed=4)[0]
    same = rerank.create(mutual_rank, weight=0).fit(gallery).rank(queries)
    assert (same.ids == rerank.create("plain").fit(gallery).rank(queries).ids).all()


# --8<-- [end:naive]


def test_the_example_method_does_not_stay_registered():
    homes = {method.__module__ for method in registry._methods.entries().values()}
    assert not [home for home in homes if not home.startswith("foldwalk.")]


@pytest.mark.parametrize("example", sorted(path.name for path in (DOCS / "examples").glob("*.py")))
def test_every_example_stands_on_a_page(example):
    """In a fence of the form { .python }: the formatter takes a snippet's marker in others for code."""
    marker = f'``` {{ .python }}\n--8<-- "docs/examples/{example}"\n```'
    assert any(marker in (DOCS / page).read_text("utf-8") for page in PAGES)


def test_first_steps_run(capsys):
    runpy.run_path(str(DOCS / "examples" / "first_steps.py"))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "plain:",
        "manifold_ranking:",
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "pycon")])
def test_python_on_a_page_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(blocks(page, "pycon"))
    outcome = doctest.DocTestRunner(verbose=False)
    failed, tried = outcome.run(doctest.DocTestParser().get_doctest(text, {}, page, page, 0))
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if "foldwalk " in "".join(blocks(page, "sh"))])
def test_commands_on_a_page_can_be_parsed(page):
    commands = typer.main.get_command(app).commands
    for line in "".join(blocks(page, "sh")).splitlines():
        program, *arguments = shlex.split(line)
        if program == "foldwalk":
            commands[arguments[0]].make_context(arguments[0], arguments[1:])
