"""The reference names what is there and explains it; links that no builder checks lead to files."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAMES = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.M)
PACKAGES = ("core", "datasets", "evaluate", "index", "learn", "rerank", "stores")
# Said in the signature of what takes them, and in the guides.
ALIASES = {"foldwalk.index.Key", "foldwalk.index.Like"}


def thing(name: str) -> object:
    module, _, member = name.rpartition(".")
    return getattr(importlib.import_module(module), member)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_reference_names_is_there_and_explained(name):
    assert inspect.getdoc(thing(name))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_leaves_no_public_name_out(package):
    module = importlib.import_module(f"foldwalk.{package}")
    public = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if inspect.isclass(value) or inspect.isfunction(value)
    ]
    assert {f"foldwalk.{package}.{name}" for name in public} - ALIASES - set(NAMES) == set()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text("utf-8")
    targets = re.findall(r"\]\(((?!https?:)[^)#]+)[^)]*\)", text)
    assert len(targets) > 0
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
