"""Drawn pictures, and the service in a process of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from PIL import Image, ImageDraw

KINDS = ("bar", "disc", "ring", "wedge")
EACH = 12
TOKEN = "a-token-for-the-tests"


def drawn(kind: str, number: int) -> Image.Image:
    """One of four shapes; the number moves and turns it a little, so that neighbours form a chain."""
    picture = Image.new("RGB", (96, 72), (20 + 4 * number, 30, 60))
    draw = ImageDraw.Draw(picture)
    x, colour = 10 + 3 * number, (230, 200 - 8 * number, 60)
    if kind == "bar":
        draw.rectangle((x, 4, x + 8, 68), fill=colour)
    elif kind == "disc":
        draw.ellipse((x, 20, x + 34, 54), fill=colour)
    elif kind == "ring":
        draw.ellipse((x, 6, x + 44, 66), outline=colour, width=5)
    else:
        draw.polygon(((x, 66), (x + 40, 66), (x + 20, 10)), fill=colour)
    return picture


def png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def find_chromium() -> str:
    """Where the browser is. Without one the test is skipped; where CI=true, which installs one, it fails."""
    if os.environ.get("FOLDWALK_NO_BROWSER") == "1":
        pytest.skip("FOLDWALK_NO_BROWSER=1 leaves the tests of the page out")
    found = os.environ.get("FOLDWALK_CHROMIUM") or shutil.which("chromium")
    if found is None:
        missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        missing("there is no browser: install chromium, or name one in FOLDWALK_CHROMIUM")
    return found


@contextmanager
def running_service(
    path: Path, *options: str, log: IO[str] | None = None
) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """``foldwalk serve`` at a free port, ready for requests; stopped at the end."""
    command = [sys.executable, "-m", "foldwalk", "serve", str(path), "--port", "0", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            assert process.stdout is not None
            announced = ""
            while not announced.endswith("}\n"):
                line = process.stdout.readline()
                assert line, "the service ended before it was ready"
                announced += line
            said = json.loads(announced)
            while _status(said["url"]) != "ok":
                time.sleep(0.1)
            yield said, process
        finally:
            process.terminate()
            process.wait(timeout=30)


def _status(url: str) -> str:
    with urllib.request.urlopen(f"{url}/api/health") as answer:
        return str(json.load(answer)["status"])
