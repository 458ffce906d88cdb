"""Fits run in a process of their own, within limits; nobody whose method is ready waits for one."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from service_samples import TOKEN

from foldwalk import views
from foldwalk.index import Index, ViewsState
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.rerank.registry import DEFAULT
from foldwalk.service import fits
from foldwalk.service.errors import NotFittedHere
from foldwalk.service.fit_worker import FitWorker
from foldwalk.service.gate import Turns

QUERY = "ring/05.png"
LARGE = 10**10


def search(client: TestClient, **body: object) -> dict:
    answer: dict = client.post("/api/search", json={"key": QUERY, **body}).json()
    return answer


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the collection is, a process of its own fits."""
    monkeypatch.setattr(fits, "HERE_BELOW", 0)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The process that fits does not come to an end before the file exists that is given back."""
    go_on = tmp_path / "go on"
    program = (
        "import sys, time, pathlib\n"
        "from foldwalk.service import fit_process\n"
        "first = fit_process.fit\n"
        "def fit(*asked):\n"
        f"    while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.02)\n"
        "    return first(*asked)\n"
        "fit_process.fit = fit\n"
        "fit_process.main()\n"
    )
    monkeypatch.setattr(FitWorker, "command", ("-c", program))
    return go_on


def wait_for(condition) -> None:
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited for too long")


# What a process of its own fits ---------------------------------------------------------------------------


@pytest.mark.usefixtures("apart")
def test_what_another_process_fitted_ranks_as_what_is_fitted_here(
    open_client, pictures_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cas and fsr hand their state over, cprr its neighbours, aqe nothing."""
    methods = ("cas", "fsr", "cprr", "aqe")
    with Index.open(pictures_index) as index:
        expected = {method: index.search(QUERY, 30, method).hits for method in methods}

    def refuse(_: object) -> None:
        raise AssertionError("fitted in the service's own process")

    monkeypatch.setattr(CAS, "_prepare", refuse)
    client = open_client(pictures_index)
    for method in methods:
        found = search(client, method=method, top=30)
        assert [hit["key"] for hit in found["hits"]] == [hit.key for hit in expected[method]]


def ask(worker: FitWorker, *methods: str) -> list[object]:
    async def visit() -> list[object]:
        answers: list[object] = []
        for method in methods:
            try:
                answers.append(await worker.fit(method, {}))
            except NotFittedHere as error:
                answers.append(str(error))
        await worker.close()
        return answers

    return asyncio.run(visit())


def version_of(index: Path) -> int:
    with Index.open(index) as opened:
        return opened.version


def test_a_fit_that_takes_too_long_is_ended_and_the_next_one_works(pictures_index: Path, slow: Path) -> None:
    worker = FitWorker(str(pictures_index), 1, LARGE)

    async def visit() -> None:
        with pytest.raises(NotFittedHere, match=r"more than the 1 seconds .* larger --fit-seconds"):
            await worker.fit("aqe", {})
        slow.touch()
        worker._about["seconds"] = 60
        assert (await worker.fit("aqe", {})).version == version_of(pictures_index)
        await worker.close()

    asyncio.run(visit())


def test_a_fit_that_needs_too_much_memory_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "many.fold"
    vectors = np.random.default_rng(0).normal(size=(3_000, 16)).astype(np.float32)
    with Index.create(path, backbone=None) as index:
        index.add_vectors(vectors)
    answers = ask(FitWorker(str(path), 60, 1_000_000), "manifold_ranking", "cas")
    assert all("needs more than the 1 MB" in str(each) and "--fit-memory-mb" in str(each) for each in answers)


def test_what_is_wrong_with_a_fit_comes_through_as_one_sentence(pictures_index: Path, tmp_path: Path) -> None:
    assert "no method 'cass'" in str(ask(FitWorker(str(pictures_index), 60, LARGE), "cass")[0])
    gone = ask(FitWorker(str(tmp_path / "gone.fold"), 60, LARGE), "cas", "cas")
    assert all("gone.fold" in str(each) for each in gone)


def test_the_address_of_a_store_is_no_argument_of_a_process(pictures_index: Path, slow: Path) -> None:
    async def visit() -> bytes:
        worker = FitWorker(str(pictures_index), 60, LARGE)
        fitting = asyncio.create_task(worker.fit("aqe", {}))
        while worker._process is None:
            await asyncio.sleep(0.01)
        arguments = Path(f"/proc/{worker._process.pid}/cmdline").read_bytes()
        slow.touch()
        await fitting
        await worker.close()
        return arguments

    assert b"shapes.fold" not in asyncio.run(visit())


def test_closing_ends_the_process(pictures_index: Path, slow: Path) -> None:
    async def visit() -> int:
        worker = FitWorker(str(pictures_index), 60, LARGE)
        fitting = asyncio.create_task(worker.fit("aqe", {}))
        while worker._process is None:
            await asyncio.sleep(0.01)
        number = worker._process.pid
        fitting.cancel()
        await asyncio.gather(fitting, return_exceptions=True)
        await worker.close()
        return number

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(visit()), 0)
    assert not slow.exists()


def test_a_process_that_is_killed_is_said_and_replaced(pictures_index: Path, slow: Path) -> None:
    async def visit() -> None:
        worker = FitWorker(str(pictures_index), 60, LARGE)
        fitting = asyncio.create_task(worker.fit("aqe", {}))
        while worker._process is None:
            await asyncio.sleep(0.01)
        worker._process.send_signal(signal.SIGKILL)
        with pytest.raises(NotFittedHere, match=r"its process ended \(-9\)"):
            await fitting
        slow.touch()
        assert (await worker.fit("aqe", {})).version == version_of(pictures_index)
        await worker.close()

    asyncio.run(visit())


# Who waits for what ---------------------------------------------------------------------------------------


def test_turns_are_taken_one_by_one_and_the_first_goes_before_the_others() -> None:
    async def visit() -> list[str]:
        turns, order = Turns(), []

        async def take(name: str, first: bool = False) -> None:
            async with turns.turn(first):
                order.append(name)
                await asyncio.sleep(0)
                order.append(name)

        tasks = [asyncio.create_task(take(name)) for name in ("a", "b", "gone", "c")]
        tasks.append(asyncio.create_task(take("first", first=True)))
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(take("later"), 5)
        return order

    assert asyncio.run(visit()) == [name for name in ("a", "first", "b", "c", "later") for _ in range(2)]


@pytest.mark.usefixtures("apart")
def test_plain_hits_until_the_default_is_fitted(open_client, pictures_index: Path, slow: Path) -> None:
    client = open_client(pictures_index, warm=False)
    with ThreadPoolExecutor(2) as pool:
        for body in ({}, {"method": DEFAULT, "wait": False}):
            stand_in = search(client, **body)
            assert (stand_in["method"], stand_in["wanted"], stand_in["fitted"]) == ("plain", DEFAULT, False)
            assert stand_in["note"] == f"{DEFAULT} is being fitted; these are the hits of plain search."
            assert [hit["key"] for hit in stand_in["hits"]] == stand_in["plain"]
        health = client.get("/api/health").json()
        assert (health["status"], health["fitted"]) == ("warming", False)
        patient = [pool.submit(search, client, wait=True), pool.submit(search, client, method=DEFAULT)]
        assert search(client, method="plain")["fitted"] is True  # is ready, whatever is being fitted
        assert not any(each.done() for each in patient)
        slow.touch()
        for each in patient:
            found = each.result()
            assert (found["method"], found["wanted"], found["fitted"]) == (DEFAULT, DEFAULT, True)
            assert "plain search" not in found["note"]
    wait_for(lambda: client.get("/api/health").json()["status"] == "ok")
    assert client.get("/api/health").json()["fitted"] is True
    assert search(client)["method"] == DEFAULT


@pytest.mark.usefixtures("apart")
def test_views_of_a_collection_that_has_drifted_are_learned_anew_in_the_background(
    open_client, own_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "learn", lambda *_: pytest.fail("learned in the service's own process"))
    client = open_client(own_index, method="auto", token=TOKEN)

    def known() -> ViewsState:
        with Index.open(own_index) as index:
            (state,) = index.info().views
        return state

    def removed(*keys: str) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert client.delete("/api/items", params={"key": keys}, headers=headers).status_code == 200
        found = search(client, wait=True)
        assert (found["method"], found["fitted"]) == ("auto", True)
        assert found["note"].endswith(" view alone.")  # of few items, the last one

    first = known()
    assert (first.items, first.due) == (48, False)
    removed("bar/00.png")
    assert (known().version, known().went) == (first.version, 1)  # as they were
    removed(*(f"disc/{number:02}.png" for number in range(12)))
    assert known().version > first.version
    assert (known().items, known().went) == (35, 0)


@pytest.mark.usefixtures("apart")
def test_a_full_queue_of_fits_is_429_only_for_methods_that_are_not_fitted(
    open_client, pictures_index: Path, slow: Path
) -> None:
    client = open_client(pictures_index, method="plain", fits_waiting=1)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(search, client, method="aqe"), pool.submit(search, client, method="dfs")]
        under_way = client.app.state.engine._fits._under_way
        wait_for(lambda: len(under_way) == 2)
        refused = client.post("/api/search", json={"key": QUERY, "method": "sca"})
        assert (refused.status_code, "ready" in refused.json()["error"]) == (429, True)
        same = pool.submit(search, client, method="aqe")  # waits for the fit that is under way
        assert search(client)["fitted"] is True
        assert "too many others wait" in search(client, method="sca", wait=False)["note"]
        slow.touch()
        assert [each.result()["method"] for each in (*waiting, same)] == ["aqe", "dfs", "aqe"]
    assert search(client, method="sca")["method"] == "sca"


@pytest.mark.usefixtures("apart", "slow")
def test_a_fit_that_breaks_a_limit_is_refused_once_and_for_all(open_client, own_index: Path) -> None:
    client = open_client(own_index, method="plain", fit_seconds=1, token=TOKEN)
    worker = client.app.state.engine._fits._worker
    asked = []
    original = worker.fit

    async def counted(*choice: object) -> object:
        asked.append(choice)
        return await original(*choice)

    worker.fit = counted
    for _ in range(3):
        refused = client.post("/api/search", json={"key": QUERY, "method": "aqe"})
        assert refused.status_code == 503
        assert "more than the 1 seconds" in refused.json()["error"]
    assert len(asked) == 1
    assert "more than the 1 seconds" in search(client, method="aqe", wait=False)["note"]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    client.delete("/api/items", params={"key": "bar/00.png"}, headers=headers)
    assert client.post("/api/search", json={"key": QUERY, "method": "aqe"}).status_code == 503
    assert len(asked) == 2  # another version, another try


@pytest.mark.usefixtures("apart")
def test_a_method_that_keeps_nothing_and_prepares_for_long_is_not_prepared_here(
    open_client, pictures_index: Path
) -> None:
    client = open_client(pictures_index, prepare_seconds=1e-9)
    refused = client.post("/api/search", json={"key": QUERY, "method": "cprr"})
    assert (refused.status_code, "keeps nothing of it" in refused.json()["error"]) == (503, True)
    assert search(client, method="cas")["fitted"] is True


def test_the_default_stays_in_memory_whatever_visitors_ask_for(open_client, pictures_index: Path) -> None:
    client = open_client(pictures_index)
    for method in ("aqe", "dfs", "sca", "rdp", "sd", "lcdp"):
        assert search(client, method=method)["method"] == method
        assert search(client)["fitted"] is True


# Who may choose what --------------------------------------------------------------------------------------


def test_parameters_are_for_those_with_the_token_or_for_everyone(open_client, pictures_index: Path) -> None:
    chosen = {"method": "aqe", "parameters": {"k": "3"}}
    right, wrong = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, TOKEN + "x"))
    client = open_client(pictures_index, token=TOKEN)
    for headers, status in (({}, 422), (wrong, 422), (right, 200)):
        body = {"key": QUERY, **chosen}
        assert client.post("/api/search", json=body, headers=headers).status_code == status
        body["hit"] = "ring/06.png"
        assert client.post("/api/explain", json=body, headers=headers).status_code == status
        cards = client.get("/api/methods", headers=headers).json()
        assert any(card["parameters"] for card in cards) is (status == 200)
    assert search(open_client(pictures_index, free_parameters=True), **chosen)["fitted"] is True


def test_everyone_may_write_the_defaults_and_presets_as_they_like(client: TestClient) -> None:
    cards = {card["name"]: card for card in client.get("/api/methods").json()}
    assert cards["aqe"]["presets"] == cards["aqe"]["parameters"] == []
    assert "reid" in [preset["name"] for preset in cards["cas"]["presets"]]
    assert all(preset["text"] for preset in cards["cas"]["presets"])
    for k in (4, "4", 4.0):
        assert search(client, method="aqe", parameters={"k": k})["method"] == "aqe"
    assert search(client, method="cas", parameters={"preset": "reid"})["fitted"] is True
    menu = client.app.state.engine.menu
    names = {menu.choose("aqe", {"k": k}, free=False).name for k in (4, "4", 4.0)}
    assert len(names) == 1  # one fit for all of them
