"""A small collection of drawn pictures, and the application in this process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, sync_playwright
from service_samples import EACH, KINDS, drawn, find_chromium

from foldwalk.index import Index
from foldwalk.service import ServiceSettings, create_app

Client = Callable[..., TestClient]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
QUIET = ("--disable-background-networking", "--disable-component-update")


@pytest.fixture(scope="session")
def pictures_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 pictures described by their pixels, each with its kind and number as metadata."""
    root = tmp_path_factory.mktemp("pictures")
    metadata = {}
    for kind in KINDS:
        (root / kind).mkdir()
        for number in range(EACH):
            name = f"{kind}/{number:02}.png"
            drawn(kind, number).save(root / name)
            metadata[name] = {"kind": kind, "number": number}
    path = tmp_path_factory.mktemp("indexes") / "shapes.fold"
    with Index.create(path, backbone="pixels") as index:
        index.add_images(root, metadata=metadata)
    return path


@pytest.fixture
def own_index(pictures_index: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(pictures_index, tmp_path / "own.fold"))


@pytest.fixture(scope="session")
def vectors_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 vectors of 6 numbers without pictures; one key is what an attacker would choose."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("indexes") / "vectors.fold"
    keys = [f"item {number}" for number in range(39)] + ["<img src=x onerror=alert(1)>"]
    with Index.create(path, backbone=None) as index:
        index.add_vectors(rng.normal(size=(40, 6)).astype(np.float32), keys)
    return path


@pytest.fixture
def open_client() -> Iterator[Client]:
    """``open_client(path, **settings)``: the application from beginning to end, once it is warm."""
    with ExitStack() as stack:

        def start(path: Path, warm: bool = True, **settings: Any) -> TestClient:
            app = create_app(path, ServiceSettings.make(**settings))
            client = stack.enter_context(TestClient(app, base_url="http://127.0.0.1"))
            while warm and not app.state.engine.warming.done:
                time.sleep(0.01)
            return client

        yield start


@pytest.fixture
def client(open_client: Client, pictures_index: Path) -> TestClient:
    return open_client(pictures_index)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, *QUIET])
        yield opened
        opened.close()
