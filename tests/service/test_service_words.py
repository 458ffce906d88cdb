"""Searching by words, over HTTP and on the page, where the collection's backbone knows them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect
from service_samples import drawn, running_service
from test_service_page import watched_page

from foldwalk.index import Index, Text
from tiny_models import save, save_tokenizer

pytest.importorskip("transformers")
WORDS = "red bicycle"


@pytest.fixture(scope="module")
def words_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty pictures described by a tiny CLIP model with random weights."""
    top = tmp_path_factory.mktemp("words")
    save("clip", top / "model")
    save_tokenizer(top / "model")
    with Index.create(top / "words.fold", backbone=f"hf:{top / 'model'}") as index:
        for number in range(20):
            index.add_picture(drawn("ring" if number % 2 else "bar", number // 2), f"{number:02}.png")
    return top / "words.fold"


@pytest.fixture
def words_client(open_client, words_index: Path) -> TestClient:
    return open_client(words_index)


def test_words_over_http_are_those_of_the_index(words_client: TestClient, words_index: Path) -> None:
    answer = words_client.post("/api/search", json={"text": WORDS, "top": 7}).json()
    with Index.open(words_index) as index:
        expected = index.search(Text(WORDS), top=7)
    assert [hit["key"] for hit in answer["hits"]] == [hit.key for hit in expected.hits]
    assert (answer["method"], answer["wanted"]) == ("plain", "plain")
    walked = words_client.post("/api/search", json={"text": WORDS, "top": 7, "method": "aqe"}).json()
    assert walked["method"] == "aqe"
    why = words_client.post("/api/explain", json={"text": WORDS, "hit": answer["hits"][2]["key"]})
    assert why.json()["rank"] == 3


@pytest.mark.parametrize("body", [{"text": ""}, {"text": " "}, {"text": 3}, {"text": "x" * 1_001}])
def test_words_that_are_none(words_client: TestClient, body: dict) -> None:
    answer = words_client.post("/api/search", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")


def test_one_subject_at_a_time(words_client: TestClient) -> None:
    answer = words_client.post("/api/search", json={"text": WORDS, "key": "01.png"})
    assert answer.json() == {
        "error": "give one of picture, key, text, vector, positives; there are key and text."
    }


def test_the_service_says_whether_it_knows_words(words_client: TestClient) -> None:
    assert words_client.get("/api/words").json() == {"known": True, "note": ""}
    assert words_client.get("/api/info").json()["backbone"] == "hf:model"  # and not where it lies


def test_a_collection_that_does_not_know_words(client: TestClient) -> None:
    said = client.get("/api/words").json()
    assert not said["known"]
    assert said["note"].startswith("pixels does not know words; to search by text, index with a CLIP model")
    answer = client.post("/api/search", json={"text": WORDS})
    assert (answer.status_code, answer.json()["error"]) == (422, said["note"])


def test_a_collection_without_a_backbone(open_client, vectors_index: Path) -> None:
    client = open_client(vectors_index)
    assert "made of vectors without a backbone" in client.get("/api/words").json()["note"]
    assert client.post("/api/search", json={"text": WORDS}).status_code == 422


def test_a_model_that_is_gone_is_named_without_its_place(open_client, tmp_path: Path) -> None:
    save("clip", tmp_path / "gone")
    with Index.create(tmp_path / "x.fold", backbone=f"hf:{tmp_path / 'gone'}") as index:
        index.add_picture(drawn("bar", 1), "1.png")
    shutil.rmtree(tmp_path / "gone")
    client = open_client(tmp_path / "x.fold")
    note = client.get("/api/words").json()["note"]
    assert "gone is not a folder" in note
    assert str(tmp_path) not in note


# The page --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words_url(words_index: Path) -> Iterator[str]:
    with running_service(words_index) as (said, _):
        yield said["url"]


@pytest.fixture(scope="module")
def plain_url(pictures_index: Path) -> Iterator[str]:
    with running_service(pictures_index) as (said, _):
        yield said["url"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser, viewport={"width": 1280, "height": 800}) as page:
        yield page


def keys(page: Page, column: str) -> list[str]:
    return page.locator(f"#{column}-list .tile").evaluate_all("tiles => tiles.map((t) => t.dataset.key)")


def test_the_page_searches_by_words(page: Page, words_url: str, words_index: Path) -> None:
    page.goto(words_url)
    page.fill("#words-text", WORDS)
    page.press("#words-text", "Enter")
    expect(page.locator("#plain-list .tile")).to_have_count(20)
    expect(page.locator("#query-name")).to_have_text(f"“{WORDS}”")
    with Index.open(words_index) as index:
        assert keys(page, "plain") == [hit.key for hit in index.search(Text(WORDS), top=20).hits]
    assert "text=red+bicycle" in page.url
    page.locator("#walk-list .tile").nth(4).click()
    expect(page.locator("#why-title")).to_be_visible()
    page.reload()  # the address says what was asked
    expect(page.locator("#query-name")).to_have_text(f"“{WORDS}”")
    page.locator("#tab-browse").click()
    page.locator("#mosaic .tile").first.click()
    expect(page.locator("#query-name")).not_to_have_text(f"“{WORDS}”")
    expect(page.locator("#preview img")).to_be_visible()


def test_the_page_says_that_words_are_not_known(page: Page, plain_url: str) -> None:
    page.goto(plain_url)
    expect(page.locator("#words-note")).to_contain_text("pixels does not know words")
    expect(page.locator("#words")).to_be_hidden()
    page.wait_for_load_state("networkidle")
