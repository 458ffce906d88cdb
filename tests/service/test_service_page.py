"""The page in a real browser: search, why, map, errors, keyboard, a phone's screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect
from service_samples import drawn, png, running_service

from foldwalk.rerank.registry import DEFAULT

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def url(pictures_index: Path) -> Iterator[str]:
    with running_service(pictures_index, "--upload-mb", "0.2") as (said, _):
        yield said["url"]


@contextmanager
def watched_page(browser: Browser, **screen: Any) -> Iterator[Page]:
    """A page with a profile of its own; at the end it must not have complained of anything."""
    complaints: list[str] = []
    with browser.new_context(**screen) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        yield page
    assert complaints == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser, viewport={"width": 1280, "height": 800}) as page:
        yield page


def upload(page: Page, content: bytes, name: str = "mine.png") -> None:
    page.set_input_files("#file", {"name": name, "mimeType": "image/png", "buffer": content})


def wait_for_map(page: Page) -> None:
    """Until the map is drawn; `to_be_enabled` takes a disabled fieldset for an enabled one."""
    expect(page.locator("#map-switch:enabled")).to_be_visible(timeout=120_000)


def wait_for_answers(page: Page) -> None:
    """Until the page has dealt with what it was answered: a later answer was read and painted."""
    page.evaluate(
        """async () => {
            await (await fetch("/api/health")).json();
            for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
        }"""
    )


def wait_for_stillness(page: Page) -> str:
    """Until nothing is loading and the map stays as it is for three frames; the map as it is then."""
    page.wait_for_load_state("networkidle")
    painted: str = page.evaluate(
        """async () => {
            const canvas = document.getElementById("canvas");
            let before = "", same = 0;
            while (same < 3) {
                await new Promise(requestAnimationFrame);
                const now = canvas.toDataURL();
                same = now === before ? same + 1 : 0;
                before = now;
            }
            return before;
        }"""
    )
    return painted


def test_browse_then_search_from_a_tile(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#collection")).to_have_text("shapes · 48 pictures")
    expect(page.locator("#mosaic .tile")).to_have_count(40)
    page.fill("#find-text", "ring/")
    expect(page.locator("#mosaic .tile")).to_have_count(12)
    page.locator('#mosaic .tile[data-key="ring/05.png"]').click()
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    expect(page.locator("#plain-list .tile")).to_have_count(20)
    expect(page.locator("#speed")).to_contain_text("searched in")
    assert "key=ring%2F05.png" in page.url
    natural = "image => image.complete && image.naturalWidth > 0"
    expect(page.locator("#walk-list img").first).to_be_visible()
    page.wait_for_function(f"({natural})(document.querySelector('#walk-list img'))")
    page.go_back()
    expect(page.locator("#browse")).to_be_visible()


def test_what_moved_is_what_the_service_says(page: Page, url: str) -> None:
    with page.expect_response("**/api/search") as waiting:
        page.goto(f"{url}/?key=wedge/02.png")
    found = waiting.value.json()
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    for place, hit in enumerate(found["hits"]):
        steps = (hit["plain_rank"] or 10**6) - hit["rank"]
        new = hit["plain_rank"] is None or hit["plain_rank"] > 20
        text = "new" if new else "=" if steps == 0 else f"▲ {steps}" if steps > 0 else f"▼ {-steps}"
        assert page.locator("#walk-list .chip").nth(place).inner_text() == text
    keys = page.locator("#plain-list .tile").evaluate_all("tiles => tiles.map(tile => tile.dataset.key)")
    assert keys == found["plain"]


def test_upload_results_and_why(page: Page, url: str) -> None:
    page.goto(url)
    upload(page, png(drawn("disc", 4)))
    expect(page.locator("#walk-list .tile").first).to_have_attribute("data-key", "disc/04.png")
    expect(page.locator("#query-name")).to_have_text("mine.png")
    expect(page.locator("#speed")).to_contain_text("searched in")
    page.locator("#walk-list .tile").nth(5).click()
    strip = page.locator("#why")
    expect(strip.locator("h2")).to_have_text(re.compile(r"^Why .+\?$"))
    expect(strip.locator(".link").first).to_contain_text("query")
    chosen = page.locator("#walk-list .tile").nth(5)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    hops = strip.locator(".hop").all_inner_texts()
    assert hops
    assert all(0 < float(hop) <= 1 for hop in hops)
    key = chosen.get_attribute("data-key")
    strip.get_by_role("button", name="Search from this").click()
    expect(page.locator("#query-name")).to_have_attribute("title", str(key))
    expect(strip).to_be_hidden()


def test_a_picture_is_searched_with_before_the_methods_have_come(page: Page, url: str) -> None:
    held: list[Route] = []
    page.route("**/api/methods", lambda route: held.append(route))
    page.goto(url)
    upload(page, png(drawn("disc", 4)))
    expect(page.locator("#walk-list .tile").first).to_have_attribute("data-key", "disc/04.png")
    for route in held:
        route.continue_()
    expect(page.locator("#method")).to_have_value(DEFAULT)


def test_visitors_choose_among_presets(page: Page, url: str) -> None:
    page.goto(f"{url}/?key=bar/03.png&method=cas")
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    page.click("#more summary")
    expect(page.locator("[data-parameter]")).to_have_count(1)
    with page.expect_request("**/api/search") as waiting:
        page.select_option('[data-parameter="preset"]', "reid")
    assert waiting.value.post_data_json["parameters"] == {"preset": "reid"}
    expect(page.locator("#walk-note")).to_contain_text("cas:")
    page.select_option("#method", "aqe")
    expect(page.locator("[data-parameter]")).to_have_count(0)


def test_plain_hits_stand_in_until_the_method_is_fitted(page: Page, url: str) -> None:
    held: list[Route] = []

    def answer(asked: Route) -> None:
        if asked.request.post_data_json["wait"]:
            held.append(asked)
            return
        said = {"fitted": False, "method": "plain", "note": "cas is being fitted; these are plain."}
        asked.fulfill(json={**asked.fetch().json(), **said})

    page.route("**/api/search", answer)
    page.goto(f"{url}/?key=bar/03.png&method=cas")
    expect(page.locator("#walk-note")).to_have_text("Cas is being fitted; these are plain.")
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    expect(page.locator("#walk-note")).to_contain_text("cas: ")


def test_what_the_method_did_stands_above_the_rankings(page: Page, url: str) -> None:
    page.goto(f"{url}/?key=bar/03.png&method=auto")
    said = re.compile(r"^auto: .+, so .+ in the w50 view alone\.$")
    expect(page.locator("#choice-note")).to_have_text(said)
    page.select_option("#method", "cas")
    expect(page.locator("#walk-note")).to_contain_text("cas: ")
    expect(page.locator("#choice-note")).to_be_hidden()


def new_search(asked: Request) -> bool:
    """Not the one that follows it where the method has to be fitted first."""
    return asked.url.endswith("/api/search") and not asked.post_data_json["wait"]


def test_the_picker_is_built_from_the_cards(page: Page, pictures_index: Path) -> None:
    with running_service(pictures_index, "--free-parameters") as (said, _):
        choose_parameters(page, said["url"])
        page.goto("about:blank")  # asks no more


def choose_parameters(page: Page, url: str) -> None:
    page.goto(f"{url}/?key=bar/03.png")
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    page.select_option("#method", "manifold_ranking")
    expect(page.locator("#walk-note")).to_contain_text("manifold_ranking")
    page.click("#more summary")
    field = page.locator('[data-parameter="k"]')
    assert (field.input_value(), field.get_attribute("max")) == ("5", "200")
    with page.expect_request(new_search) as waiting:
        field.fill("3")
    assert waiting.value.post_data_json["parameters"] == {"k": 3}
    with page.expect_request(new_search) as waiting:
        page.select_option('[data-parameter="kernel"]', "cosine")
    assert waiting.value.post_data_json["parameters"] == {"k": 3, "kernel": "cosine"}
    with page.expect_request(new_search) as waiting:
        page.get_by_role("button", name="Back to the defaults").click()
    assert waiting.value.post_data_json["parameters"] == {}
    with page.expect_request(new_search) as waiting:
        page.select_option("#top", "10")
    expect(page.locator("#walk-list .tile")).to_have_count(10)


def test_an_explanation_closed_while_it_was_looked_for_stays_closed(page: Page, url: str) -> None:
    page.goto(f"{url}/?key=wedge/02.png&method=cas")
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    held: list[Route] = []
    page.route("**/api/explain", lambda asked: held.append(asked))
    page.locator("#walk-list .tile").nth(2).click()
    expect(page.locator("#why")).to_contain_text("Looking for the way")
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()
    with page.expect_response("**/api/explain"):
        held.pop().continue_()
    wait_for_answers(page)
    expect(page.locator("#why")).to_be_hidden()
    page.locator("#walk-list .tile").nth(3).click()
    expect(page.locator("#why")).to_contain_text("Looking for the way")
    page.locator("#walk-list .tile").nth(4).click()
    later = page.locator("#walk-list .tile").nth(4).get_attribute("data-key")
    for waiting in reversed(held):  # the answer that was asked for first comes last
        with page.expect_response("**/api/explain"):
            waiting.continue_()
        wait_for_answers(page)
    assert later
    expect(page.locator("#why h2")).to_have_attribute("title", later)
    expect(page.locator("#why .hop").first).to_be_visible()


def test_the_map_is_drawn_clicked_and_switched(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("tab", name="Map").click()
    expect(page.locator("#map-state")).to_contain_text("Drawing the map")
    wait_for_map(page)
    expect(page.locator("#map-state")).to_be_empty()
    painted = "document.getElementById('canvas').toDataURL()"
    after = wait_for_stillness(page)
    page.locator("#map-switch label", has_text="Before").click()
    page.wait_for_function(f"after => {painted} !== after", arg=after)
    wait_for_stillness(page)
    place = page.evaluate(
        """async () => {
            const answer = await (await fetch("/api/map")).json();
            return answer.before[answer.keys.indexOf("disc/06.png")];
        }"""
    )
    box = page.locator("#canvas").bounding_box()
    assert box
    scale = 0.45 * min(box["width"], box["height"])
    stretch = min(1.7, max(1, box["width"] / box["height"]))
    at = {"x": box["width"] / 2 + place[0] * scale * stretch, "y": box["height"] / 2 + place[1] * scale}
    page.locator("#canvas").hover(position=at)
    expect(page.locator("#map-tip")).to_be_visible()
    with page.expect_request("**/api/search") as waiting:
        page.locator("#canvas").click(position=at)
    assert waiting.value.post_data_json["key"].startswith("disc/")
    expect(page.locator("#map-legend")).to_contain_text("found along the graph")
    page.get_by_role("button", name="Show what was found").click()
    page.get_by_role("tab", name="Results").click()
    expect(page.locator("#walk-list .tile")).to_have_count(20)


def test_a_broken_file_is_explained(browser: Browser, url: str) -> None:
    page = browser.new_page()  # the browser itself notes the refusal in its console
    page.goto(url)
    expect(page.locator("#mosaic .tile")).to_have_count(40)
    upload(page, b"this is no picture", "letter.txt")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("This file cannot be searched with")
    expect(notice).to_contain_text("not a picture of a known format")
    expect(page.locator("#no-results")).to_be_visible()
    upload(page, b"x" * 300_000, "large.png")
    expect(notice).to_contain_text("large.png has 0.3 MB; the service takes at most 0.2 MB")
    upload(page, png(drawn("bar", 2)))
    expect(page.locator("#walk-list .tile").first).to_have_attribute("data-key", "bar/02.png")
    expect(notice).to_be_hidden()
    page.close()


def test_everything_can_be_done_by_keyboard(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#mosaic .tile")).to_have_count(40)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Browse")).to_be_focused()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.locator("#mosaic .tile").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#walk-list .tile")).to_have_count(20)
    page.locator("#walk-list .tile").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#why .chain .link").first).to_be_visible()
    expect(page.locator("#why")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()
    expect(page.locator("#walk-list .tile").nth(2)).to_be_focused()
    page.get_by_role("tab", name="Results").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Map")).to_be_focused()
    wait_for_map(page)
    page.locator("#canvas").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#map-spoken")).to_contain_text("In the middle:")
    middle = page.locator("#map-spoken").inner_text().removeprefix("In the middle: ")
    with page.expect_request("**/api/search") as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.post_data_json["key"].endswith(middle)


def test_the_theme_is_switched_and_remembered(page: Page, url: str) -> None:
    page.goto(url)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    dark = page.evaluate(paper)
    assert light != dark
    page.reload()
    assert page.evaluate(paper) == dark
    page.emulate_media(color_scheme="light")
    page.click("#theme")
    assert page.evaluate(paper) == light


def test_a_phone_shows_everything_without_scrolling_sideways(browser: Browser, url: str) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    sideways = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    with watched_page(browser, **phone) as page:
        page.goto(url)
        expect(page.locator("#mosaic .tile")).to_have_count(40)
        assert not page.evaluate(sideways)
        page.locator("#mosaic .tile").first.tap()
        expect(page.locator("#walk-list .tile")).to_have_count(20)
        assert not page.evaluate(sideways)
        page.locator("#walk-list .tile").nth(3).tap()
        expect(page.locator("#why .hop").first).to_be_visible()
        assert not page.evaluate(sideways)
        page.get_by_role("button", name="Close the explanation").tap()
        page.locator("#more summary").tap()
        page.get_by_role("tab", name="Map").tap()
        wait_for_map(page)
        assert not page.evaluate(sideways)
        page.goto(f"{url}/docs")
        expect(page.locator(".operation")).not_to_have_count(0)
        page.locator(".operation summary").first.tap()
        assert not page.evaluate(sideways)


def test_items_without_pictures_are_tiles_with_their_keys_as_plain_text(
    page: Page, vectors_index: Path
) -> None:
    with running_service(vectors_index) as (said, _):
        page.goto(said["url"])
        expect(page.locator("#collection")).to_have_text("vectors · 40 items")
        hostile = page.locator("#mosaic .tile", has_text="<img src=x onerror=alert(1)>")
        expect(hostile).to_have_count(1)
        hostile.click()
        expect(page.locator("#walk-list .tile")).to_have_count(20)
        expect(page.locator("#walk-list .face .name").first).to_contain_text("item ")
        page.locator("#walk-list .tile").first.click()
        expect(page.locator("#why .link")).not_to_have_count(0)
        assert page.locator("img[src=x]").count() == 0
