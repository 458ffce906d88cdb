"""The map's drawing in the background: one process at a time, its result kept with the index."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.index.tuning.preference import full_name
from foldwalk.service.answers import Map, Sheet
from foldwalk.service.errors import without_paths
from foldwalk.service.map_sheet import SIDE, sheet_columns
from foldwalk.stores import Store
from foldwalk.stores.arrays import get_arrays

_log = logging.getLogger("foldwalk.service")
KIND = "map"  # of the rows that the store keeps


class MapJob:
    """Gives the newest drawing there is, and has a newer one made when the index has changed."""

    def __init__(
        self, store: Store, method: str, items: int, parameters: Mapping[str, Any] | None = None
    ) -> None:
        chosen = json.dumps(dict(parameters or {}))
        self._command = ("-m", "foldwalk.service.map_layout", method, str(items), chosen)
        self._store = store
        self._method = full_name(method, parameters or {})
        self._drawing: asyncio.Task[None] | None = None
        self._failed_at: int | None = None
        self._error = ""
        self._shown = Map(state="drawing")
        self.pictures = b""

    async def newest(self, version: int) -> Map:
        """What can be shown now; `state` says whether a newer drawing is under way."""
        if not self._is_current(version):
            known = self._shown.version if self._shown.method == self._method else -1
            found = await asyncio.to_thread(_read, self._store, known)
            if found is not None:
                self._shown, self.pictures = found
        if self._is_current(version):
            return self._shown.model_copy(update={"state": "ready"})
        if self._failed_at == version:
            return self._shown.model_copy(update={"state": "failed", "error": self._error})
        if self._drawing is None or self._drawing.done():
            self._drawing = asyncio.create_task(self._draw(version))
        return self._shown.model_copy(update={"state": "drawing"})

    def _is_current(self, version: int) -> bool:
        return self._shown.version == version and self._shown.method == self._method

    async def _draw(self, version: int) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *self._command, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:  # the address may hold a password, which is no argument for all to see
            _, complaint = await process.communicate(self._store.url.encode())
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            self._failed_at = version
            said = complaint.decode(errors="replace").strip()
            _log.warning("the map could not be drawn: %s", said)
            last = without_paths("".join(said.splitlines()[-1:]), Path(self._store.place))
            self._error = f"the map could not be drawn ({last or process.returncode})."

    async def close(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            await asyncio.gather(self._drawing, return_exceptions=True)


def _read(store: Store, known: int) -> tuple[Map, bytes] | None:
    """A drawing newer than the one known, and its sheet of pictures; None where none is whole."""
    newest = max((group.version for group in store.groups(KIND)), default=known)
    found = get_arrays(store, KIND, newest) if newest > known else None
    try:
        if found is None:
            return None
        sheet = found["sheet"].tobytes()
        drawn = Map(
            state="ready",
            method=str(found["method"]),
            version=int(found["version"]),
            total=int(found["total"]),
            keys=found["keys"].tolist(),
            before=found["before"].astype(np.float64).round(4).tolist(),
            after=found["after"].astype(np.float64).round(4).tolist(),
            sheet=Sheet(columns=sheet_columns(len(found["keys"])), side=SIDE) if sheet else None,
        )
        return drawn, sheet
    except (KeyError, ValueError):
        return None
