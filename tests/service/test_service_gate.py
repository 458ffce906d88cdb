"""So many at once, so many waiting, one fit at a time; the next one is told to come again."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from foldwalk.rerank.registry import DEFAULT
from foldwalk.service.errors import Busy
from foldwalk.service.gate import Gate

WAIT = 20.0


def test_gate_runs_so_many_at_once_and_refuses_beyond_the_waiting_room() -> None:
    gate = Gate("test", at_once=2, waiting=1)
    running, most, lock, release = 0, 0, threading.Lock(), threading.Event()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert release.wait(WAIT)
        with lock:
            running -= 1
        return number

    async def visit() -> list[object]:
        visitors = [asyncio.create_task(gate.run(work, number)) for number in range(4)]
        await asyncio.wait([visitors[3]])
        assert gate.busy == 3
        release.set()
        answers = await asyncio.gather(*visitors, return_exceptions=True)
        assert gate.busy == 0
        assert await gate.run(work, 9) == 9  # there is room again
        return list(answers)

    answers = asyncio.run(visit())
    gate.close()
    assert answers[:3] == [0, 1, 2]
    assert isinstance(answers[3], Busy)
    assert most == 2


def test_gate_gives_a_place_back_after_a_failure() -> None:
    gate = Gate("test", at_once=1, waiting=0)

    async def visit() -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await gate.run(lambda: 1 / 0)

    asyncio.run(visit())
    gate.close()


class Held:
    """Stands in for a method of the index: every call waits until it is released."""

    def __init__(self, original) -> None:
        self.original, self.entered, self.release = original, threading.Semaphore(0), threading.Event()
        self.running = self.most = self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, *args: object, **options: object) -> object:
        with self.lock:
            self.running, self.calls = self.running + 1, self.calls + 1
            self.most = max(self.most, self.running)
        self.entered.release()
        assert self.release.wait(WAIT)
        with self.lock:
            self.running -= 1
        return self.original(*args, **options)


def search(client: TestClient, **body: object):
    return client.post("/api/search", json={"key": "ring/05.png", **body})


def wait_until_warm(client: TestClient) -> None:
    while client.get("/api/health").json()["status"] != "ok":
        time.sleep(0.02)


def test_a_full_service_answers_429_and_goes_on(
    open_client, pictures_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_client(pictures_index, at_once=1, waiting=1)
    wait_until_warm(client)
    assert search(client).status_code == 200
    index = client.app.state.engine.index
    held = Held(index.search)
    monkeypatch.setattr(index, "search", held)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(search, client), pool.submit(search, client)
        assert held.entered.acquire(timeout=WAIT)
        while client.app.state.engine._searches.busy < 2:
            time.sleep(0.01)
        refused = search(client)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert "busy" in refused.json()["error"]
        assert client.get("/api/info").status_code == 200  # reading has places of its own
        assert client.get("/api/thumbnail?key=ring/05.png").status_code == 200
        held.release.set()
        assert [first.result().status_code, second.result().status_code] == [200, 200]
    assert held.most == 1
    assert search(client).status_code == 200


def test_one_fit_for_all_who_want_it_and_searches_that_are_ready_go_on(
    open_client, pictures_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_client(pictures_index)
    wait_until_warm(client)
    assert search(client).status_code == 200
    index = client.app.state.engine.index
    held = Held(index.load_fitted)
    monkeypatch.setattr(index, "load_fitted", held)
    with ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(search, client, method=name) for name in ("aqe", "aqe", "aqe", "dfs", "sca")]
        assert held.entered.acquire(timeout=WAIT)
        assert search(client).json()["method"] == DEFAULT  # is fitted and does not wait
        assert not any(each.done() for each in waiting)
        held.release.set()
        assert [each.result().json()["method"] for each in waiting] == ["aqe", "aqe", "aqe", "dfs", "sca"]
    assert (held.most, held.calls) == (1, 3)


def test_a_change_makes_the_default_method_fit_again(open_client, own_index: Path) -> None:
    token = "a-token-for-the-tests"
    client = open_client(own_index, token=token)
    wait_until_warm(client)
    engine = client.app.state.engine
    for number in range(3):  # changes that come while the fit of the last one is under way count too
        headers = {"Authorization": f"Bearer {token}"}
        client.delete("/api/items", params={"key": f"bar/0{number}.png"}, headers=headers)
    wait_until_warm(client)
    assert DEFAULT in engine.index.info().methods_fitted
    assert engine.warming._rehearsed == engine.index.version
    assert engine.warming.fitted
