"""A collection on any store: add, remove, search, explain. Stopped at any moment, it is as committed."""

from foldwalk.index.collection import Index
from foldwalk.index.types import (
    AddReport,
    Backup,
    Explanation,
    FileCheck,
    Hit,
    Info,
    Key,
    Like,
    ModelState,
    Moved,
    Preference,
    Repair,
    Results,
    Skipped,
    Step,
    Verification,
    ViewsState,
)
from foldwalk.stores import Busy, CannotWrite, Damaged, Item

__all__ = [
    "AddReport",
    "Backup",
    "Busy",
    "CannotWrite",
    "Damaged",
    "Explanation",
    "FileCheck",
    "Hit",
    "Index",
    "Info",
    "Item",
    "Key",
    "Like",
    "ModelState",
    "Moved",
    "Preference",
    "Repair",
    "Results",
    "Skipped",
    "Step",
    "Verification",
    "ViewsState",
]
