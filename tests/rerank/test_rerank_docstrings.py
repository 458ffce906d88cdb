"""Someone with the paper open can put a finger on what a method does: its docstring cites it by number."""

from __future__ import annotations

import re
import sys

import pytest

from foldwalk import rerank
from foldwalk.rerank.registry import method_class

# "eq. 5 and 6", "section 3.5", "section III.C", "sections A to E", "algorithm 1", "Table 2"; where a method
# is read from its authors' program, the program's own name of a step: "step `execCartProd`".
CITED = re.compile(
    r"\b(?:eq\.|sec\.|sections?|algorithm|table)\s+(?:\d|[IVX]+\.[A-Z]\b|[A-Z] to [A-Z]\b)|\bsteps?\s+`\w+`",
    re.IGNORECASE,
)


def cites(text: str) -> bool:
    return bool(CITED.search(text))


@pytest.mark.parametrize(
    "name", [name for name in rerank.names() if not rerank.describe(name).paper.startswith("none: ")]
)
def test_a_methods_docstring_cites_its_paper_by_number(name: str) -> None:
    text = sys.modules[method_class(name).__module__].__doc__ or ""
    assert cites(text), f"{name}: its docstring names no equation, section, algorithm or table by number"


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("the closed form (eq. 4)", True),
        ("TPAMI 2019,\nsection 3.5.", True),
        ("the similarity of section III.C", True),
        ("five steps, sections A to E", True),
        ("Table 1 of the paper", True),
        ("(step `execCartProd`)", True),
        ("CVPR 2017, the section on diffusion", False),
        ("two steps take turns, k = 10", False),
        ("the equation above, for 5,000 items", False),
    ],
)
def test_what_counts_as_a_citation(text: str, cited: bool) -> None:
    assert cites(text) == cited
