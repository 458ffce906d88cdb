"""Keys, metadata and kinds of rows as they are handed in, checked before anything is written."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.core.json_text import nested_too_deep

LONGEST_KEY = 1024  # bytes of UTF-8
LONGEST_METADATA = 65_536
_KIND = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*")


def check_key(key: object) -> str:
    if not isinstance(key, str):
        raise BadInput(f"a key must be text, but {key!r} is of type {type(key).__name__}.")
    if not key:
        raise BadInput("a key must not be empty.")
    # What can be printed, which is quick to tell, has none of them.
    if not key.isprintable() and any(unicodedata.category(letter) in ("Cc", "Cs") for letter in key):
        raise BadInput(f"key {key!r} has a control character or broken Unicode in it; choose plain text.")
    if len(key.encode()) > LONGEST_KEY:
        raise BadInput(f"key {key[:40]!r}... is longer than {LONGEST_KEY} bytes; choose a shorter one.")
    return key


def is_text(name: str) -> bool:
    """Whether it is Unicode as a whole; a file's name need not be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_keys(keys: Iterable[str]) -> list[str]:
    """Keys that are fine each and all different."""
    if isinstance(keys, (str, bytes)):
        raise BadInput(f"keys must be a list of keys, but it is one text, {keys!r}.")
    checked = [check_key(key) for key in keys]
    seen: set[str] = set()
    for key in checked:
        if key in seen:
            raise BadInput(f"key {key!r} is given twice in one call; give each key once.")
        seen.add(key)
    return checked


def check_root(prefix: object, folder: object) -> None:
    """A folder of sources, and what their keys begin with: nothing, or what a key may hold."""
    if prefix != "":
        check_key(prefix)
    if not isinstance(folder, str) or not folder or "\0" in folder:
        raise BadInput(f"the folder of sources must be a path, but it is {folder!r}.")


def metadata_text(key: str, metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON in one form, so that equal ones are equal texts."""
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise BadInput(f"the metadata of {key!r} must be a dictionary whose fields are named by text.")
    try:
        if nested_too_deep(dict(metadata)):
            raise ValueError("it is nested too deep")
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False, sort_keys=True)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the metadata of {key!r} cannot be written as JSON: {error}.") from None
    if len(text) > LONGEST_METADATA:
        raise BadInput(f"the metadata of {key!r} is longer than {LONGEST_METADATA} letters of JSON.")
    return text


def metadata_texts(keys: Sequence[str], metadata: Mapping[str, Mapping[str, Any]] | None) -> list[str | None]:
    """The metadata of each key as JSON, None where there is none; a key it names must be among them."""
    if metadata is None:
        return [None] * len(keys)
    if not isinstance(metadata, Mapping):
        raise BadInput("metadata must be a dictionary from keys to dictionaries.")
    strangers = set(metadata) - set(keys)
    if strangers:
        raise BadInput(f"metadata names the key {min(map(str, strangers))!r}, which is not being added.")
    return [metadata_text(key, metadata[key]) if key in metadata else None for key in keys]


def is_kind(kind: str) -> bool:
    return _KIND.fullmatch(kind) is not None


def check_kind(kind: str) -> str:
    """What rows are kept under: it may become a path."""
    if not is_kind(kind):
        raise BadInput(f"a kind of rows is words of a to z, 0 to 9, _ and - joined by /, not {kind!r}.")
    return kind
