"""A collection on disk: add, remove, search, explain. Killed at any moment, it opens as it was committed."""

from foldwalk.index.collection import Index
from foldwalk.index.errors import Busy, CannotWrite, Damaged
from foldwalk.index.types import (
    AddReport,
    Explanation,
    Hit,
    Info,
    Item,
    Key,
    Like,
    Results,
    Skipped,
    Step,
    Verification,
)

__all__ = [
    "AddReport",
    "Busy",
    "CannotWrite",
    "Damaged",
    "Explanation",
    "Hit",
    "Index",
    "Info",
    "Item",
    "Key",
    "Like",
    "Results",
    "Skipped",
    "Step",
    "Verification",
]
