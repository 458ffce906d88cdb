"""The process in which `apart` has pictures decoded: asked on stdin, answers on stdout, until stdin ends."""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO

from foldwalk.core.json_text import read_json_object
from foldwalk.core.memory import limit_memory
from foldwalk.descriptors.decode import formats, load_picture
from foldwalk.descriptors.limits import Limits, Unreadable

# Bytes for each pixel that is allowed: decoded, turned upright, as RGB, and on its way out.
BYTES_PER_PIXEL = 16
AT_LEAST = 256 * 2**20


def serve(limits: Limits, asked: BinaryIO, answers: BinaryIO) -> None:
    formats()  # loads the decoders
    limit_memory(AT_LEAST + limits.bytes + BYTES_PER_PIXEL * limits.pixels)
    answers.write(b"ready\n")
    answers.flush()
    while line := asked.readline():
        told = read_json_object(line, "the question")
        answer, pixels = _decoded(asked.read(told["bytes"]), limits, told["short_side"])
        answers.write(json.dumps(answer).encode() + b"\n" + pixels)
        answers.flush()


def _decoded(content: bytes, limits: Limits, short_side: int | None) -> tuple[dict[str, Any], bytes]:
    try:
        picture = load_picture(content, limits, short_side)
        return {"width": picture.width, "height": picture.height}, picture.tobytes()
    except Unreadable as error:
        return {"reason": str(error)}, b""
    except MemoryError:
        return {"reason": "it does not fit into memory."}, b""


if __name__ == "__main__":
    serve(Limits(**json.loads(sys.argv[1])), sys.stdin.buffer, sys.stdout.buffer)
