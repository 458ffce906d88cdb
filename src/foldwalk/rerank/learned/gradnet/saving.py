"""A trained GRAD-Net in one .safetensors file: arrays and a line of JSON, nothing that runs when it is read.

Kept are the vectors, their learned features and what `trained.py` lists: the weights of the layers and what a
vector that comes later needs to go forward through them. Any program can read the array `features`.
The first format had vectors and features alone; such a file still ranks unseen queries by eq. 23.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingData, MissingExtra, one_line
from foldwalk.core.json_text import read_json_object
from foldwalk.core.memory import need_memory
from foldwalk.core.types import AnyArray
from foldwalk.core.whole_files import written_whole

FORMAT, BEFORE = "foldwalk gradnet 2", "foldwalk gradnet 1"


def write_net(path: str | os.PathLike[str], arrays: dict[str, AnyArray], facts: dict[str, Any]) -> Path:
    """Write the file whole or not at all."""
    return write_arrays(path, arrays, facts, FORMAT)


def read_net(path: str | os.PathLike[str]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """The arrays and the facts that `write_net` was given."""
    return read_arrays(path, (FORMAT, BEFORE), "a GRAD-Net")


def write_arrays(
    path: str | os.PathLike[str], arrays: dict[str, AnyArray], facts: dict[str, Any], form: str
) -> Path:
    target = Path(path)
    if target.suffix != ".safetensors":
        raise BadInput(f"{target}: a GRAD-Net is saved as .safetensors.")
    if not target.parent.is_dir():
        raise MissingData(f"{target.parent} is not a folder; create it first.")
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = _safetensors().numpy.save(contiguous, {"format": form, "facts": json.dumps(facts)})
    with written_whole(target) as file:
        file.write(content)
    return target


def read_arrays(
    path: str | os.PathLike[str], forms: tuple[str, ...], what: str
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    source = Path(path)
    if not source.is_file():
        raise MissingData(f"{source} does not exist.")
    package = _safetensors()
    try:
        need_memory(source.stat().st_size, str(source))
        with package.safe_open(source, framework="np") as file:
            header = file.metadata() or {}
            if header.get("format") not in forms:
                raise ValueError("it has another format")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, read_json_object(header["facts"], "its facts")
    except Exception as error:  # broken bytes lead the reader to errors of any kind
        raise BadInput(f"{source} is not {what} saved by foldwalk: {one_line(error)}.") from None


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise MissingExtra("safetensors", "learn", "saving GRAD-Net") from None
    return safetensors
