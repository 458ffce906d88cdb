"""Whoever adds a method, view, data set, backbone, network, training or store writes one file.

Everyone knows it then.

In a copy of the package, with one file more of each: the command line lists them, the generated pages
describe them, and the contract tests run over them, green.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DATASET = '''"""A set that is not there."""

from foldwalk.datasets.class_sources import ClassFolders


class Attic(ClassFolders):
    name = "attic"
    title = "The attic"
    what = "what stands in the attic"
    source = "the attic"
    reference = "none"
    folders = ("attic",)


SOURCES = (Attic(),)
'''

BACKBONE = '''"""The mean colour of a picture."""

import numpy as np

from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import Backbone


@register
class Colour(Backbone):
    """Three numbers."""

    name = "colour"
    summary = "the mean of red, green and blue"
    named = example = "colour"
    dimensions = "3"
    dim = 3
    identity = "mean colour"

    def prepare(self, picture):
        return np.asarray(picture.convert("RGB"), np.float32).mean(axis=(0, 1))

    def embed_prepared(self, prepared):
        return np.stack(prepared) if len(prepared) else np.zeros((0, 3), np.float32)
'''

NETWORK = '''"""A network of two layers."""

from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind
from foldwalk.descriptors.networks.preprocessing import Preprocessing


@register
class Sieve(Kind):
    name = "sieve"
    summary = "two layers"
    named = "sieve:SEED"
    example = "sieve:7"
    extra = "learn"

    @classmethod
    def load(cls, name, own):
        import torch

        from foldwalk.descriptors.networks.shared.own import own_network

        with torch.random.fork_rng():
            torch.manual_seed(int(own))
            module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 5, 3))
        return own_network(module, preprocessing=Preprocessing(size=16), name=name)
'''

VIEW = '''"""The other way round."""

from foldwalk.views.base import View
from foldwalk.views.registry import register


@register
class Mirrored(View):
    name = "mirrored"
    summary = "every number with the other sign"

    def learn(self, collection):
        return self

    def see(self, values):
        return -values
'''

TRAINING = '''"""Couples: what pml has, under a name of its own."""

from foldwalk.learn.trainings import register
from foldwalk.learn.trainings.pml import Pml


@register
class Couples(Pml):
    name = "couples"
    summary = "couples"
    paper = "none: made for a test"
'''


def store_file() -> str:
    """The least a store can be, under a name of its own."""
    text = (ROOT / "tests" / "contract" / "memory_store.py").read_text("utf-8")
    renamed = text.replace('"memory"', '"shelf"')
    return f"{renamed}\n\nfrom foldwalk.stores.registry import register\n\nregister(MemoryStore)\n"


# By name: the command that lists it, the place below the package, the file.
ADDED = {
    "mutual_rank": ("methods", "rerank/context/mutual_rank.py", None),
    "mirrored": ("views", "views/mirrored.py", VIEW),
    "attic": ("datasets", "datasets/sets/attic.py", DATASET),
    "colour": ("backbones", "descriptors/backbones/colour.py", BACKBONE),
    "sieve": ("backbones", "descriptors/networks/sieve.py", NETWORK),
    "couples": ("trainings", "learn/trainings/couples.py", TRAINING),
    "shelf": ("stores", "stores/shelf.py", store_file()),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its tests and documentation, and one file more of each kind."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("src", "tests", "docs", "yardsticks"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for _, place, text in ADDED.values():
        # The method is the documented example, in the place that its page names.
        content = text or (ROOT / "docs" / "examples" / "my_method.py").read_text("utf-8")
        (copy / "src" / "foldwalk" / place).write_text(content, "utf-8")
    return copy


def python(copy: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"}
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("name", ADDED)
def test_the_command_line_lists_it(copy: Path, name: str) -> None:
    kind = ADDED[name][0]
    assert name in [card["name"] for card in json.loads(python(copy, "-m", "foldwalk", kind, "--json"))]


def test_the_generated_pages_describe_it(copy: Path) -> None:
    python(copy, "docs/generate.py")
    for name, (kind, _, _) in ADDED.items():
        lines = (copy / "docs" / f"{kind}.md").read_text("utf-8").splitlines()
        assert any(line.startswith((f"### {name} {{", f"| `{name}` |")) for line in lines), kind


def test_its_contract_holds(copy: Path) -> None:
    # Kernels would be compiled anew for the copy: the whole contract of the method is in test_docs_examples.
    others = " or ".join(name for name in ADDED if name != "mutual_rank")
    chosen = f"not index and (mutual_rank and card or {others})"
    told = python(
        copy,
        *("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-vv", "-k", chosen, "tests/contract"),
    )
    for name in ADDED:
        assert f"[{name}] PASSED" in told, name


def test_the_page_names_the_place() -> None:
    place = f"src/foldwalk/{ADDED['mutual_rank'][1]}"
    assert f"`{place}`" in (ROOT / "docs" / "add-a-method.md").read_text("utf-8")
