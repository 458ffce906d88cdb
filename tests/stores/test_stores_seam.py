"""The seam: a store is one file, and nothing but the folder store knows of SQL."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import foldwalk

PACKAGE = Path(foldwalk.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
LEAST = ROOT / "tests" / "contract" / "memory_store.py"


def test_one_file_is_a_store_for_the_command_line_and_the_docs(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "foldwalk", ignore=shutil.ignore_patterns("__pycache__"))
    registered = "from foldwalk.stores.registry import register\n\nregister(MemoryStore)\n"
    (tmp_path / "foldwalk" / "stores" / "memory.py").write_text(f"{LEAST.read_text('utf-8')}\n{registered}")

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=300
        ).stdout

    cards = json.loads(run("-m", "foldwalk", "stores", "--json"))
    assert [card["name"] for card in cards] == ["folder", "memory"]
    page = f"import runpy; print(runpy.run_path({str(ROOT / 'docs' / 'generate.py')!r})['stores_page']())"
    assert "| `memory` | `memory://...` | for tests |" in run("-c", page)
    use = (
        "from foldwalk import Index\n"
        "index = Index.create('memory://x', backbone=None)\n"
        "index.add_vectors([[1.0, 0.0], [0.0, 1.0]], ['a', 'b'])\n"
        "print(Index.open('memory://x').keys())\n"
    )
    assert run("-c", use) == "['a', 'b']\n"


def test_only_the_folder_store_speaks_sql():
    speaks = re.compile(r"\bsqlite3\b|\bSELECT \w|\bINSERT INTO\b|\bDELETE FROM\b")
    found = {
        path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if speaks.search(path.read_text("utf-8"))
    }
    assert found
    assert all(path.parts[:2] == ("stores", "folder") for path in found), sorted(found)
