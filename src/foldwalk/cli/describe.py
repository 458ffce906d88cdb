"""``foldwalk describe``: pictures, vectors or an index to vectors in a file; by a trained model, if named."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foldwalk.cli.output import AsJson, Force, print_json, say
from foldwalk.cli.sources import check_source, is_index, is_vectors, tell_skipped

if TYPE_CHECKING:
    from foldwalk.cli.models import VectorModel
    from foldwalk.core.types import AnyArray, Float32Array
    from foldwalk.core.vector_files import VectorFile
    from foldwalk.descriptors import Skipped

AT_A_TIME = 1_024  # vectors that go through a model


def describe(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="A folder of pictures, pictures, vectors (.npy, .npz, .parquet), or an index.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where it goes: .npz, .parquet, .npy, or .faiss for FAISS.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="What was trained on vectors: model.safetensors, its folder, or an index; or head.onnx."
        ),
    ] = None,
    backbone: Annotated[
        str | None, typer.Option(help="What describes pictures: effnet_lite0, pixels, a .onnx file, ...")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn pictures into vectors, and with --model into learned features, in a file for other programs.

    Keys, metadata and labels go along. A .npy or .faiss file holds vectors only: the keys go beside it, into
    F.keys.json. In a .faiss file vectors have length one, so that inner products are cosines.
    """
    from foldwalk.cli.models import open_model
    from foldwalk.core.progress import for_terminal, reporting

    targets = _check_out(out, sources, force)
    began = time.perf_counter()
    with reporting(for_terminal()):
        learned = None if model is None else open_model(model)
        try:
            described, metric, skipped = _describe(sources, learned, backbone)
        finally:
            if learned is not None and learned.index is not None:
                learned.index.close()
    written = _write(targets, described, metric)
    seconds = time.perf_counter() - began
    tell_skipped(skipped)
    n, dim = described.vectors.shape
    if as_json:
        left_out = [{"path": str(bad.path), "reason": bad.reason} for bad in skipped]
        facts = {"items": n, "dimensions": dim, "skipped": left_out, "seconds": round(seconds, 2)}
        print_json({"source": sources, "model": model, "out": [str(path) for path in written], **facts})
        return
    more = f", {len(skipped)} left out" if skipped else ""
    beside = "".join(f" and {path}" for path in written[1:])
    say(f"{out}{beside}: {n} items of {dim} dimensions{more}, {seconds:.1f} s")


def _describe(
    sources: list[str], model: VectorModel | None, backbone: str | None
) -> tuple[VectorFile, str, list[Skipped]]:
    """Vectors with what stands beside them, the metric they are for, and the files that could not be read."""
    from foldwalk.core import BadInput
    from foldwalk.core.vector_files import read_vector_file

    first = sources[0]
    skipped: list[Skipped] = []
    if len(sources) > 1 and any(is_index(one) or is_vectors(Path(one)) for one in sources):
        raise BadInput("several sources must all be pictures; describe vectors or an index alone.")
    if backbone is not None and (is_index(first) or is_vectors(Path(first))):
        raise BadInput(f"--backbone describes pictures, but {first} holds vectors; leave it out.")
    if is_index(first):
        return *_of_index(first, model), []
    if is_vectors(Path(first)):
        given = read_vector_file(Path(first), ("keys", "metadata", "labels"))
        given = replace(given, vectors=given.checked().values)
    else:
        given, skipped = _pictures([Path(one) for one in sources], model, backbone)
    if model is not None:
        given = replace(given, vectors=_through(model, given.vectors, first))
    return given, "cosine", skipped


def _of_index(place: str, model: VectorModel | None) -> tuple[VectorFile, str]:
    """The items of an index, with the features they have learned where the model is its own."""
    from foldwalk.index import Index

    with Index.open(place) as index:
        given = index.contents()
        if model is None:
            return given, index.metric
        own = model.index is not None and model.index.store.place == index.store.place
        features = index.features() if own else _through(model, given.vectors, place)
        return replace(given, vectors=features), "cosine"


def _pictures(
    sources: list[Path], model: VectorModel | None, backbone: str | None
) -> tuple[VectorFile, list[Skipped]]:
    """Described by the backbone of the model's index, or by the one that is named."""
    from foldwalk import descriptors
    from foldwalk.core import BadInput
    from foldwalk.core.vector_files import VectorFile

    for source in sources:
        check_source(source)
    folders = [source for source in sources if source.is_dir()]
    if folders and len(sources) > 1:
        raise BadInput("describe one folder at a time, or pictures by name.")
    if model is not None and model.index is not None:
        if backbone is not None:
            raise BadInput(
                f"{model.place} has a backbone, which describes the pictures; leave out --backbone."
            )
        chosen = model.index.backbone()
    else:
        chosen = descriptors.backbone(backbone or descriptors.DEFAULT)
    if model is not None and chosen.dim != model.dim:
        raise BadInput(
            f"{model.place} was trained on vectors of {model.dim} dimensions, but {chosen.name} gives "
            f"{chosen.dim}; name the backbone it was trained with by --backbone."
        )
    paths = descriptors.find_pictures(folders[0]) if folders else sources
    found = descriptors.describe(paths, chosen)
    if not found.paths:
        why = f" ({found.skipped[0].path}: {found.skipped[0].reason})" if found.skipped else ""
        raise BadInput(f"{sources[0]} holds no picture that can be read{why}.")
    below = folders[0] if folders else None
    keys = [(path if below is None else path.relative_to(below)).as_posix() for path in found.paths]
    return VectorFile(found.vectors, keys), found.skipped


def _through(model: VectorModel, vectors: AnyArray, name: str) -> Float32Array:
    """The learned features, some at a time."""
    import numpy as np

    from foldwalk.core import BadInput
    from foldwalk.core.progress import task

    if vectors.shape[1] != model.dim:
        raise BadInput(
            f"{name} has {vectors.shape[1]} dimensions, but {model.place} was trained on {model.dim}."
        )
    parts = []
    with task("features", len(vectors), "vectors") as advance:
        for start in range(0, len(vectors), AT_A_TIME):
            parts.append(model.transform(vectors[start : start + AT_A_TIME]))
            advance(len(parts[-1]))
    return np.concatenate(parts)


def _check_out(out: Path, sources: list[str], force: bool) -> tuple[Path, Path | None]:
    """The file and the one for its keys, refused before the work where they cannot be written."""
    from foldwalk.core.parquet import load_pyarrow
    from foldwalk.core.targets import check_file
    from foldwalk.core.vector_files import SUFFIXES, check_target
    from foldwalk.neighbors import faiss_file

    check_target(out, (*SUFFIXES, *faiss_file.SUFFIXES))
    if out.suffix == ".parquet":
        load_pyarrow()
    holds_keys = out.suffix in (".npz", ".parquet")
    keys = None if holds_keys else out.with_name(f"{out.name}.keys.json")
    for path in filter(None, (out, keys)):
        check_file(path, force, "--force", map(Path, sources))
    return out, keys


def _write(targets: tuple[Path, Path | None], described: VectorFile, metric: str) -> list[Path]:
    from foldwalk.core.json_text import to_json
    from foldwalk.core.vector_files import SUFFIXES, VectorFile, write_vector_file
    from foldwalk.core.vectors import Vectors
    from foldwalk.core.whole_files import write_whole
    from foldwalk.neighbors.faiss_file import write_flat_index

    out, beside = targets
    if beside is None:
        return [write_vector_file(out, described)]
    if out.suffix in SUFFIXES:
        write_vector_file(out, VectorFile(described.vectors))
    else:
        write_flat_index(out, Vectors.check(described.vectors), metric)
    if described.keys is None:
        beside.unlink(missing_ok=True)  # those of a file that was there before
        return [out]
    write_whole(beside, to_json(described.keys).encode())
    return [out, beside]
