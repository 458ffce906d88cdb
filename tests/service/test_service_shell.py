"""What surrounds every answer: headers, host names, figures, health."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import foldwalk.service

WEB = Path(foldwalk.service.__file__).parent / "web"


@pytest.mark.parametrize("path", ["/", "/docs", "/api/info", "/nowhere", "/web/main.js", "/metrics"])
def test_every_answer_has_safe_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["vary"] == "Authorization"
    assert "access-control-allow-origin" not in headers


def test_other_origins_are_given_nothing(client: TestClient) -> None:
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answer = client.options("/api/search", headers=asked)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "LOCALHOST", "[::1]:8000"])
def test_the_machine_itself_is_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""])
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/health", headers={"host": host})
    assert answer.status_code == 421
    assert "--allow-host" in answer.json()["error"]


def test_host_names_can_be_allowed(open_client, pictures_index: Path) -> None:
    named = open_client(pictures_index, hosts=("photos.example",))
    assert named.get("/api/health", headers={"host": "photos.example"}).status_code == 200
    assert named.get("/api/health", headers={"host": "localhost"}).status_code == 421
    anyone = open_client(pictures_index, hosts=("*",))
    assert anyone.get("/api/health", headers={"host": "what.ever"}).status_code == 200


def figure(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"no {name} in the metrics"
    return float(found.group(1))


def test_metrics_count_what_happened(client: TestClient) -> None:
    for _ in range(3):
        client.post("/api/search", json={"key": "ring/05.png"})
    client.post("/api/search", json={"key": "nothing"})
    client.get("/no/such/place/17")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.text
    search = 'foldwalk_requests_total{method="POST",route="/api/search",status="%s"}'
    assert figure(text, search % 200) == 3
    assert figure(text, search % 404) == 1
    assert figure(text, 'foldwalk_request_seconds_count{route="/api/search"}') == 4
    assert figure(text, 'foldwalk_search_seconds_count{stage="search"}') == 3
    assert figure(text, 'foldwalk_requests_total{method="GET",route="other",status="404"}') == 1
    assert figure(text, "foldwalk_items") == 48
    assert figure(text, "foldwalk_requests_in_flight") == 1  # this one
    assert "/no/such/place" not in text


def test_two_applications_count_apart(open_client, pictures_index: Path) -> None:
    first, second = open_client(pictures_index), open_client(pictures_index)
    first.get("/api/info")
    assert 'route="/api/info"' in first.get("/metrics").text
    assert 'route="/api/info"' not in second.get("/metrics").text


@pytest.mark.parametrize("name", ["index.html", "docs.html"])
def test_pages_hold_no_script_or_style_of_their_own_and_fetch_nothing_from_elsewhere(name: str) -> None:
    text = (WEB / name).read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", text) == []
    assert re.findall(r"(?:src|href)=\"(?!/|#)[^\"]*\"", text) == []


def test_scripts_never_turn_text_into_markup() -> None:
    for script in WEB.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://", text)


def test_pages_and_description_are_there(client: TestClient) -> None:
    assert "<h1>Start with one of these</h1>" in client.get("/").text
    assert client.head("/").status_code == 200
    assert client.get("/docs").status_code == 200
    assert client.get("/web/main.js").headers["content-type"].startswith("text/javascript")
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {"/api/search", "/api/explain", "/api/items", "/api/map", "/metrics"} <= set(paths)
    assert set(paths["/api/search"]["post"]["requestBody"]["content"]) == {
        "application/json",
        "multipart/form-data",
    }
    assert paths["/api/items"]["post"]["security"]
