"""Who is answered, and what no answer says: tokens, foreign pages, places of the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_samples import TOKEN, drawn, png

from foldwalk.core import BadInput
from foldwalk.index import Index
from foldwalk.service import ServiceSettings
from foldwalk.service.announce import who_may
from foldwalk.service.errors import without_paths
from foldwalk.stores.folder.lock import writer_lock

READ = "a-token-to-read-with"
GUARDED = ("/api/info", "/api/items", "/api/map", "/api/thumbnail?key=ring/05.png", "/api/openapi.json")
OPEN = ("/", "/docs", "/api/health", "/web/main.js")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def private(open_client, own_index: Path) -> TestClient:
    return open_client(own_index, token=TOKEN, read_token=READ)


@pytest.mark.parametrize("path", [*GUARDED, "/metrics", "/nowhere", "/web/../api/info", "//api/info"])
def test_reading_needs_the_token(private: TestClient, path: str) -> None:
    for headers in ({}, bearer("wrong"), bearer(""), {"Authorization": f"Basic {READ}"}, bearer(READ + "x")):
        refused = private.get(path, headers=headers)
        if refused.status_code != 404:  # a path below /web/ that is none of its files
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert "Bearer TOKEN" in refused.json()["error"]
    assert READ not in private.get(path).text


def test_both_tokens_read_and_pages_are_open(private: TestClient) -> None:
    for path in GUARDED:
        assert private.get(path, headers=bearer(READ)).is_success
        assert private.get(path, headers=bearer(TOKEN)).is_success
    for path in OPEN:
        assert private.get(path).status_code == 200


def test_searching_is_reading_and_changing_is_not(private: TestClient) -> None:
    body = {"key": "ring/05.png"}
    assert private.post("/api/search", json=body).status_code == 401
    assert private.post("/api/search", json=body, headers=bearer(READ)).status_code == 200
    gone = {"key": "bar/00.png"}
    assert private.delete("/api/items", params=gone, headers=bearer(READ)).status_code == 401
    assert private.delete("/api/items", params=gone, headers=bearer(TOKEN)).status_code == 200


FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://elsewhere.example"},
    {"Origin": "http://127.0.0.1:9"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "cross-site"},
)
OWN = ({}, {"Origin": "http://127.0.0.1"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"})


@pytest.mark.parametrize("headers", FOREIGN)
def test_foreign_pages_can_neither_search_nor_start_the_map(client: TestClient, headers: dict) -> None:
    files = {"picture": ("x.png", png(drawn("disc", 1)), "image/png")}
    refused = client.post("/api/search", files=files, headers=headers)
    assert (refused.status_code, "elsewhere" in refused.json()["error"]) == (403, True)
    assert client.get("/api/map", headers=headers).status_code == 403
    assert client.app.state.map._drawing is None
    assert client.get("/", headers=headers).status_code == 200  # a link that leads here


@pytest.mark.parametrize("headers", OWN)
def test_the_own_page_and_programs_go_on(client: TestClient, headers: dict) -> None:
    assert client.post("/api/search", json={"key": "ring/05.png"}, headers=headers).status_code == 200


def test_info_tells_no_place_of_the_machine(open_client, tmp_path: Path) -> None:
    place = tmp_path / "here.fold"
    with Index.create(place, backbone=tmp_path / "my models" / "mine.onnx"):
        pass
    answer = open_client(place).get("/api/info")
    assert (answer.json()["name"], answer.json()["backbone"]) == ("here", "mine.onnx")
    assert str(tmp_path) not in answer.text


def test_refusals_tell_no_place_of_the_machine(
    private: TestClient, own_index: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with writer_lock(own_index):
        busy = private.delete("/api/items", params={"key": "bar/00.png"}, headers=bearer(TOKEN))
    assert busy.status_code == 409
    assert busy.json()["error"].startswith("own.fold is being written by process ")
    assert str(own_index) in caplog.text  # for whoever runs it
    with Index.open(own_index) as other:
        other.remove(["bar/01.png"])  # so that the service reads the files again
    for block in (own_index / "blocks").iterdir():
        block.unlink()
    damaged = private.post("/api/search", json={"key": "ring/05.png"}, headers=bearer(READ))
    assert damaged.json()["error"].startswith("own.fold/blocks/")
    assert str(own_index.parent) not in damaged.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/data/own.fold is empty.", "own.fold is empty."),
        ("/data/own.fold/blocks/1: gone", "own.fold/blocks/1: gone"),
        ("the model '/home/me/m.onnx' is gone", "the model 'm.onnx' is gone"),
        ("the model '/home/my own/m.onnx', which", "the model 'm.onnx', which"),
        ("(/srv/a/b)", "(b)"),
        ("there is no item 'cats/07.jpg' in the index.", "there is no item 'cats/07.jpg' in the index."),
        ("1/2 of it, see https://example.org/a/b", "1/2 of it, see https://example.org/a/b"),
    ],
)
def test_names_are_left_of_paths(text: str, said: str) -> None:
    assert without_paths(text, Path("/data/own.fold")) == said


def test_a_place_of_one_name_is_left_alone() -> None:
    assert without_paths("a cat is in a", Path("a")) == "a cat is in a"
    assert without_paths("../x/a is empty; add", Path("../x/a")) == "a is empty; add"


def nested(depth: int) -> str:
    return '{"a": ' * depth + "1" + "}" * depth


@pytest.mark.parametrize("depth", [150, 250, 5_000, 50_000])
def test_what_is_nested_deep_is_one_sentence(private: TestClient, depth: int) -> None:
    body = f'{{"key": "new", "vector": [1.0], "metadata": {nested(depth)}}}'
    headers = {**bearer(TOKEN), "content-type": "application/json"}
    answer = private.post("/api/items", content=body, headers=headers)
    assert (answer.status_code, list(answer.json())) == (422, ["error"])
    files = {"picture": ("x.png", png(drawn("disc", 1)), "image/png")}
    form = private.post("/api/search", files=files, data={"where": nested(depth)}, headers=bearer(READ))
    assert (form.status_code, list(form.json())) in ((422, ["error"]), (400, ["error"]))


def test_a_recursion_is_the_fault_of_the_request(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(client.app.state.engine.index, "search", too_deep)
    answer = client.post("/api/search", json={"key": "ring/05.png"})
    assert (answer.status_code, answer.json()) == (422, {"error": "the request is nested too deep."})


def test_an_upload_stays_on_the_disk_until_its_turn_and_not_longer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, seen = b"x" * 3_000_000, []

    async def instead(body, *_: object) -> None:
        seen.append((body._upload, body._upload._rolled, body.picture == body.picture == content))
        raise BadInput("enough.")

    monkeypatch.setattr(client.app.state.engine, "search", instead)
    assert client.post("/api/search", files={"picture": ("x.png", content, "image/png")}).status_code == 422
    [(file, is_on_disk, is_whole)] = seen
    assert (is_on_disk, is_whole, file.closed) == (True, True, True)


def test_what_is_said_at_the_start() -> None:
    words = " ".join(who_may(ServiceSettings(), "127.0.0.1"))
    assert "reading: everyone on this machine, without a token" in words
    assert "changes: no one" in words
    settings = ServiceSettings.make(token=TOKEN, hosts=("*",))
    words = " ".join(who_may(settings, "0.0.0.0"))
    assert "reading: everyone who reaches 0.0.0.0 over the network, without a token" in words
    assert "changes: whoever shows the token" in words
    assert "any name" in words
    assert "does not encrypt" in words
    words = " ".join(who_may(ServiceSettings.make(read_token=READ), "::1"))
    assert "reading: whoever shows the token" in words
    assert READ not in json.dumps(words)
