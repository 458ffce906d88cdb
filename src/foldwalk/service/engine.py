"""The index behind the routes: which thread does what, and what waits for what.

Searches run side by side in a few threads. A method is fitted in one thread, one method at a time: a search
whose method is not fitted for the present version of the index waits for that, without taking a place from
searches that are ready. After a change the default method is fitted at once, so that hardly anyone waits.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from typing import Any

import numpy as np
from PIL import Image

from foldwalk.core import BadInput, FoldwalkError
from foldwalk.descriptors import Limits, Unreadable
from foldwalk.descriptors.apart import load_apart
from foldwalk.index import AddReport, Explanation, Index, Key, Like, Results
from foldwalk.index.asking.fitted import IN_MEMORY
from foldwalk.service.bodies import AddBody, Choice, ExplainBody, SearchBody
from foldwalk.service.errors import Empty, UnknownKey
from foldwalk.service.gate import Gate
from foldwalk.service.methods import Menu
from foldwalk.service.settings import ServiceSettings

_log = logging.getLogger("foldwalk.service")
_READERS, _READS_WAITING = 4, 1_000


class Engine:
    """Asks the index, never more at once than the settings allow."""

    def __init__(self, index: Index, settings: ServiceSettings) -> None:
        self.index = index
        self.settings = settings
        self.menu = Menu(settings.method, settings.methods)
        self.reads = Gate("read", _READERS, _READS_WAITING)
        self._searches = Gate("search", settings.at_once, settings.waiting)
        self._fits = Gate("fit", 1, settings.waiting)
        self._writes = Gate("write", 1, settings.waiting)
        self._limits = Limits(pixels=settings.pixels, bytes=settings.upload_bytes)
        self._ready: OrderedDict[str, None] = OrderedDict()
        self._rehearsed = -1
        self._warming: asyncio.Task[None] | None = None

    # Search -----------------------------------------------------------------------------------------------

    async def search(self, body: SearchBody) -> Results:
        method = await self._prepared(body)
        return await self._searches.run(self._search, body, method)

    async def explain(self, body: ExplainBody) -> Explanation:
        method = await self._prepared(body)
        self.known(body.hit)
        return await self._searches.run(self._explain, body, method)

    def _search(self, body: SearchBody, method: str) -> Results:
        query = self._query(body)
        return self.index.search(query, body.top, method, body.parameters, body.where, body.fold)

    def _explain(self, body: ExplainBody, method: str) -> Explanation:
        return self.index.explain(self._query(body), body.hit, method, body.parameters)

    def _query(self, body: Choice) -> Any:
        if body.picture is not None:
            return self._picture(body.picture)
        if body.vector is not None:
            return np.array(body.vector)
        if body.key is not None:
            return Key(self.known(body.key))
        return Like(
            positives=[Key(self.known(key)) for key in body.positives or ()],
            negatives=[Key(self.known(key)) for key in body.negatives],
        )

    def _picture(self, content: bytes) -> Image.Image:
        # The size that the index reads files at, so that an upload gets the vector its file would have.
        short_side = self.index.backbone().short_side
        try:
            return load_apart(content, self._limits, short_side)
        except Unreadable as error:
            raise BadInput(f"the file cannot be used: {error}") from None

    def known(self, key: str) -> str:
        if key not in self.index:
            raise UnknownKey(f"there is no item {key!r} in the index.")
        return key

    # Fit --------------------------------------------------------------------------------------------------

    async def _prepared(self, choice: Choice) -> str:
        """Wait until the method is fitted for the present version; the name of the method."""
        method = choice.method or self.settings.method
        self.menu.check(method, choice.parameters)
        await self.reads.run(self.index.refresh)
        if not len(self.index):
            raise Empty("the collection is empty; add something to search in.")
        wanted = json.dumps([self.index.version, method, choice.parameters], sort_keys=True)
        if wanted not in self._ready:
            await self._fits.run(self.index.fitted, method, choice.parameters)
            self._ready[wanted] = None
        self._ready.move_to_end(wanted)
        while len(self._ready) > IN_MEMORY:  # the index itself keeps no more
            self._ready.popitem(last=False)
        return method

    def warm_up(self) -> None:
        """Fit the default method in the background and rehearse: everything gets loaded and compiled."""
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._warm_up())

    @property
    def warm(self) -> bool:
        return self._warming is None or self._warming.done()

    async def _warm_up(self) -> None:
        while self._rehearsed != (version := self.index.version) and (keys := self.index.keys()):
            try:
                await self._fits.run(self._rehearse, keys[0])
                self._rehearsed = version  # what changed meanwhile has its turn next
            except FoldwalkError as error:
                if self.index.version == version:  # else the item was removed meanwhile: with another
                    _log.warning("warm-up: %s", error)
                    return

    def _rehearse(self, key: str) -> None:
        queries: list[Any] = [Key(key), self.index.vector(key)]
        if self.index.info().backbone is not None:
            queries.append(Image.new("RGB", (64, 64)))
        for query in queries:
            self.index.search(query, top=1, method=self.settings.method)

    # Change -----------------------------------------------------------------------------------------------

    async def add(self, body: AddBody) -> AddReport:
        report = await self._writes.run(self._add, body)
        self.warm_up()
        return report

    async def remove(self, keys: list[str]) -> int:
        for key in keys:
            self.known(key)
        removed = await self._writes.run(self.index.remove, keys)
        self.warm_up()
        return removed

    def _add(self, body: AddBody) -> AddReport:
        if body.picture is not None:
            return self.index.add_picture(self._picture(body.picture), body.key, body.metadata)
        vectors = np.array([body.vector])
        return self.index.add_vectors(vectors, [body.key], {body.key: body.metadata})

    async def close(self) -> None:
        """Let running work end, then close the index."""
        for gate in (self._writes, self._searches, self._fits, self.reads):
            await asyncio.to_thread(gate.close)
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        self.index.close()
