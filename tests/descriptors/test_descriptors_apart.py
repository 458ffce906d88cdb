"""Pictures decoded in a process of its own: the same pictures, whatever happens to the process."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from PIL import Image

from foldwalk.descriptors import Limits, Unreadable, load_picture
from foldwalk.descriptors.apart import Decoder, close_all, load_apart, waiting

LIMITS = Limits(pixels=9_000_000, bytes=30_000_000)


@pytest.fixture(autouse=True, scope="module")
def _all_are_closed():
    yield
    close_all()


def encoded(kind: str, width: int = 300, height: int = 200) -> bytes:
    rng, out = np.random.default_rng(0), io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_picture_is_the_same_as_here(kind):
    content = encoded(kind)
    here, there = load_picture(content, LIMITS, 64), load_apart(content, LIMITS, 64)
    assert (there.mode, there.size, there.tobytes()) == (here.mode, here.size, here.tobytes())


def test_one_process_serves_picture_after_picture():
    load_apart(encoded("PNG"), LIMITS)
    (decoder,) = waiting[LIMITS]
    with pytest.raises(Unreadable, match=r"^it is not a picture of a known format\.$"):
        load_apart(b"Dear reader", LIMITS)
    with pytest.raises(Unreadable, match=r"^it is empty\.$"):
        load_apart(b"", LIMITS)
    load_apart(encoded("JPEG"), LIMITS)
    assert waiting[LIMITS] == [decoder]


def test_a_process_that_died_is_replaced():
    load_apart(encoded("PNG"), LIMITS)
    (decoder,) = waiting[LIMITS]
    decoder.process.kill()
    decoder.process.wait()
    assert load_apart(encoded("PNG"), LIMITS).size == (300, 200)
    assert waiting[LIMITS] != [decoder]


def test_one_that_dies_over_a_picture_says_so():
    decoder = Decoder(LIMITS)
    decoder.process.kill()
    with pytest.raises(Unreadable, match=r"^it cannot be decoded: its decoder broke down\.$"):
        decoder.load(encoded("PNG"), None, 20)
    assert decoder.process.returncode is not None


def test_what_takes_too_long_is_ended():
    with pytest.raises(Unreadable, match=r"^it cannot be decoded: it would take more than 0.001 s\.$"):
        load_apart(encoded("PNG", 3000, 2000), LIMITS, seconds=0.001)
    assert load_apart(encoded("PNG", 3000, 2000), LIMITS).size == (3000, 2000)


def test_the_process_has_little_memory():
    resource = pytest.importorskip("resource")
    load_apart(encoded("PNG"), LIMITS)
    (decoder,) = waiting[LIMITS]
    most, _ = resource.prlimit(decoder.process.pid, resource.RLIMIT_AS)
    assert 0 < most < 4 * 2**30


def test_threads_do_not_get_in_each_others_way():
    contents = [encoded("PNG", 100 + i, 50) for i in range(6)]
    found: dict[int, Image.Image] = {}

    def load(number: int) -> None:
        found[number] = load_apart(contents[number], LIMITS)

    threads = [threading.Thread(target=load, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number].size for number in range(6)] == [(100 + i, 50) for i in range(6)]
