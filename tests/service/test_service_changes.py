"""Adding and removing: only with the token, all or nothing, and seen by the next search."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_samples import TOKEN, drawn, png

from foldwalk.index import Index

RIGHT = {"Authorization": f"Bearer {TOKEN}"}
NEW = {"picture": ("new.png", png(drawn("disc", 20)), "image/png")}


@pytest.fixture
def writer(open_client, own_index: Path) -> TestClient:
    client: TestClient = open_client(own_index, token=TOKEN)
    return client


def test_without_a_token_of_its_own_the_service_is_read_only(client: TestClient) -> None:
    for answer in (
        client.post("/api/items", files=NEW, data={"key": "new"}, headers=RIGHT),
        client.delete("/api/items", params={"key": "ring/05.png"}, headers=RIGHT),
    ):
        assert answer.status_code == 403
        assert "read-only" in answer.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer söme-nön-ascii-tökën".encode("latin-1")},
    ],
)
def test_changes_need_the_right_token(writer: TestClient, headers: dict) -> None:
    answer = writer.post("/api/items", files=NEW, data={"key": "new"}, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert writer.delete("/api/items", params={"key": "ring/05.png"}, headers=headers).status_code == 401
    assert writer.get("/api/info").json()["items"] == 48


def test_an_added_picture_is_found_and_has_a_thumbnail(writer: TestClient) -> None:
    before = writer.get("/api/info").json()["version"]
    data = {"key": "new/disc", "metadata": '{"kind": "disc"}'}
    answer = writer.post("/api/items", files=NEW, data=data, headers=RIGHT)
    assert answer.status_code == 201
    assert answer.json() == {
        "added": 1, "replaced": 0, "unchanged": 0, "removed": 0, "items": 49, "version": before + 1,
    }  # fmt: skip
    hits = writer.post("/api/search", files=NEW, data={"top": "2"}).json()["hits"]
    assert hits[0]["key"] == "new/disc"
    assert hits[0]["metadata"] == {"kind": "disc"}
    assert writer.get("/api/thumbnail", params={"key": "new/disc"}).content[:2] == b"\xff\xd8"
    again = writer.post("/api/items", files=NEW, data=data, headers=RIGHT).json()
    assert (again["added"], again["replaced"] + again["unchanged"], again["items"]) == (0, 1, 49)


def test_remove_is_all_or_nothing(writer: TestClient) -> None:
    keys = ["ring/05.png", "ring/06.png"]
    refused = writer.delete("/api/items", params={"key": [*keys, "nothing"]}, headers=RIGHT)
    assert refused.status_code == 404
    assert writer.get("/api/info").json()["items"] == 48
    done = writer.delete("/api/items", params={"key": [*keys, keys[0]]}, headers=RIGHT)
    assert (done.json()["removed"], done.json()["items"]) == (2, 46)
    answer = writer.post("/api/search", json={"key": "ring/07.png", "top": 45}).json()
    assert not set(keys) & {hit["key"] for hit in answer["hits"]}
    assert len(answer["hits"]) == 45
    assert writer.delete("/api/items", headers=RIGHT).status_code == 422


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"key": "v"}, "either a picture or a vector"),
        ({"key": "", "vector": [1.0]}, "key"),
        ({"key": "a\x00b", "vector": [1.0]}, "key"),
        ({"key": "v", "vector": [1.0, 2.0]}, "1024"),
        ({"key": "v", "vector": [], "metadata": {}}, "vector"),
        ({"key": "v", "vector": [1.0] * 1024, "metadata": {"note": "x" * 70_000}}, "metadata"),
    ],
)
def test_additions_that_are_refused_change_nothing(writer: TestClient, body: dict, words: str) -> None:
    answer = writer.post("/api/items", json=body, headers=RIGHT)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert writer.get("/api/info").json()["items"] == 48


def test_changes_by_others_are_seen(writer: TestClient, own_index: Path) -> None:
    with Index.open(own_index) as index:
        index.remove(["bar/00.png"])
    assert writer.post("/api/search", json={"key": "bar/01.png", "top": 60}).json()["version"] > 1
    assert writer.post("/api/search", json={"key": "bar/00.png"}).status_code == 404
    assert writer.get("/api/items").json()["total"] == 47


def test_from_empty_to_searched(open_client, tmp_path: Path) -> None:
    Index.create(tmp_path / "empty.fold", backbone=None).close()
    client = open_client(tmp_path / "empty.fold", token=TOKEN)
    assert client.get("/api/sample").json() == {"total": 0, "keys": []}
    empty = client.post("/api/search", json={"vector": [1.0, 0.0]})
    assert (empty.status_code, "empty" in empty.json()["error"]) == (409, True)
    for key, vector in {"a": [1.0, 0.0], "b": [0.8, 0.6], "c": [0.0, 1.0]}.items():
        assert (
            client.post("/api/items", json={"key": key, "vector": vector}, headers=RIGHT).status_code == 201
        )
    answer = client.post("/api/search", json={"vector": [1.0, 0.1], "method": "plain"}).json()
    assert [hit["key"] for hit in answer["hits"]] == ["a", "b", "c"]
