"""Where a request names no method, the service ranks by what the index prefers."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldwalk.index import Index, Key
from foldwalk.rerank.registry import DEFAULT

QUERY = "ring/05.png"
CHOICE = ("cdm", {"k": 3})


@pytest.fixture
def tuned(own_index: Path) -> Path:
    with Index.open(own_index) as index:
        index.prefer(*CHOICE)
    return own_index


def scores(client, **body) -> list[float]:
    found = client.post("/api/search", json={"key": QUERY, "top": 20, "wait": True, **body})
    assert found.status_code == 200
    return [hit["score"] for hit in found.json()["hits"]]


def test_a_request_that_names_no_method_gets_it(open_client, tuned: Path) -> None:
    client = open_client(tuned)
    with Index.open(tuned) as index:
        wanted, usual = (
            [hit.score for hit in index.search(Key(QUERY), 20, "cdm", parameters).hits]
            for parameters in (CHOICE[1], {})
        )
    assert wanted != pytest.approx(usual, abs=1e-4)
    assert scores(client) == pytest.approx(wanted, abs=1e-6)
    assert scores(client, method="cdm", parameters=CHOICE[1]) == pytest.approx(wanted, abs=1e-6)
    assert scores(client, method="cdm") == pytest.approx(usual, abs=1e-6)
    about = client.get("/api/info").json()
    assert (about["method"], about["parameters"]) == CHOICE
    assert client.get("/api/health").json()["fitted"] is True
    other = client.post("/api/search", json={"key": QUERY, "method": "cdm", "parameters": {"k": 4}})
    assert other.status_code == 422  # visitors choose no others


def test_what_the_settings_say_goes_before_it(open_client, tuned: Path) -> None:
    about = open_client(tuned, method="aqe").get("/api/info").json()
    assert (about["method"], about["parameters"]) == ("aqe", {})


def test_what_is_too_large_for_visitors_is_too_large_for_the_default(open_client, own_index: Path) -> None:
    with Index.open(own_index) as index:
        index.prefer("cdm", {"k": 900})
    about = open_client(own_index).get("/api/info").json()
    assert (about["method"], about["parameters"]) == (DEFAULT, {})


def test_the_map_is_drawn_with_it(open_client, tuned: Path) -> None:
    client = open_client(tuned)
    while (drawn := client.get("/api/map").json())["state"] == "drawing":
        pass
    assert (drawn["state"], drawn["method"]) == ("ready", "cdm k=3")


def test_it_tells_what_the_default_makes_of_the_collection(open_client, own_index: Path) -> None:
    client = open_client(own_index)
    scores(client)
    about = client.get("/api/info").json()
    assert about["views"] == ["views w25, w50 learned from 48 items."]
    assert about["notes"][DEFAULT].endswith(".")
