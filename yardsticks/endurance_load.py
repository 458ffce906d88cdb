"""The load of an endurance run: clients in threads of their own, and a second process that adds."""

from __future__ import annotations

import io
import itertools
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from endurance_clients import Caller, Figures, Ledger, change, form_of

TOKEN = secrets.token_urlsafe(24)
OWN_KEYS = 6  # of each client that adds: then it removes its oldest
SEARCHERS, UPLOADERS, LOOKERS, WRITERS = 2, 1, 1, 2
ADDER = Path(__file__).with_name("endurance_adder.py")


def picture(seed: int) -> bytes:
    small = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(small).resize((96, 72)).save(buffer, "PNG")
    return buffer.getvalue()


def search_by_key(caller: Caller, ledger: Ledger, name: str, items: int) -> Iterator[None]:  # noqa: ARG001
    for number in itertools.count():
        caller.call("search by key", "POST", "/api/search", f'{{"key": "{number % items}.png"}}'.encode())
        yield


def search_by_upload(caller: Caller, ledger: Ledger, name: str, items: int) -> Iterator[None]:  # noqa: ARG001
    for number in itertools.count():
        caller.call("search by upload", "POST", "/api/search", form_of(picture(number % items)), form=True)
        yield


def look(caller: Caller, ledger: Ledger, name: str, items: int) -> Iterator[None]:  # noqa: ARG001
    for number in itertools.count():
        pages = ("/api/info", f"/api/thumbnail?key={number % items}.png", "/api/sample")
        caller.call("look", "GET", pages[number % 3])
        yield


def write(caller: Caller, ledger: Ledger, name: str, items: int) -> Iterator[None]:
    turn, mine = ledger.new_turn(), deque[str]()
    for number in itertools.count():
        if len(mine) < OWN_KEYS:
            mine.append(f"{name}/{number}")
            fields = {"key": mine[-1], "metadata": f'{{"number": {number}}}'}
            change(caller, ledger, turn, mine[-1], number, form_of(picture(items + number), **fields))
        else:
            change(caller, ledger, turn, mine.popleft(), None)
        yield


LOAD: dict[Callable[..., Iterator[None]], int] = {
    search_by_key: SEARCHERS,
    search_by_upload: UPLOADERS,
    look: LOOKERS,
    write: WRITERS,
}


@contextmanager
def load(port: int, figures: Figures, ledger: Ledger, items: int) -> Iterator[None]:
    """Every client in a thread of its own; what one of them fails at is raised at the end."""
    stop = threading.Event()

    def run(kind: Callable[..., Iterator[None]], number: int) -> None:
        caller = Caller(port, figures, TOKEN)
        for _ in kind(caller, ledger, f"{kind.__name__}-{number}", items):
            if stop.is_set():
                break
        caller.close()

    clients = [(kind, number) for kind, count in LOAD.items() for number in range(count)]
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(run, *client) for client in clients]
        try:
            yield
        finally:
            stop.set()
    for each in running:
        each.result()


@contextmanager
def adding(path: Path, ledger: Ledger) -> Iterator[None]:
    """The second process; what it says is acknowledged goes into the ledger."""
    command = [sys.executable, str(ADDER), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None

        def listen(lines: Iterator[str]) -> None:
            for line in lines:
                key, number = line.split()
                ledger.note(key, int(number))

        listener = threading.Thread(target=listen, args=(process.stdout,))
        listener.start()
        try:
            yield
        finally:
            process.stdin.close()
            listener.join(timeout=60)
            assert process.wait(timeout=60) == 0
