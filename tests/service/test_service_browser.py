"""The tests of the page without a browser: installed where that is possible, else skipped; but CI fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from service_samples import find_chromium

SCRIPT = Path(__file__).parent / "browser.sh"


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH on which there is no browser, no apt-get and no root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "id", "echo 1000")
    (folder / "env").symlink_to(shutil.which("env"))
    return folder


def see_to_a_browser(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def installer(folder: Path, works: bool) -> Path:
    """An apt-get that writes down what it was asked for."""
    asked = folder.parent / "asked"
    program(folder, "apt-get", f'echo "$@" >> {asked}\nexit {0 if works else 1}')
    return asked


def test_without_any_means_the_tests_of_the_page_are_skipped_and_ci_fails(bin_folder: Path) -> None:
    said = see_to_a_browser(bin_folder)
    assert (said.returncode, "will be skipped" in said.stderr) == (0, True)
    said = see_to_a_browser(bin_folder, CI="true")
    assert (said.returncode, "install chromium" in said.stderr) == (1, True)


def test_a_browser_that_is_there_is_enough(bin_folder: Path, tmp_path: Path) -> None:
    asked = installer(bin_folder, works=True)
    program(tmp_path, "my-browser", "")
    named = str(tmp_path / "my-browser")
    assert see_to_a_browser(bin_folder, CI="true", FOLDWALK_CHROMIUM=named).returncode == 0
    program(bin_folder, "chromium", "")
    said = see_to_a_browser(bin_folder, CI="true")
    assert (said.returncode, said.stderr, asked.exists()) == (0, "", False)


def test_root_installs_and_others_do_so_in_ci_alone(bin_folder: Path) -> None:
    asked = installer(bin_folder, works=True)
    assert "will be skipped" in see_to_a_browser(bin_folder).stderr
    assert not asked.exists()
    program(bin_folder, "sudo", 'shift\nexec "$@"')
    assert see_to_a_browser(bin_folder, CI="true").returncode == 0
    assert asked.read_text().splitlines() == ["update -qq", "install -y -qq chromium"]
    (bin_folder / "sudo").unlink()
    program(bin_folder, "id", "echo 0")
    assert see_to_a_browser(bin_folder).stderr == ""
    assert len(asked.read_text().splitlines()) == 4


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_an_installation_that_fails(bin_folder: Path, ci: str, status: int) -> None:
    installer(bin_folder, works=False)
    program(bin_folder, "id", "echo 0")
    said = see_to_a_browser(bin_folder, CI=ci)
    assert (said.returncode, "There is no browser" in said.stderr) == (status, True)


def test_the_tests_themselves_skip_or_fail(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "FOLDWALK_CHROMIUM", "FOLDWALK_NO_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(bin_folder))
    with pytest.raises(pytest.skip.Exception, match="install chromium"):
        find_chromium()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install chromium"):
        find_chromium()
    program(bin_folder, "chromium", "")
    assert find_chromium() == str(bin_folder / "chromium")
    monkeypatch.setenv("FOLDWALK_CHROMIUM", "/elsewhere")
    assert find_chromium() == "/elsewhere"
    assert os.environ["CI"] == "true"
    monkeypatch.setenv("FOLDWALK_NO_BROWSER", "1")
    with pytest.raises(pytest.skip.Exception, match="FOLDWALK_NO_BROWSER"):
        find_chromium()
