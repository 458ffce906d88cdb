"""Pictures of strangers, decoded in a process of its own that has little memory and little time.

Decoders are large and old, and what they are led to by crafted bytes should not end a service. The process is
started by the first picture, stays for the next ones, and is replaced when it dies. Sent are a line of JSON
and bytes, each way; nothing is unpickled. The process that decodes is `decoder.py`.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

from foldwalk.core.json_text import read_json_object
from foldwalk.descriptors.limits import Limits, Unreadable

SECONDS = 20.0
SECONDS_TO_START = 120.0
LONGEST_LINE = 10_000
Answer = TypeVar("Answer")


def load_apart(
    content: bytes, limits: Limits, short_side: int | None = None, seconds: float = SECONDS
) -> Image.Image:
    """`load_picture` of bytes, elsewhere; what takes longer, or more memory, is `Unreadable`."""
    limits.check_bytes(len(content))
    decoder = _waiting(limits) or Decoder(limits)
    found = decoder.load(content, short_side, seconds)
    waiting[limits].append(decoder)  # one that broke down has raised
    if isinstance(found, str):
        raise Unreadable(found)
    return found


class Decoder:
    """One process, asked by one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        folder = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "foldwalk.descriptors.decoder", json.dumps(asdict(limits))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        except OSError as error:
            raise Unreadable(f"no process can be started to decode it: {error.strerror}.") from None
        # Without a picture it has only itself to load, which may take long on a busy machine.
        if self._within(SECONDS_TO_START, self._pipes[1].readline, LONGEST_LINE) != b"ready\n":
            self.close()
            raise Unreadable("no process can be started to decode it.")

    def load(self, content: bytes, short_side: int | None, seconds: float) -> Image.Image | str:
        """The picture, or the reason why there is none."""
        began = time.monotonic()
        try:
            return self._within(seconds, self._ask, content, short_side)
        except (OSError, EOFError, ValueError, KeyError, TypeError):  # it died, or answers nonsense
            self.close()
            late = time.monotonic() - began >= seconds
            reason = f"it would take more than {seconds:g} s" if late else "its decoder broke down"
            raise Unreadable(f"it cannot be decoded: {reason}.") from None

    def _within(self, seconds: float, call: Callable[..., Answer], *arguments: Any) -> Answer:
        """What is called, which the end of the process ends when the time is up."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            return call(*arguments)
        finally:
            timer.cancel()

    def _ask(self, content: bytes, short_side: int | None) -> Image.Image | str:
        to, back = self._pipes
        to.write(json.dumps({"bytes": len(content), "short_side": short_side}).encode() + b"\n" + content)
        to.flush()
        line = back.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise EOFError
        told = read_json_object(line, "the answer of the decoder")
        if "reason" in told:
            return str(told["reason"])
        width, height = int(told["width"]), int(told["height"])
        self.limits.check_size(width, height)
        pixels = back.read(3 * width * height)
        if len(pixels) != 3 * width * height:
            raise EOFError
        return Image.frombytes("RGB", (width, height), pixels)

    @property
    def _pipes(self) -> tuple[Any, Any]:
        return self.process.stdin, self.process.stdout

    def close(self) -> None:
        self.process.kill()
        for pipe in self._pipes:
            with suppress(OSError):  # what was still to be sent
                pipe.close()
        self.process.wait()


waiting: defaultdict[Limits, list[Decoder]] = defaultdict(list)


def _waiting(limits: Limits) -> Decoder | None:
    """One that waits for a picture, if any has not died meanwhile."""
    with suppress(IndexError):  # another thread may take the last one
        while True:
            decoder = waiting[limits].pop()
            if decoder.process.poll() is None:
                return decoder
            decoder.close()
    return None


@atexit.register
def close_all() -> None:
    """End the processes that wait for a picture."""
    for decoders in waiting.values():
        while decoders:
            decoders.pop().close()
