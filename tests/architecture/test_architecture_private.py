"""No private member crosses a module: a name with an underscore is used only in the file that defines it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import foldwalk

PACKAGE = Path(foldwalk.__file__).parent
# The layers of efficientnet_lite_pytorch's network have such names, and there are no others for them.
FOREIGN = {"_conv_stem", "_bn0", "_bn1", "_swish", "_blocks", "_conv_head", "_depthwise_conv"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def defined(tree: ast.AST) -> set[str]:
    """Every name that a file defines: functions, classes, variables, attributes it sets, fields."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _own(node.value):
            names.add(node.attr)
    return names


def _own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def borrowed(source: str) -> Iterator[str]:
    """Private names that a file uses and does not define."""
    tree = ast.parse(source)
    own = defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.lineno}: {alias.name}" for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own | FOREIGN:
            yield f"{node.lineno}: .{node.attr}"


def test_no_private_member_crosses_a_module():
    wrong = [
        f"{path.relative_to(PACKAGE)}:{use}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for use in borrowed(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_test_would_notice():
    assert list(borrowed("from m import _f\nx = y._z\n")) == ["1: _f", "2: ._z"]
    own = "class A:\n    def _f(self):\n        self._x = 1\n        return other._f() + other._x\n"
    assert not list(borrowed(own))
