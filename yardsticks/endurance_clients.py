"""Clients of a service that comes and goes, and what was acknowledged to them."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import quote

BOUNDARY = "endurance"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
AGAIN, PATIENCE = 0.05, 180


class Ledger:
    """The number each key was last acknowledged with, None for a removal; keys that are unsure are not in it.

    A client changes keys of its own only, in its turn; `still` waits until no change is under way.
    """

    def __init__(self) -> None:
        self._known: dict[str, int | None] = {}
        self._lock = threading.Lock()
        self._turns: list[threading.Lock] = []

    def new_turn(self) -> threading.Lock:
        self._turns.append(threading.Lock())
        return self._turns[-1]

    @contextmanager
    def still(self) -> Iterator[dict[str, int | None]]:
        with ExitStack() as stack:
            for turn in self._turns:
                stack.enter_context(turn)
            with self._lock:
                known = dict(self._known)
            yield known

    def note(self, key: str, number: int | None) -> None:
        with self._lock:
            self._known[key] = number

    def forget(self, key: str) -> None:
        with self._lock:
            self._known.pop(key, None)


class Figures:
    """What requests of each kind took, and how they ended."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.statuses: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.broken: Counter[str] = Counter()


class Caller:
    """A connection that is made anew when the service went away under it."""

    def __init__(self, port: int, figures: Figures, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._figures = figures
        self._token = {"Authorization": f"Bearer {token}"}

    def call(self, kind: str, method: str, path: str, body: bytes = b"", form: bool = False) -> int:
        """The status; 0 where there was no answer."""
        return self.ask(kind, method, path, body, form)[0]

    def ask(
        self, kind: str, method: str, path: str, body: bytes = b"", form: bool = False
    ) -> tuple[int, bytes]:
        headers = {**self._token, "Content-Type": FORM if form else "application/json"}
        began = time.perf_counter()
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._figures.broken[kind] += not isinstance(error, ConnectionRefusedError)
            time.sleep(AGAIN)
            return 0, b""
        self._figures.statuses[kind][answer.status] += 1
        if answer.status < 300:
            self._figures.seconds[kind].append(time.perf_counter() - began)
        return answer.status, said

    def close(self) -> None:
        self._connection.close()


def form_of(picture: bytes, **fields: Any) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    file = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="picture"; filename="a.png"\r\n\r\n'
    return "".join(parts).encode() + file.encode() + picture + f"\r\n--{BOUNDARY}--\r\n".encode()


def change(
    caller: Caller, ledger: Ledger, turn: threading.Lock, key: str, number: int | None, body: bytes = b""
) -> None:
    """Add a key with a number, or remove it (None), again and again until it is acknowledged."""
    is_unsure, until = False, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with turn:
            ledger.forget(key)
            if number is None:
                status = caller.call("remove", "DELETE", f"/api/items?key={quote(key)}")
            else:
                status = caller.call("add", "POST", "/api/items", body, form=True)
            # Gone already is what the unanswered request before did; else an acknowledged addition is lost.
            if status in (200, 201) or (status == 404 and number is None and is_unsure):
                ledger.note(key, number)
                return
            if status == 404:
                raise AssertionError(f"{key} was acknowledged and is lost")
            is_unsure |= status == 0 or status >= 500
        time.sleep(AGAIN)
    raise AssertionError(f"the change of {key} was not acknowledged in {PATIENCE} seconds")


def lost(caller: Caller, ledger: Ledger) -> list[str]:
    """Acknowledged changes that the service does not know of."""
    with ledger.still() as known:
        keys = set(_all_keys(caller))
        wrong = [key for key, number in known.items() if (key in keys) != (number is not None)]
        there = [key for key, number in known.items() if number is not None and key in keys]
        older = [key for key in there[-50:] if _number(caller, key) < (known[key] or 0)]
    return wrong + older


def _all_keys(caller: Caller) -> Iterator[str]:
    total, offset = 1, 0
    while offset < total:
        listing = json.loads(_patiently(caller, f"/api/items?limit=1000&offset={offset}"))
        yield from listing["keys"]
        total, offset = listing["total"], offset + 1000


def _number(caller: Caller, key: str) -> int:
    return int(json.loads(_patiently(caller, f"/api/item?key={quote(key)}"))["metadata"]["number"])


def _patiently(caller: Caller, path: str) -> bytes:
    for _ in range(int(PATIENCE / AGAIN)):
        status, said = caller.ask("read", "GET", path)
        if status == 200:
            return said
        if status not in (0, 429):
            raise AssertionError(f"{path} was answered with {status}: {said!r}")
    raise AssertionError(f"{path} was never answered")
