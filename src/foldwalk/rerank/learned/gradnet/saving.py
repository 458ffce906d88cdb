"""A trained GRAD-Net in one .safetensors file: arrays and a line of JSON, nothing that runs when it is read.

Kept are the vectors and their learned features: an unseen query is a mixture of learned features (eq. 23), so
the weights of the layers are not needed any more. The array `features` can be read by any other program.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, MissingData, MissingExtra
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole

FORMAT = "foldwalk gradnet 1"


def write_net(path: str | os.PathLike[str], arrays: dict[str, AnyArray], facts: dict[str, Any]) -> Path:
    """Write the file whole or not at all."""
    target = Path(path)
    if target.suffix != ".safetensors":
        raise BadInput(f"{target}: a GRAD-Net is saved as .safetensors.")
    if not target.parent.is_dir():
        raise MissingData(f"{target.parent} is not a folder; create it first.")
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = _safetensors().numpy.save(contiguous, {"format": FORMAT, "facts": json.dumps(facts)})
    with written_whole(target) as file:
        file.write(content)
    return target


def read_net(path: str | os.PathLike[str]) -> tuple[Vectors, Float32Array, dict[str, Any]]:
    """The vectors, features and facts that `write_net` was given."""
    source = Path(path)
    if not source.is_file():
        raise MissingData(f"{source} does not exist.")
    package = _safetensors()
    try:
        with package.safe_open(source, framework="np") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise ValueError("it has another format")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        vectors, features = (Vectors.check(arrays[name], name) for name in ("vectors", "features"))
        if len(vectors) != len(features):
            raise ValueError("vectors and features do not belong together")
        return vectors, features.values, dict(json.loads(header["facts"]))
    except Exception as error:  # broken bytes lead the reader to errors of any kind
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise BadInput(f"{source} is not a GRAD-Net saved by foldwalk: {why}.") from None


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise MissingExtra("safetensors", "learn", "saving GRAD-Net") from None
    return safetensors
