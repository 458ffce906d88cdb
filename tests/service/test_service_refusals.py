"""Bad requests are refused with one sentence and the right status, never with a fault of the service."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image
from service_samples import TOKEN, drawn, png

from foldwalk.index import Index
from foldwalk.rerank import describe, names
from foldwalk.rerank.registry import DEFAULT

QUERY = "ring/05.png"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "give one of picture, key, text, vector, positives; there is none"),
        ({"key": QUERY, "vector": [1.0]}, 422, "there are key and vector"),
        ({"key": QUERY, "negatives": ["bar/01.png"]}, 422, "negatives goes with positives"),
        ({"key": "no such"}, 404, "there is no item 'no such'"),
        ({"positives": [QUERY, "nor this"]}, 404, "there is no item 'nor this'"),
        ({"key": QUERY, "top": 0}, 422, "top"),
        ({"key": QUERY, "top": 201}, 422, "at most 200 results"),
        ({"key": QUERY, "top": "many"}, 422, "top"),
        ({"key": QUERY, "surprise": 1}, 422, "surprise"),
        ({"key": QUERY, "method": "cass"}, 422, "there is no method 'cass'"),
        ({"key": QUERY, "method": "aqe", "parameters": {"k": 0}}, 422, "parameter k is 0"),
        ({"key": QUERY, "method": "aqe", "parameters": {"q": 3}}, 422, "aqe has no parameter 'q'"),
        ({"key": QUERY, "method": "aqe", "parameters": {"k": 5000}}, 422, "at most 200"),
        (
            {"key": QUERY, "method": "aqe", "parameters": {"k": "5000"}},
            422,
            "k is 5000, but this service allows",
        ),
        (
            {"key": QUERY, "method": "aqe", "parameters": {"k": 5000.0}},
            422,
            "k is 5000, but this service allows",
        ),
        (
            {"key": QUERY, "method": "aqe", "parameters": {"k": 7}},
            422,
            "lets visitors choose its defaults only",
        ),
        (
            {"key": QUERY, "method": "cas", "parameters": {"cluster_k": "21"}},
            422,
            "its defaults or the preset roxford or",
        ),
        (
            {"key": QUERY, "method": "cas", "parameters": {"preset": "reid", "cluster_k": 21}},
            422,
            "its defaults or the preset",
        ),
        ({"key": QUERY, "parameters": {"seed": 3}}, 422, "settled by the index"),
        ({"key": QUERY, "parameters": {"self": 3}}, 422, f"{DEFAULT} has no parameter 'self'"),
        ({"key": QUERY, "parameters": {"name": 3}}, 422, f"{DEFAULT} has no parameter 'name'"),
        ({"key": QUERY, "parameters": {"metric": "euclidean"}}, 422, "settled by the index"),
        (
            {"key": QUERY, "method": "cas", "parameters": {"graphs": "5,50000"}},
            422,
            "at most 8 sizes up to 200",
        ),
        ({"key": QUERY, "method": "cas", "parameters": {"graphs": 50000}}, 422, "at most 8 sizes up to 200"),
        (
            {"key": QUERY, "method": "cas", "parameters": {"graphs": "2,3,4,5,6,7,8,9,10"}},
            422,
            "at most 8 sizes",
        ),
        ({"key": QUERY, "method": "cas", "parameters": {"preset": "nowhere"}}, 422, "preset is 'nowhere'"),
        ({"vector": [1.0, 2.0]}, 422, "1024"),
        ({"vector": [0.0] * 1023 + [1e300]}, 422, "too large"),
        ({"key": QUERY, "where": {"kind": {"over": 3}}}, 422, "where"),
        ({"key": QUERY, "where": {"kind": ["a"] * 10_001}}, 422, "20 conditions and 10000 values"),
        ({"key": QUERY, "where": {str(number): 1 for number in range(21)}}, 422, "20 conditions"),
    ],
)
def test_search_refuses(client: TestClient, body: dict, status: int, words: str) -> None:
    answer = client.post("/api/search", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    sentence = answer.json()["error"]
    assert words in sentence
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence


def test_methods_that_must_be_trained_are_offered_only_by_name(open_client, pictures_index: Path) -> None:
    usual = {card["name"] for card in open_client(pictures_index).get("/api/methods").json()}
    assert usual == {name for name in names() if not describe(name).needs_training}
    assert {"cas", "auto", "egt"} <= usual
    assert not {"gradnet", "gss", "csa", "ssr", "lattqe"} & usual
    few = open_client(pictures_index, methods=("plain", "aqe"))
    assert [card["name"] for card in few.get("/api/methods").json()] == ["plain", "aqe", DEFAULT]
    refused = few.post("/api/search", json={"key": QUERY, "method": "dfs"})
    assert (refused.status_code, "does not offer dfs" in refused.json()["error"]) == (422, True)


def test_explain_refuses(client: TestClient) -> None:
    assert client.post("/api/explain", json={"key": QUERY}).status_code == 422
    assert client.post("/api/explain", json={"key": QUERY, "hit": "nothing"}).status_code == 404
    same = client.post("/api/explain", json={"key": QUERY, "hit": QUERY})
    assert same.status_code == 422
    assert "itself" in same.json()["error"]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"key": ', "application/json", 422),
        (b"[1, 2]", "application/json", 422),
        (b"[" * 100_000, "application/json", 422),
        (b'{"key": "\xff"}', "application/json", 422),
        (b"key=ring", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
        (b"--x", "multipart/form-data", 400),
        (b"--x\r\nrubbish", "multipart/form-data; boundary=x", 422),
    ],
)
def test_bodies_that_cannot_be_read(client: TestClient, content: bytes, kind: str, status: int) -> None:
    answer = client.post("/api/search", content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be used"),
        (b"this is no picture", "not a picture of a known format"),
        (png(drawn("disc", 1))[:200], "cannot be used"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "cannot be used"),
        (png(Image.new("L", (30_001, 1))), "more than 30,000 pixels along a side"),
        (b"\xff\xd8" + b"\xff\xda\x00\x02" * 101, "cannot be used"),
    ],
)
def test_files_that_are_no_pictures(client: TestClient, content: bytes, words: str) -> None:
    answer = client.post("/api/search", files={"picture": ("x.png", content, "image/png")})
    assert answer.status_code == 422
    assert words in answer.json()["error"]


def test_a_form_needs_its_picture_as_a_file(client: TestClient) -> None:
    answer = client.post("/api/search", files={"photo": ("x.png", b"x", "image/png")})
    assert (answer.status_code, answer.json()["error"][:8]) == (422, "the form")


def test_too_many_pixels(open_client, pictures_index: Path) -> None:
    client = open_client(pictures_index, pixels=96 * 72 - 1)
    answer = client.post("/api/search", files={"picture": ("x.png", png(drawn("disc", 1)), "image/png")})
    assert answer.status_code == 422
    assert "pixels" in answer.json()["error"]


def test_too_many_bytes(open_client, pictures_index: Path) -> None:
    client = open_client(pictures_index, upload_bytes=50_000)
    noise = Image.effect_noise((400, 400), 90)
    content = png(noise)
    assert len(content) > 150_001
    announced = client.post("/api/search", files={"picture": ("x.png", content, "image/png")})
    assert announced.status_code == 413
    assert "MB" in announced.json()["error"]

    def in_pieces() -> Iterator[bytes]:
        yield b'{"key": "'
        for _ in range(200):
            yield b"a" * 1_000
        yield b'"}'

    streamed = client.post("/api/search", content=in_pieces(), headers={"content-type": "application/json"})
    assert streamed.status_code == 413


def test_an_item_without_a_backbone_cannot_be_searched_by_picture(open_client, vectors_index: Path) -> None:
    files = {"picture": ("x.png", png(drawn("disc", 1)), "image/png")}
    answer = open_client(vectors_index).post("/api/search", files=files)
    assert answer.status_code == 422
    assert "search it by vector or by key" in answer.json()["error"]


def test_unknown_keys_and_paths(client: TestClient) -> None:
    for path in ("/api/item?key=none", "/api/thumbnail?key=../../etc/passwd"):
        assert client.get(path).status_code == 404
    assert client.get("/api/item").json() == {"error": "key: field required."}
    nothing = client.get("/nowhere")
    assert (nothing.status_code, nothing.json()) == (404, {"error": "there is nothing at /nowhere."})
    assert client.put("/api/search").status_code == 405
    for path in ("/web/../app.py", "/web/%2e%2e/app.py", "/web//etc/passwd", "/web/..%2fapp.py"):
        assert client.get(path).status_code == 404


def test_a_fault_of_the_service_says_nothing_of_its_insides(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(client.app.state.engine.index, "info", break_down)
    answer = client.get("/api/info")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" in caplog.text


def test_a_damaged_index_is_a_fault_of_the_service(open_client, own_index: Path) -> None:
    client = open_client(own_index)
    assert client.post("/api/search", json={"key": QUERY}).status_code == 200
    with Index.open(own_index) as other:
        other.remove(["bar/00.png"])  # so that the service reads the files again
    for block in (own_index / "blocks").iterdir():
        block.unlink()
    answer = client.post("/api/search", json={"key": QUERY})
    assert (answer.status_code, list(answer.json())) == (500, ["error"])
    assert "is missing or shorter than its" in answer.json()["error"]


def test_a_full_disk_is_said_to_be_full(open_client, own_index: Path, monkeypatch) -> None:
    client = open_client(own_index, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files = {"picture": ("x.png", png(drawn("disc", 1)), "image/png")}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        answer = client.post("/api/items", files=files, data={"key": "new"}, headers=headers)
    assert (answer.status_code, list(answer.json())) == (507, ["error"])
    assert "No space left on device; nothing changed" in answer.json()["error"]
    assert client.get("/api/item", params={"key": "new"}).status_code == 404


def test_every_status_is_described(client: TestClient) -> None:
    described = client.get("/api/openapi.json").json()["paths"]
    assert {"409", "500", "501"} <= described["/api/search"]["post"]["responses"].keys()
    assert {"500", "501", "507"} <= described["/api/items"]["post"]["responses"].keys()


def test_the_default_method_must_exist(open_client, pictures_index: Path) -> None:
    with pytest.raises(ValueError, match="there is no method"):
        open_client(pictures_index, method="cass")
    with pytest.raises(ValueError, match=r"token: .*16"):
        open_client(pictures_index, token="short")
