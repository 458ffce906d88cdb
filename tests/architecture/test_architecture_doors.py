"""Files of strangers come in by doors that check: no other line opens arrays or pictures."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "foldwalk"
# Who else calls them: the doors themselves, and files that this process has just written.
DOORS = {
    "np.load": {"core/array_files.py", "learn/trainer/lite0.py"},
    "sparse.load_npz": {"core/matrix_files.py"},
    "parquet.read_table": {"core/parquet.py"},
}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Each call of a function of a module: where, what, and the call."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield path.relative_to(SOURCE).as_posix(), ast.unparse(node.func), node


def test_arrays_are_read_by_the_doors_alone():
    found = [(place, name) for place, name, _ in calls() if name in DOORS and place not in DOORS[name]]
    assert found == []


def test_nothing_is_unpickled():
    for place, name, call in calls():
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        if name == "np.load":
            assert options.get("allow_pickle") == "False", place
        if name == "torch.load":
            assert options.get("weights_only") == "True", place


def test_pictures_are_of_known_formats():
    """Pillow left to itself hands PostScript to a program that runs it."""
    opened = [(place, call) for place, name, call in calls() if name == "Image.open"]
    assert len(opened) >= 4
    for place, call in opened:
        assert "formats" in {option.arg for option in call.keywords}, place
