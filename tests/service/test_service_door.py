"""The page of a service that asks for a token to read, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect
from service_samples import drawn, png, running_service

READ = "a-token-to-read-with"
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def url(pictures_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    own = shutil.copytree(pictures_index, tmp_path_factory.mktemp("private") / "shapes.fold")
    with running_service(own, "--read-token", READ) as (said, _):
        assert said["reads"] == "token"
        yield said["url"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """At the end it must have complained of nothing but refusals."""
    complaints: list[str] = []
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        yield page
    assert [text for text in complaints if "401" not in text] == []


def give(page: Page, token: str) -> None:
    page.fill("#door-token", token)
    page.locator(".door").get_by_role("button", name="Open").click()


def is_painted(page: Page, picture: str) -> None:
    page.wait_for_function(
        "picture => { const found = document.querySelector(picture); return found?.naturalWidth > 0 }",
        arg=picture,
    )


def test_the_token_is_asked_for_once_and_pictures_are_shown(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".door")).to_contain_text("those who have its token")
    give(page, "not-the-right-token")
    expect(page.locator(".door")).to_contain_text("That is not the right token")
    expect(page.locator(".door")).to_have_count(1)
    give(page, READ)
    expect(page.locator("#collection")).to_have_text("shapes · 48 pictures")
    expect(page.locator(".door")).to_have_count(0)
    is_painted(page, "#mosaic img")
    page.locator("#mosaic .tile").first.click()
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    is_painted(page, "#walk-list img")
    is_painted(page, "#preview img")
    page.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": png(drawn("disc", 4))})
    expect(page.locator("#walk-list .tile").first).to_have_attribute("data-key", "disc/04.png")
    page.reload()  # the tab still has it
    expect(page.locator("#collection")).to_have_text("shapes · 48 pictures")
    page.goto(f"{url}/docs")
    expect(page.locator(".operation").first).to_be_visible()
    kept = page.evaluate("[sessionStorage.getItem('foldwalk-token'), {...localStorage}, document.cookie]")
    assert kept[0] == READ
    assert READ not in str(kept[1:])  # gone with the tab


def test_another_tab_and_one_that_gives_none_see_nothing(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#door-token")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#notice")).to_contain_text("Nothing is shown without the token")
    assert page.locator("#mosaic img").count() == 0


def test_the_map_has_its_pictures(page: Page, url: str) -> None:
    page.goto(url)
    give(page, READ)
    expect(page.locator("#collection")).to_have_text("shapes · 48 pictures")
    with page.expect_response("**/api/map/pictures*", timeout=120_000) as waiting:
        page.locator("#tab-map").click()
    assert waiting.value.status == 200
    expect(page.locator("#map-switch:enabled")).to_be_visible(timeout=120_000)


FOREIGN = """async url => {
    const form = new FormData();
    form.append("picture", new Blob(["x"]), "a.png");
    await fetch(`${url}/api/search`, { method: "POST", mode: "no-cors", body: form }).catch(() => {});
    await new Promise(done => {
        const image = new Image();
        image.onload = image.onerror = done;
        image.src = `${url}/api/map`;
    });
}"""


class Elsewhere(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_foreign_page_starts_nothing(browser: Browser, url: str) -> None:
    with HTTPServer(("127.0.0.1", 0), Elsewhere) as elsewhere, browser.new_context() as context:
        Thread(target=elsewhere.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://localhost:{elsewhere.server_port}/")
        page.evaluate(FOREIGN, url)
        elsewhere.shutdown()
    asked = Request(f"{url}/metrics", headers={"Authorization": f"Bearer {READ}"})
    with urlopen(asked) as answer:
        figures = answer.read().decode()
    for method in ("POST", "GET"):  # refused before anything was done for it
        assert f'foldwalk_requests_total{{method="{method}",route="other",status="403"}} 1.0' in figures
