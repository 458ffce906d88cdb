"""Make the pictures of the page in docs/images/: `python docs/screenshots.py`.

Indexes the Grocery Store photographs (`FOLDWALK_DATA`/images/grocery) in a temporary folder, serves them and
drives Chromium (`FOLDWALK_CHROMIUM`, else the one on the path). Needs the extras serve, images and dev.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from foldwalk.core import MissingData
from foldwalk.core.progress import for_terminal, reporting
from foldwalk.index import Index

IMAGES = Path(__file__).resolve().parent / "images"
QUERY = "Fruit/Lemon/Lemon_005.jpg"
DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
MOST_BYTES = 400_000


def search(page: Page, url: str) -> None:
    page.goto(f"{url}/?key={QUERY}")
    page.wait_for_selector("#walk-list .tile img")


def why(page: Page, url: str) -> None:
    search(page, url)
    page.locator("#walk-list .tile:has(.chip.new)").first.click()
    page.wait_for_selector("#why .hop")


def collection_map(page: Page, url: str) -> None:
    search(page, url)
    page.click("#tab-map")
    page.wait_for_selector("#map-switch:enabled", timeout=300_000)


def dark(page: Page, url: str) -> None:
    page.emulate_media(color_scheme="dark")
    search(page, url)
    page.click("#more summary")


def error(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#mosaic img")
    page.set_input_files("#file", {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Dear all,"})
    page.wait_for_selector("#notice:not([hidden])")


Scene = Callable[[Page, str], None]
SCENES: dict[str, tuple[Scene, dict[str, Any]]] = {
    "page-search": (search, DESK),
    "page-why": (why, DESK),
    "page-map": (collection_map, DESK),
    "page-dark": (dark, DESK),
    "page-phone": (why, PHONE),
    "page-error": (error, DESK),
}


def shoot(browser: Browser, url: str, name: str) -> None:
    scene, screen = SCENES[name]
    with browser.new_context(**screen) as context:
        page = context.new_page()
        scene(page, url)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(700)
        picture = Image.open(io.BytesIO(page.screenshot()))
    # 256 colours of its own are hard to tell from all of them and need a third of the room.
    small = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT)
    target = IMAGES / f"{name}.png"
    small.save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{target} has {target.stat().st_size} bytes, more than {MOST_BYTES}")
    print(f"written: {target}")


@contextmanager
def serving(path: Path) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "foldwalk",
        "serve",
        str(path),
        "--port",
        "0",
        "--json",
        "--free-parameters",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = itertools.takewhile(lambda line: line != "}\n", iter(process.stdout.readline, ""))
        url = json.loads("".join(lines) + "}")["url"]
        try:
            while b'"ok"' not in urllib.request.urlopen(f"{url}/api/health").read():
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def build(path: Path) -> None:
    pictures = Path(os.environ.get("FOLDWALK_DATA", "data")) / "images" / "grocery" / "test"
    if not pictures.is_dir():
        raise MissingData(f"{pictures} is not there; set FOLDWALK_DATA to the folder of images/grocery.")
    with reporting(for_terminal()), Index.create(path) as index:
        index.add_images(pictures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, help="serve this index of the photographs instead of a new one")
    parser.add_argument("--only", choices=list(SCENES), nargs="*", default=list(SCENES))
    options = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = options.index or Path(folder) / "grocery.fold"
        if options.index is None:
            build(path)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("FOLDWALK_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
        )
        with serving(path) as url:
            for name in options.only:
                shoot(browser, url, name)
        browser.close()


if __name__ == "__main__":
    main()
