"""What ``foldwalk train`` may be given as SOURCE: a folder of pictures, vectors, an index, a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foldwalk.cli.sources import is_index, is_vectors

if TYPE_CHECKING:
    from foldwalk.learn.trainer.material import Material


def gather(source: str, root: Path | None) -> Material:
    """The items of a source, as they are."""
    from foldwalk.core import BadInput, MissingData
    from foldwalk.learn.trainer.sources import dataset_material, file_material, folder_material

    if is_index(source):
        return _index_material(source)
    place = Path(source)
    if is_vectors(place):
        return file_material(place)
    if place.is_dir():
        return folder_material(place)
    if place.exists():
        raise BadInput(f"{source} is neither a folder of pictures nor vectors (.npy, .npz, .parquet).")
    if "/" in source or not source.strip():
        raise MissingData(f"{source!r} does not exist; name a folder of pictures, vectors, or an index.")
    return dataset_material(source, root)


def _index_material(place: str) -> Material:
    """Its vectors, and its pictures where all of them are still there."""
    from foldwalk.index import Index
    from foldwalk.learn.trainer.material import Material

    with Index.open(place) as index:
        held = index.contents()
        files = {source.key: Path(source.source) for source in index.store.sources()}
        keys = held.keys or []
        paths = [files[key] for key in keys if key in files]
        described = len(paths) == len(keys)  # else some came as vectors, and who knows of what
        return Material(
            place,
            keys,
            held.checked().values,
            paths if described and all(path.is_file() for path in paths) else None,
            metadata=held.metadata,
            backbone=index.store.facts().backbone if described else None,
        )
