"""The rooms stand in one order: each imports only what stands before it, and nobody climbs in by a window."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import foldwalk

PACKAGE = Path(foldwalk.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "core", "machine", "walk", "descriptors", "views", "neighbors", "graph", "rerank", "evaluate", "datasets",
    "learn", "stores", "index", "measure", "report", "service", "cli",
)  # fmt: skip
# Beyond the order: the numerical heart knows vectors and machines, nothing of pictures or papers.
NARROWER = {"walk": {"core", "machine"}, "views": {"core"}, "evaluate": {"core"}}


def sources(below: str = "") -> list[Path]:
    return sorted((PACKAGE / below).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and full names of what a file imports from the package; `from a import b` counts as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide the room"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def rooms_used(path: Path) -> Iterator[tuple[int, str]]:
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] == "foldwalk" and len(parts) > 1 and parts[1] in ROOMS:
            yield line, parts[1]


def test_every_folder_is_a_room():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_stands_before_it(room):
    allowed = NARROWER.get(room, set(ROOMS[: ROOMS.index(room)]))
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {used}"
        for path in sources(room)
        for line, used in rooms_used(path)
        if used != room and used not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", ["docs/how-it-is-built.md", "CONTRIBUTING.md"])
def test_the_pages_name_the_rooms_in_this_order(page):
    rows = re.findall(r"^\| `(\w+)/?` \|", (ROOT / page).read_text(encoding="utf-8"), re.M)
    assert tuple(rows) == ROOMS


def test_the_picture_shows_every_room():
    picture = (ROOT / "docs" / "images" / "rooms.svg").read_text(encoding="utf-8")
    assert [room for room in ROOMS if f">{room}<" not in picture] == []


def test_the_test_would_notice(tmp_path):
    file = tmp_path / "late.py"
    file.write_text("def f():\n    from foldwalk.cli import main\n    import foldwalk.service.app\n")
    assert list(rooms_used(file)) == [(2, "cli"), (3, "service")]
