"""The map: two drawings of the same items, made in the background and kept with the index."""

from __future__ import annotations

import asyncio
import io
import os
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from service_samples import TOKEN

from foldwalk import stores
from foldwalk.rerank.registry import DEFAULT
from foldwalk.service.map_job import MapJob
from foldwalk.service.map_layout import lay_out, sample_rows
from foldwalk.service.map_sheet import SIDE, contact_sheet
from samples import clustered


def purity(points: np.ndarray, labels: np.ndarray, k: int = 5) -> float:
    """How many of the k nearest in the plane have the same label."""
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :k]
    return float((labels[nearest] == labels[:, None]).mean())


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_both_drawings_keep_clusters_together(metric: str) -> None:
    vectors, labels = clustered(150, d=16, clusters=5, seed=1)
    drawings = lay_out(vectors, "cas", metric)
    for points in drawings:
        assert points.shape == (150, 2)
        assert np.abs(points).max() == pytest.approx(1)
        assert purity(points, labels) > 0.9
    assert not np.allclose(*drawings)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 8])
def test_few_items_are_drawn_too(n: int) -> None:
    vectors = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    before, after = lay_out(vectors, "cas", "cosine")
    assert before.shape == after.shape == (n, 2)
    assert np.isfinite(before).all()
    assert np.isfinite(after).all()


def test_items_that_are_all_alike_can_be_drawn() -> None:
    before, after = lay_out(np.ones((12, 4), np.float32), "cas", "cosine")
    assert np.isfinite(before).all()
    assert np.isfinite(after).all()


def test_large_collections_are_sampled_evenly() -> None:
    assert sample_rows(7, 10).tolist() == list(range(7))
    rows = sample_rows(1_000_000, 3_000)
    assert (len(rows), rows[0], rows[-1]) == (3_000, 0, 999_999)
    assert set(np.diff(rows)) <= {333, 334}


def test_the_sheet_has_each_picture_at_its_place() -> None:
    def jpeg(colour: str) -> bytes:
        buffer = io.BytesIO()
        Image.new("RGB", (90, 60), colour).save(buffer, "JPEG")
        return buffer.getvalue()

    sheet = Image.open(
        io.BytesIO(contact_sheet([jpeg("red"), jpeg("lime"), None, jpeg("blue"), jpeg("white")]))
    )
    assert sheet.size == (3 * SIDE, 2 * SIDE)
    middle = SIDE // 2
    expected = {(0, 0): (255, 0, 0), (1, 0): (0, 255, 0), (0, 1): (0, 0, 255), (1, 1): (255, 255, 255)}
    for (column, row), colour in expected.items():
        found = sheet.getpixel((column * SIDE + middle, row * SIDE + middle))
        assert np.abs(np.subtract(found, colour)).max() < 12
    assert contact_sheet([None, None]) == b""


def test_what_is_no_thumbnail_of_ours_stays_grey() -> None:
    """PostScript, above all, which Pillow would hand to a program."""
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    sheet = Image.open(io.BytesIO(contact_sheet([postscript, b"", b"\xff\xd8"])))
    assert sheet.getpixel((5, 5)) == (128, 128, 128)


def wait_for_map(client) -> dict:
    for _ in range(600):
        answer = client.get("/api/map")
        if answer.json()["state"] != "drawing":
            assert answer.status_code == 200
            return answer.json()
        assert answer.status_code == 202
        assert answer.headers["retry-after"] == "2"
        time.sleep(0.1)
    raise AssertionError("the map took more than a minute")


def test_the_map_is_drawn_once_and_again_after_a_change(open_client, own_index: Path) -> None:
    client = open_client(own_index, token=TOKEN)
    assert client.get("/api/map/pictures").status_code == 204
    first = wait_for_map(client)
    assert (first["state"], first["method"], first["total"]) == ("ready", DEFAULT, 48)
    assert len(first["keys"]) == len(first["before"]) == len(first["after"]) == 48
    assert first["keys"] == client.get("/api/items", params={"limit": 100}).json()["keys"]
    assert first["sheet"] == {"columns": 7, "side": SIDE}
    pictures = client.get("/api/map/pictures")
    assert Image.open(io.BytesIO(pictures.content)).size == (7 * SIDE, 7 * SIDE)
    again = open_client(own_index).get("/api/map")
    assert (again.status_code, again.json()["after"]) == (200, first["after"])  # from the file
    other = wait_for_map(open_client(own_index, method="aqe"))
    assert (other["state"], other["method"]) == ("ready", "aqe")  # drawn anew for another method
    wait_for_map(client)
    client.delete("/api/items", params={"key": "bar/00.png"}, headers={"Authorization": f"Bearer {TOKEN}"})
    older = client.get("/api/map").json()
    assert (older["state"], len(older["keys"])) == ("drawing", 48)  # shown until the new one is there
    assert len(wait_for_map(client)["keys"]) == 47


def test_a_drawing_that_fails_is_said_and_not_tried_for_ever(tmp_path: Path) -> None:
    async def ask() -> None:
        job = MapJob(stores.create(tmp_path / "empty.fold"), "cas", 100)
        job._command = ("-c", "raise SystemExit('out of ink')")
        while (answer := await job.newest(3)).state == "drawing":
            await asyncio.sleep(0.1)
        assert answer.state == "failed"
        assert answer.error == "the map could not be drawn (out of ink)."
        assert (await job.newest(3)).state == "failed"
        await job.close()

    asyncio.run(ask())


def test_closing_ends_the_drawing(own_index: Path, tmp_path: Path) -> None:
    began = tmp_path / "began"
    wait = f"import os, pathlib, signal; pathlib.Path({str(began)!r}).write_text(str(os.getpid()))"

    async def ask() -> None:
        job = MapJob(stores.open(own_index), "cas", 100)
        job._command = ("-c", f"{wait}; signal.pause()")
        assert (await job.newest(1)).state == "drawing"
        while not began.exists() or not began.read_text():
            await asyncio.sleep(0.02)
        await job.close()
        assert job._drawing is not None
        assert job._drawing.cancelled()
        with pytest.raises(ProcessLookupError):
            os.kill(int(began.read_text()), 0)
        assert not list((own_index / "derived").glob("map*"))

    asyncio.run(ask())


def test_the_address_of_a_store_is_no_argument_of_a_process(own_index: Path) -> None:
    job = MapJob(stores.open(own_index), "cas", 100)
    assert not any("own.fold" in argument for argument in job._command)


def test_a_damaged_file_is_drawn_anew(open_client, own_index: Path) -> None:
    (own_index / "derived").mkdir(exist_ok=True)
    (own_index / "derived" / "map-1.npz").write_bytes(b"PK rubbish")
    client = open_client(own_index)
    assert client.get("/api/map").json()["state"] == "drawing"
