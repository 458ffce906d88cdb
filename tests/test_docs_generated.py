"""The generated pages of the documentation are those that docs/generate.py would write now."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from foldwalk import datasets, rerank, stores
from foldwalk.descriptors import backbones
from foldwalk.learn import trainings
from foldwalk.rerank import registry
from foldwalk.rerank.expansion.plain import Plain

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES: dict[Path, str] = GENERATOR["pages"]()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == PAGES[path], (
        f"docs/{path.name} is out of date: run  python docs/generate.py  and commit the page."
    )


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("methods", rerank.names()),
        ("datasets", datasets.names()),
        ("backbones", backbones.names()),
        ("trainings", trainings.names()),
    ],
)
def test_everything_registered_has_a_section(page, names):
    lines = PAGES[ROOT / "docs" / f"{page}.md"].splitlines()
    for name in names:
        assert any(line.startswith(f"### {name} {{") for line in lines)


def test_every_store_and_what_it_must_provide_stand_on_the_page():
    lines = PAGES[ROOT / "docs" / "stores.md"].splitlines()
    for name in stores.names():
        assert any(line.startswith(f"| `{name}` |") for line in lines)
    for protocol in (stores.Store, stores.Writer):
        for name in protocol.__abstractmethods__:
            assert any(line.startswith(f"| `{name}(") and "| yes |" in line for line in lines)


def test_a_new_method_changes_the_page():
    class New(Plain):
        name = "new_method"

    with registry._methods.trial():
        rerank.registry.register(New)
        assert "### new_method { #new_method }" in GENERATOR["methods_page"]().splitlines()
    assert "new_method" not in rerank.names()


def test_places_below_images_are_listed_once():
    layout = ("a/*.png", "images/a/*.png", "b/c.txt", "images/d.txt", "features/a_*.npz")
    assert GENERATOR["shorten"](layout) == ["(images/)a/*.png", "b/c.txt", "images/d.txt", "features/a_*.npz"]


def test_text_that_looks_like_markdown_stays_text():
    assert GENERATOR["prose"]("R*(i) and k_query, a < b, see `k_1`") == (
        r"R\*(i) and k\_query, a &lt; b, see `k_1`"
    )
    explained = GENERATOR["explanation"]("First.\n\n    f* = y,\n      g_i\n\nThen.\n")
    assert explained == "First.\n\n```text\nf* = y,\n  g_i\n```\n\nThen."
