"""Who follows docs/add-a-method.md to the letter has a method that everyone knows, and green tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACE = "src/foldwalk/rerank/context/mutual_rank.py"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with its tests and documentation, and the example in the place the page names."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert f"`{PLACE}`" in (ROOT / "docs" / "add-a-method.md").read_text("utf-8")
    shutil.copy(ROOT / "docs" / "examples" / "my_method.py", tmp_path / PLACE)
    return tmp_path


def test_the_page_followed_to_the_letter(copy: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"}

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        ended = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    assert "mutual_rank" in python("-m", "foldwalk", "methods")
    python("docs/generate.py")
    assert "### mutual_rank { #mutual_rank }" in (copy / "docs" / "methods.md").read_text("utf-8")
    contract = python(
        *("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-vv"),
        *("-k", "mutual_rank or example_method or up_to_date"),
        *("tests/contract/test_contract.py", "tests/test_docs_examples.py", "tests/test_docs_generated.py"),
    )
    assert "test_card[mutual_rank] PASSED" in contract
    assert "test_the_example_method_keeps_the_contract" in contract
