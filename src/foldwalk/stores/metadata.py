"""Metadata as stores keep them, read again: JSON that may be a stranger's."""

from __future__ import annotations

from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.core.json_text import read_json_object
from foldwalk.stores.checks import LONGEST_METADATA
from foldwalk.stores.errors import Damaged


def metadata_of(text: object, key: str | None = None) -> dict[str, Any]:
    """The dictionary that the text is; `key` is whose it is, for the message."""
    what = f"the metadata of {'an item' if key is None else repr(key)}"
    if not isinstance(text, str) or len(text) > LONGEST_METADATA:
        raise Damaged(f"{what} is longer than {LONGEST_METADATA} letters, or no text.")
    try:
        return read_json_object(text, what, finite=True)
    except BadInput as error:
        raise Damaged(str(error)) from None
