"""Checkpoints: what is needed to go on, and what it belongs to.

A checkpoint of another training, loss, model or data set would be gone on with as if nothing had changed:
whatever differs is named, and the file is refused. Nothing in it is unpickled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foldwalk.core.digests import digest_of
from foldwalk.core.errors import BadInput, MissingData, one_line
from foldwalk.core.types import AnyArray
from foldwalk.core.whole_files import written_whole

NAME = "checkpoint.pt"
FORMAT = 2
ROWS = 1000  # of an array that are looked at


def write_checkpoint(path: Path, told: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """`told` is what was asked for, by name; `state` what has come of it so far."""
    with written_whole(path) as file:
        torch.save({"format": FORMAT, "told": dict(told), **state}, file)


def read_checkpoint(path: Path, told: Mapping[str, Any], free: Collection[str] = ()) -> dict[str, Any]:
    """The state of a checkpoint that was asked for the same; what is `free` may have changed."""
    if not path.is_file():
        raise MissingData(f"{path} does not exist.")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        if state["format"] != FORMAT:
            raise ValueError("it is of another version")
        before = dict(state["told"])
    except Exception as error:  # broken bytes lead torch to errors of any kind
        raise no_checkpoint(path, error) from None
    for name, now in told.items():
        if name not in free and before.get(name, now) != now:
            raise BadInput(
                f"{path} belongs to another training: its {name} was {before[name]}, not {now}; "
                "remove it to begin anew, or choose another folder."
            )
    return state


def no_checkpoint(path: Path, error: Exception) -> BadInput:
    return BadInput(f"{path} is no checkpoint of this training: {one_line(error)}; remove it to begin anew.")


def fingerprint(values: AnyArray) -> str:
    """What tells an array from others: its shape, and what is in rows spread evenly over it."""
    some = np.ascontiguousarray(values[:: max(1, len(values) // ROWS)])
    shape = " x ".join(map(str, values.shape))
    return f"{shape} {values.dtype} {digest_of(some.tobytes())[:16]}"
