"""Where vectors live, behind one protocol: `stores.open(url_or_path)`, `stores.create(url_or_path)`."""

from foldwalk.stores.base import Store, Writer
from foldwalk.stores.errors import Busy, CannotWrite, Damaged, Outdated
from foldwalk.stores.registry import create_store as create
from foldwalk.stores.registry import describe, exists, names
from foldwalk.stores.registry import open_store as open
from foldwalk.stores.types import Facts, Item, Record, Snapshot, Source, StoreCard

__all__ = [
    "Busy",
    "CannotWrite",
    "Damaged",
    "Facts",
    "Item",
    "Outdated",
    "Record",
    "Snapshot",
    "Source",
    "Store",
    "StoreCard",
    "Writer",
    "create",
    "describe",
    "exists",
    "names",
    "open",
]
