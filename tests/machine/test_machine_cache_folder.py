"""Where models are kept, as the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldwalk.machine.cache_folder import cache_folder


@pytest.mark.parametrize(
    ("own", "common", "expected"),
    [("own", "common", "own"), ("", "common", "common/foldwalk"), ("", "", "home/.cache/foldwalk")],
)
def test_the_folder_is_made_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, common: str, expected: str
) -> None:
    for name, folder in (("FOLDWALK_CACHE", own), ("XDG_CACHE_HOME", common), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder) if folder else "")
    assert cache_folder() == tmp_path / expected
    assert (tmp_path / expected).is_dir()
