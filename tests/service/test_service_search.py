"""What the service answers is what the index answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from service_samples import KINDS, drawn, png

from foldwalk.index import Index, Key, Like
from foldwalk.rerank import describe

QUERY = "ring/05.png"


def test_search_by_key_is_the_search_of_the_index(client: TestClient, pictures_index: Path) -> None:
    answer = client.post("/api/search", json={"key": QUERY, "top": 7, "method": "cas"}).json()
    with Index.open(pictures_index) as index:
        expected = index.search(Key(QUERY), top=7, method="cas").as_dict()
    assert [hit["key"] for hit in answer["hits"]] == [hit["key"] for hit in expected["hits"]]
    assert [hit["plain_rank"] for hit in answer["hits"]] == [hit["plain_rank"] for hit in expected["hits"]]
    assert answer["plain"] == list(expected["plain"])
    assert answer["hits"][0]["score"] == pytest.approx(expected["hits"][0]["score"], abs=1e-6)
    assert answer["hits"][0]["metadata"]["kind"] == "ring"
    assert set(answer["seconds"]) == {"describe", "fit", "search"}


def test_parameters_reach_the_method(open_client, pictures_index: Path) -> None:
    client = open_client(pictures_index, free_parameters=True)
    body = {"key": QUERY, "top": 20, "method": "manifold_ranking", "parameters": {"k": 2, "alpha": 0.5}}
    answer = client.post("/api/search", json=body).json()
    with Index.open(pictures_index) as index:
        expected = index.search(Key(QUERY), 20, "manifold_ranking", {"k": 2, "alpha": 0.5})
        default = index.search(Key(QUERY), 20, "manifold_ranking")
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == pytest.approx([hit.score for hit in expected.hits], abs=1e-6)
    assert scores != pytest.approx([hit.score for hit in default.hits], abs=1e-4)


def test_a_preset_stands_for_its_parameters(client: TestClient) -> None:
    by_name, by_values = (
        client.post("/api/search", json={"key": QUERY, "top": 9, "method": "cas", "parameters": chosen})
        for chosen in ({"preset": "reid"}, describe("cas").presets["reid"].values)
    )
    assert by_name.status_code == by_values.status_code == 200
    assert by_name.json()["hits"] == by_values.json()["hits"]


def test_search_with_an_upload_finds_the_picture_itself(client: TestClient) -> None:
    files = {"picture": ("me.png", png(drawn("disc", 4)), "image/png")}
    answer = client.post("/api/search", files=files, data={"top": "3", "method": "plain"})
    assert answer.status_code == 200
    hits = answer.json()["hits"]
    assert hits[0]["key"] == "disc/04.png"
    assert hits[0]["similarity"] == pytest.approx(1, abs=1e-5)
    assert len(hits) == 3


def test_structured_fields_of_a_form_are_json(client: TestClient) -> None:
    files = {"picture": ("me.png", png(drawn("disc", 4)), "image/png")}
    data = {"parameters": '{"k": 4}', "method": "aqe", "where": '{"kind": "bar"}', "fold": "true"}
    hits = client.post("/api/search", files=files, data=data).json()["hits"]
    assert hits
    assert {hit["metadata"]["kind"] for hit in hits} == {"bar"}
    broken = client.post("/api/search", files=files, data={"parameters": "{k: 2"})
    assert broken.status_code == 422
    assert broken.json() == {"error": "parameters must be written as JSON."}


def test_search_by_vector(client: TestClient, pictures_index: Path) -> None:
    with Index.open(pictures_index) as index:
        vector = index.vector("wedge/03.png")
    answer = client.post("/api/search", json={"vector": vector.tolist(), "method": "plain", "top": 2})
    assert answer.json()["hits"][0]["key"] == "wedge/03.png"


def test_search_by_several_items(client: TestClient, pictures_index: Path) -> None:
    body = {"positives": ["bar/01.png", "bar/03.png"], "negatives": ["disc/02.png"], "top": 5}
    keys = [hit["key"] for hit in client.post("/api/search", json=body).json()["hits"]]
    with Index.open(pictures_index) as index:
        like = Like([Key("bar/01.png"), Key("bar/03.png")], [Key("disc/02.png")])
        assert keys == [hit.key for hit in index.search(like, top=5).hits]


def test_explain_leads_from_the_query_to_the_hit(client: TestClient) -> None:
    answer = client.post("/api/explain", json={"key": QUERY, "hit": "ring/09.png"}).json()
    assert answer["steps"][0] == {"key": QUERY, "similarity": None}
    assert answer["steps"][-1]["key"] == "ring/09.png"
    assert all(0 < step["similarity"] <= 1 for step in answer["steps"][1:])
    assert answer["rank"] >= 1
    assert answer["sentence"].endswith(".")


def test_explain_an_upload(client: TestClient) -> None:
    files = {"picture": ("me.png", png(drawn("bar", 6)), "image/png")}
    answer = client.post("/api/explain", files=files, data={"hit": "bar/08.png"})
    assert answer.status_code == 200
    assert answer.json()["steps"][0]["key"] is None


def test_items_can_be_listed_found_and_looked_at(client: TestClient) -> None:
    everything = client.get("/api/items", params={"limit": 1000}).json()
    assert everything["total"] == len(everything["keys"]) == 48
    part = client.get("/api/items", params={"contains": "RING/", "offset": 2, "limit": 3}).json()
    assert part == {"total": 12, "keys": ["ring/02.png", "ring/03.png", "ring/04.png"]}
    item = client.get("/api/item", params={"key": QUERY}).json()
    assert item["metadata"] == {"kind": "ring", "number": 5}
    assert set(item) == {"key", "metadata", "added"}  # where the file lies is nobody's business


def test_samples_differ_by_seed_and_repeat(client: TestClient) -> None:
    def sample(seed: int) -> list[str]:
        keys: list[str] = client.get("/api/sample", params={"count": 10, "seed": seed}).json()["keys"]
        return keys

    assert sample(1) == sample(1) != sample(2)
    assert len(set(sample(1))) == 10
    assert len(client.get("/api/sample", params={"count": 200}).json()["keys"]) == 48


def test_thumbnails(client: TestClient, vectors_index: Path, open_client) -> None:
    answer = client.get("/api/thumbnail", params={"key": QUERY})
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.content[:2] == b"\xff\xd8"
    without = open_client(vectors_index).get("/api/thumbnail", params={"key": "item 3"})
    assert (without.status_code, without.content) == (204, b"")


def test_info_and_methods(client: TestClient, pictures_index: Path, vectors_index: Path, open_client) -> None:
    info = client.get("/api/info").json()
    assert (info["name"], info["items"], info["dim"], info["metric"]) == ("shapes", 48, 1024, "cosine")
    assert info["thumbnails"] is True
    assert info["writes"] is False
    assert info["limits"]["top"] == 200
    assert open_client(vectors_index).get("/api/info").json()["thumbnails"] is False
    free = open_client(pictures_index, free_parameters=True)
    cards = {card["name"]: card for card in free.get("/api/methods").json()}
    parameters = {p["name"]: p for p in cards["cas"]["parameters"]}
    assert cards["cas"]["needs_training"] is False
    assert "metric" not in parameters
    assert parameters["cluster_k"]["high"] == 200
    assert parameters["cluster_k"]["range"] == "a whole number from 1 to 200"
    assert parameters["solver"]["choices"][0] == "ten_steps"


def test_the_collection_has_what_the_tests_think(pictures_index: Path) -> None:
    with Index.open(pictures_index) as index:
        assert len(index) == 48
        nearest = np.argsort(-(index.vectors() @ index.vector(QUERY)))[1:4]
        assert {index.keys()[row].split("/")[0] for row in nearest} <= set(KINDS)
