"""What a library gives, or one sentence where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldwalk.core.errors import FoldwalkError, MissingData, one_line


def loaded(name: str, load: Callable[[], Any]) -> Any:
    """What `load` gives, or one sentence where the library cannot get the model or its weights."""
    try:
        return load()
    except FoldwalkError:
        raise
    except Exception as error:  # every hub fails in its own way
        raise MissingData(
            f"{name} cannot be loaded ({one_line(error)}); "
            f"check the name, and that its weights can be downloaded."
        ) from None
