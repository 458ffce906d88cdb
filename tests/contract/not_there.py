"""What is registered may need packages or weights that are not there: it has to say so in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from foldwalk.core import MissingExtra


def skip_where_missing(found: Any, extra: str) -> Any:
    """What was made; where it is an error in its place, its sentence is tested and the rest skipped."""
    if not isinstance(found, Exception):
        return found
    assert "\n" not in str(found)
    assert str(found).endswith(".")
    if isinstance(found, MissingExtra):
        assert f"foldwalk[{extra}]" in str(found)
    pytest.skip(str(found))
