"""The index behind the routes: which thread does what, and what waits for what.

Searches run side by side in a few threads, as soon as their method is in memory; making one ready is the
matter of `fits` and takes no place from them. Whoever does not want to wait for that gets the hits of plain
search. After a change the default method is made ready at once, so that hardly anyone has to choose.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from foldwalk.core import BadInput, FoldwalkError, NotFitted
from foldwalk.descriptors import Limits, Unreadable, without_words
from foldwalk.descriptors.apart import load_apart
from foldwalk.index import AddReport, Explanation, Index, Item, Key, Like, Results, Text
from foldwalk.service import bodies
from foldwalk.service.bodies import AddBody, ExplainBody, SearchBody
from foldwalk.service.errors import Busy, Empty, NotFittedHere, UnknownKey
from foldwalk.service.fits import Fits
from foldwalk.service.gate import Gate
from foldwalk.service.keys import KeyList
from foldwalk.service.methods import PLAIN, Choice, menu_for
from foldwalk.service.settings import ServiceSettings
from foldwalk.service.warming import Warming

_READERS, _READS_WAITING = 4, 1_000
_TRIES = 3  # a change in the middle of a search means another


class Answered(NamedTuple):
    """Hits, and what was wanted; `excuse` says why the hits are those of plain search where they are."""

    results: Results
    wanted: str
    excuse: str


class Engine:
    """Asks the index, never more at once than the settings allow."""

    def __init__(self, index: Index, settings: ServiceSettings) -> None:
        self.index = index
        self.settings = settings
        self.menu = menu_for(index, settings)
        self.keys = KeyList(index)
        self.reads = Gate("read", _READERS, _READS_WAITING)
        self.lists = Gate("list", 1, settings.waiting)
        self._searches = Gate("search", settings.at_once, settings.waiting)
        self._writes = Gate("write", 1, settings.waiting)
        self._fits = Fits(index, settings)
        self.warming = Warming(index, self._fits, self.menu.default)
        self._limits = Limits(pixels=settings.pixels, bytes=settings.upload_bytes)

    # Search -----------------------------------------------------------------------------------------------

    async def search(self, body: SearchBody, free: bool = False) -> Answered:
        """The hits by the choice of the body; those of plain search for who does not wait until it is ready.

        Who leaves the method to the service does not wait, unless the body says so.
        """
        wanted = self._chosen(body, free)
        waits = body.method is not None if body.wait is None else body.wait
        for _ in range(_TRIES):
            chosen, excuse = wanted, ""
            if not await self._is_ready(wanted):
                if waits:
                    await self._fits.make_ready(wanted)
                else:
                    chosen, excuse = PLAIN, self._excuse(wanted)
            with suppress(NotFitted):
                results = await self._searches.run(self._search, body, chosen)
                return Answered(results, wanted.method, excuse)
        raise Busy(f"the collection changes faster than {wanted.method} is fitted; try again in a moment.")

    async def explain(self, body: ExplainBody, free: bool = False) -> Explanation:
        wanted = self._chosen(body, free)
        for _ in range(_TRIES):
            if not await self._is_ready(wanted):
                await self._fits.make_ready(wanted)
            with suppress(NotFitted):
                return await self._searches.run(self._explain, body, wanted)
        raise Busy(f"the collection changes faster than {wanted.method} is fitted; try again in a moment.")

    def _chosen(self, body: bodies.Choice, free: bool) -> Choice:
        free = free or self.settings.free_parameters
        if body.method is None and not body.parameters:
            return self.menu.default if body.text is None else PLAIN  # as the index does
        return self.menu.choose(body.method or self.menu.default.method, body.parameters, free)

    def _search(self, body: SearchBody, chosen: Choice) -> Results:
        query, fit = self._query(body), chosen == PLAIN
        method, parameters = chosen.method, chosen.parameters
        return self.index.search(query, body.top, method, parameters, body.where, body.fold, fit)

    def _explain(self, body: ExplainBody, chosen: Choice) -> Explanation:
        hit, fit = self.known(body.hit), chosen == PLAIN
        return self.index.explain(self._query(body), hit, chosen.method, chosen.parameters, fit)

    def _query(self, body: bodies.Choice) -> Any:
        if body.picture is not None:
            return self._picture(body.picture)
        if body.vector is not None:
            return np.array(body.vector)
        if body.key is not None:
            return Key(self.known(body.key))
        if body.text is not None:
            return Text(body.text)
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

    def without_words(self) -> str:
        """Why the collection cannot be searched by words, in a sentence; "" where it can."""
        try:
            backbone = self.index.backbone()
            return "" if backbone.knows_words else without_words(backbone.name)
        except FoldwalkError as error:
            return str(error)

    def known(self, key: str) -> str:
        if key not in self.index:
            raise UnknownKey(f"there is no item {key!r} in the index.")
        return key

    def item(self, key: str) -> Item:
        return self.index.item(self.known(key))

    def thumbnail(self, key: str) -> bytes | None:
        return self.index.thumbnail(self.known(key))

    # Make ready -------------------------------------------------------------------------------------------

    async def _is_ready(self, choice: Choice) -> bool:
        ready = await self.reads.run(self._look, choice)
        self.warming.begin()  # where another program has changed something
        return ready

    def _look(self, choice: Choice) -> bool:
        """Whether a choice is in memory for the newest version.

        Plain search, which stands in for others, and the default count as used by everyone: they stay there.
        """
        self.index.refresh()
        if not len(self.index):
            raise Empty("the collection is empty; add something to search in.")
        self.index.is_ready(self.menu.default.method, self.menu.default.parameters)
        self.index.fitted(PLAIN.method)
        return self.index.is_ready(choice.method, choice.parameters)

    def _excuse(self, wanted: Choice) -> str:
        """Why plain search stands in; what is wanted is made ready meanwhile."""
        try:
            self._fits.begin(wanted, first=wanted == self.menu.default)
        except Busy:
            why = f"{wanted.method} is not fitted yet, and too many others wait to be"
        except NotFittedHere as error:
            why = str(error).rstrip(".")
        else:
            why = f"{wanted.method} is being fitted"
        return f"{why}; these are the hits of plain search."

    # Change -----------------------------------------------------------------------------------------------

    async def add(self, body: AddBody) -> AddReport:
        report = await self._writes.run(self._add, body)
        self.warming.begin()
        return report

    async def remove(self, keys: list[str]) -> int:
        removed = await self._writes.run(self._remove, keys)
        self.warming.begin()
        return removed

    def _remove(self, keys: list[str]) -> int:
        for key in keys:
            self.known(key)
        return self.index.remove(keys)

    def _add(self, body: AddBody) -> AddReport:
        if body.picture is not None:
            return self.index.add_picture(self._picture(body.picture), body.key, body.metadata)
        vectors = np.array([body.vector])
        return self.index.add_vectors(vectors, [body.key], {body.key: body.metadata})

    async def close(self) -> None:
        """Let running work end, then close the index."""
        for gate in (self._writes, self._searches):
            await asyncio.to_thread(gate.close)
        await self._fits.close()
        await self.warming.close()
        for gate in (self.lists, self.reads):
            await asyncio.to_thread(gate.close)
        self.index.close()
