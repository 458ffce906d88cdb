"""The k-NN graph on disk: one file per version, read back only if it belongs to this index and is whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk.index.derived import load_arrays, save_arrays
from foldwalk.index.knn import WIDTH, KnnGraph

ARRAYS = ("numbers", "ids", "similarities", "touched")


class GraphFile:
    def __init__(self, folder: Path, uid: str) -> None:
        self.folder, self.uid = folder, uid

    def load(self) -> KnnGraph | None:
        """The newest graph that can be read."""
        for _, path in reversed(self._versions()):
            graph = self._read(path)
            if graph is not None:
                return graph
        return None

    def save(self, graph: KnnGraph, version: int) -> bool:
        arrays = {"uid": np.array(self.uid)} | {name: getattr(graph, name) for name in ARRAYS}
        if not save_arrays(self.folder / f"graph-{version}.npz", arrays):
            return False
        for older, path in self._versions():
            if older < version:
                path.unlink(missing_ok=True)
        return True

    def version(self) -> int | None:
        """Of the newest graph on disk."""
        versions = self._versions()
        return versions[-1][0] if versions else None

    def _versions(self) -> list[tuple[int, Path]]:
        """What is there, the newest last."""
        stems = ((path.stem.removeprefix("graph-"), path) for path in self.folder.glob("graph-*.npz"))
        return sorted((int(stem), path) for stem, path in stems if stem.isdigit())

    def _read(self, path: Path) -> KnnGraph | None:
        arrays = load_arrays(path)
        if arrays is None or not {"uid", *ARRAYS} <= set(arrays) or str(arrays["uid"]) != self.uid:
            return None
        graph = KnnGraph(**{name: arrays[name] for name in ARRAYS})  # type: ignore[arg-type]
        n = len(graph)
        alike = graph.ids.shape == graph.similarities.shape == (n, WIDTH) and graph.touched.shape == (n,)
        rising = alike and bool((graph.numbers[1:] > graph.numbers[:-1]).all())
        valid = rising and (n == 0 or (graph.ids.min() >= -1 and graph.ids.max() < n))
        return graph if valid else None
