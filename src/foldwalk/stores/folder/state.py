"""The one row of the catalogue that every change replaces."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from foldwalk.core.errors import BadInput
from foldwalk.neighbors.similarity import METRICS
from foldwalk.stores.errors import lost
from foldwalk.stores.folder import formats
from foldwalk.stores.folder.blocks import is_block
from foldwalk.stores.folder.checksums import SEALED, row_checksum
from foldwalk.stores.types import Facts

NAMES = SEALED["state"].split(", ")


@dataclass(frozen=True)
class State:
    """`vectors_version` is the version at which vectors last changed; `rows` counts those of the block file,
    removed ones included; `next_number` is never given twice; `uid` tells this index from any other.
    """

    version: int
    vectors_version: int
    next_number: int
    block: str
    rows: int
    dim: int | None
    metric: str
    backbone: str | None
    identity: str | None
    uid: str
    format: int = formats.FORMAT

    @classmethod
    def read(cls, db: sqlite3.Connection) -> State:
        """As the last change left it, in whatever format it is."""
        (format,) = db.execute("PRAGMA user_version").fetchone()
        if format > formats.FORMAT:
            raise BadInput(
                f"the catalogue was written by a newer foldwalk (format {format}); update foldwalk."
            )
        checksum = "checksum" if formats.has_checksums(format) else "NULL"
        found = db.execute(f"SELECT {SEALED['state']}, {checksum} FROM state").fetchone()
        if found is None:
            raise lost("the catalogue has lost its state")
        *values, sealed = found
        if formats.has_checksums(format) and sealed != row_checksum(*values):
            raise lost("the catalogue's state differs from its checksum")
        state = replace(cls(*values), format=format)
        state.check()
        return state

    def check(self) -> None:
        """Refuse what no foldwalk has written, before a file is opened or memory is taken by it."""
        counts = (self.version, self.vectors_version, self.next_number, self.rows)
        names = (self.backbone, self.identity)
        sane = (
            all(type(count) is int and count >= 0 for count in counts)
            and (self.dim is None or (type(self.dim) is int and self.dim > 0))
            and (self.dim is not None or self.rows == 0)
            and self.metric in METRICS
            and is_block(self.block)
            and all(name is None or type(name) is str for name in names)
            and type(self.uid) is str
        )
        if not sane:
            raise lost("the catalogue's state is none that foldwalk writes")

    def write(self, db: sqlite3.Connection) -> None:
        """In the present format."""
        values = [getattr(self, name) for name in NAMES]
        names = ", ".join(f"{name} = ?" for name in (*NAMES, "checksum"))
        db.execute(f"UPDATE state SET {names}", (*values, row_checksum(*values)))

    def facts(self) -> Facts:
        return Facts(
            self.metric,
            self.dim,
            self.backbone,
            self.identity,
            self.format,
            self.uid,
            self.version,
            self.vectors_version,
            self.next_number,
        )
