"""What is built can be installed and is whole; what is said of other packages holds together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PIN = re.compile(r"([A-Za-z0-9._-]+)==([0-9][0-9a-z.]*)")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    assert None not in found  # exact versions and nothing else: no path, no address, no build of one machine
    return {canonicalize_name(name): version for name, version in (pin.groups() for pin in found)}


def brought(lines: list[str]) -> list[Requirement]:
    """The requirements, with those of the extras they name."""
    wanted = []
    for requirement in map(Requirement, lines):
        if requirement.name == "foldwalk":
            wanted += brought([line for extra in sorted(requirement.extras) for line in EXTRAS[extra]])
        else:
            wanted.append(requirement)
    return wanted


def test_what_is_tested_lies_within_what_is_allowed():
    versions = pins()
    wanted = brought([*PROJECT["dependencies"], "foldwalk[dev]"])
    assert len(wanted) > 25
    for requirement in wanted:
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_extras_allow_a_torch_that_is_there():
    of_torch = [r for lines in EXTRAS.values() for r in map(Requirement, lines) if r.name == "torch"]
    assert {str(requirement.specifier) for requirement in of_torch} == {"<2.14,>=2.6"}
    assert pins()["torch"] == "2.13.0"  # the build without CUDA, by plain pip


def test_torchvision_comes_only_to_who_asks_for_it():
    assert not {"torchvision", "timm", "open_clip_torch"} & {r.name for r in brought(["foldwalk[all]"])}


def test_every_install_that_is_shown_takes_the_tested_versions():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = [line for page in pages for line in re.findall(r"pip install (.*)", page.read_text("utf-8"))]
    assert len(shown) > 10
    assert [line for line in shown if not line.startswith("-c constraints.txt ")] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_what_is_built_can_be_installed_and_is_whole(built, tmp_path, kind):
    (archive,) = built.glob(kind)
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", tmp_path / "site"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *alone, archive], check=True)
    package = tmp_path / "site" / "foldwalk"
    assert files_of(package) == files_of(ROOT / "src" / "foldwalk")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "COLUMNS": "200"}
    command = tmp_path / "site" / "bin" / "foldwalk"
    said = subprocess.run(
        [command, "methods"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "manifold_ranking" in said.stdout


def files_of(package: Path) -> dict[str, bytes]:
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
