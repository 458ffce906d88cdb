"""What can go wrong with a store, beyond bad input."""

from __future__ import annotations

from foldwalk.core.errors import BadInput, FoldwalkError, UnknownName


class Busy(FoldwalkError, RuntimeError):
    """Another writer is at work."""


class CannotWrite(FoldwalkError, OSError):
    """The disk is full, read-only or failing; nothing was changed."""


class Damaged(BadInput):
    """A part of the store is missing or does not hold what its catalogue says."""


class Outdated(FoldwalkError, RuntimeError):
    """What was asked for belonged to a version that is gone."""


def unknown_key(key: str) -> UnknownName:
    return UnknownName(f"there is no item {key!r} in the index.")


def lost(what: str) -> Damaged:
    """What only a backup has."""
    return Damaged(f"{what}; get it back from a backup with  foldwalk restore.")
