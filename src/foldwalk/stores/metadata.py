"""Metadata as stores keep them, read again: JSON that may be a stranger's."""

from __future__ import annotations

import json
from typing import Any

from foldwalk.stores.checks import DEEPEST_METADATA, LONGEST_METADATA, nests_deeper
from foldwalk.stores.errors import Damaged


def metadata_of(text: object, key: str | None = None) -> dict[str, Any]:
    """The dictionary that the text is; `key` is whose it is, for the message."""
    whose = "of an item" if key is None else f"of {key!r}"
    if not isinstance(text, str) or len(text) > LONGEST_METADATA:
        raise Damaged(f"the metadata {whose} is longer than {LONGEST_METADATA} letters, or no text.")
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Damaged(f"the metadata {whose} is not JSON.") from None
    if not isinstance(found, dict):
        raise Damaged(f"the metadata {whose} is not a dictionary.")
    # Few have that many brackets: the others need not be walked through.
    if text.count("[") + text.count("{") > DEEPEST_METADATA and nests_deeper(found, DEEPEST_METADATA):
        raise Damaged(f"the metadata {whose} nests deeper than {DEEPEST_METADATA} levels.")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
