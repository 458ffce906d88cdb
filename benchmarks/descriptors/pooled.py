"""Every picture described once in each form; its map is pooled in every way, and the vectors are kept.

Sets are cut to 2,000 pictures by whole classes, the same as in `benchmarks.rerank.automatic`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.rerank.automatic import cut
from foldwalk import datasets
from foldwalk.descriptors import backbone, load_picture
from foldwalk.descriptors.backbones.spatial import POOLINGS

SETS = ("orl", "coil20", "mpeg7", "grocery", "cub_first100", "cub_last100", "omniglot")
FORMS: dict[str, dict[str, Any]] = {
    "160": {"size": 160},
    "224": {"size": 224},
    "256": {"size": 256},
    "320": {"size": 320},
    "224c": {"size": 224, "fit": "crop"},
}
AT_ONCE = 16
ROUNDS = 5


def labels_of(name: str, root: str | None) -> np.ndarray:
    return cut(np.asarray(datasets.load(name, root=root).labels))[1]


def vectors_of(name: str, form: str, root: str | None, folder: Path) -> dict[str, np.ndarray]:
    """The pictures of a set by the name of the pooling, float16, (n, 1280) each."""
    kept = folder / f"{name}-{form}.npz"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **described(name, form, root))
        print("described", kept.name, flush=True)
    with np.load(kept, allow_pickle=False) as found:
        return dict(found)


def described(name: str, form: str, root: str | None) -> dict[str, np.ndarray]:
    data = datasets.load(name, root=root)
    rows, _ = cut(np.asarray(data.labels))
    model = backbone("effnet_lite0", threads=1, **FORMS[form])
    parts: dict[str, list[np.ndarray]] = {pooling: [] for pooling in POOLINGS}
    for first in range(0, len(rows), AT_ONCE):
        maps = model.maps([picture_of(data, row) for row in rows[first : first + AT_ONCE]])
        for pooling, pool in POOLINGS.items():
            parts[pooling].append(pool(maps).astype(np.float16))
    return {pooling: np.concatenate(found) for pooling, found in parts.items()}


def picture_of(data: datasets.Dataset, row: int) -> Image.Image:
    """As `foldwalk index` decodes it; Omniglot's are arrays."""
    if data.gallery_paths is not None:
        return load_picture(data.gallery_paths[row])
    picture = data.picture(row)
    assert picture is not None
    return picture


def milliseconds(root: str | None) -> dict[str, Any]:
    """CPU time of each step per photograph of Grocery Store, on one thread: the least of the rounds."""
    data = datasets.load("grocery", root=root)
    rows = cut(np.asarray(data.labels))[0][::40]
    models = {form: backbone("effnet_lite0", threads=1, **options) for form, options in FORMS.items()}
    spent: dict[str, float] = {}

    def timed(step: str, work: Callable[..., Any], given: Any) -> Any:
        began = time.process_time()
        found = work(given)
        each = 1_000 * (time.process_time() - began) / len(rows)
        spent[step] = round(min(each, spent.get(step, each)), 3)
        return found

    for _ in range(ROUNDS):
        pictures = timed("decode", lambda rows: [picture_of(data, row) for row in rows], rows)
        for form, model in models.items():
            maps = timed(form, model.maps, pictures)
            for pooling, pool in POOLINGS.items():
                timed(f"{form} {pooling}", pool, maps)
    return spent
