"""Every measurement says what it measures, can be started, and stands in the list; nothing here is run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "benchmarks").rglob("*.py")) + sorted((ROOT / "yardsticks").rglob("*.py"))
# One folder deep, with a main: what `python -m benchmarks.FOLDER.NAME` starts.
SCRIPTS = [
    path for path in FILES if len(path.relative_to(ROOT).parts) == 3 and "__main__" in path.read_text()
]
README = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
CITED = re.compile(r"python -m (benchmarks[\w.]+)")


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def run(*words: str) -> str:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", FILES, ids=module)
def test_every_file_compiles_and_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"), str(path)))


@pytest.mark.parametrize("path", SCRIPTS, ids=module)
def test_every_script_gives_its_command(path):
    about = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert set(CITED.findall(about)) >= {module(path)}


def test_the_list_names_every_script_and_nothing_else():
    rows = re.findall(r"^\| `python -m (benchmarks[\w.]+)` \| (\S.*) \| (\S.*) \|$", README, re.M)
    assert sorted(name for name, _what, _how_long in rows) == sorted(map(module, SCRIPTS))


def test_no_page_names_a_script_that_is_gone():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *FILES]
    cited = {name for page in pages for name in CITED.findall(page.read_text("utf-8"))}
    assert cited - set(map(module, SCRIPTS)) == {"benchmarks"} & cited
    paths = {
        found
        for page in pages
        for found in re.findall(r"(?:benchmarks|yardsticks)/[\w/]+\.py", page.read_text("utf-8"))
    }
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []


def test_what_can_be_measured_is_listed():
    printed = run("benchmarks")
    assert re.findall(r"^python -m (\S+)\n    \S", printed, re.M) == [module(path) for path in SCRIPTS]


@pytest.mark.parametrize(
    "name", ["speed.knn_graph", "index.chaos", "metric_learning.choice", "gradnet.ablation"]
)
def test_help_is_answered_without_measuring(name):
    """One of each way to import: the harness alone, test loads, a part that tests share, a sister script."""
    assert "usage:" in run(f"benchmarks.{name}", "--help")


def test_a_command_is_recorded_as_others_can_give_it():
    import harness

    words = ["/somewhere/benchmarks/cas/ablation.py", "--root", "/somewhere/data", "--datasets", "orl"]
    assert harness.command(words) == "python -m benchmarks.cas.ablation --root DATA --datasets orl"
