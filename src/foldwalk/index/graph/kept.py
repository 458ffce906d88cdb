"""The k-NN graph as the store keeps it: one group of rows per version, used only if it is whole and ours."""

from __future__ import annotations

import numpy as np

from foldwalk.core.checked_arrays import checked_flags, checked_rising, checked_rows, checked_scale
from foldwalk.core.errors import BadInput
from foldwalk.core.types import AnyArray
from foldwalk.index.graph.knn import WIDTH, KnnGraph
from foldwalk.stores import Store
from foldwalk.stores.arrays import get_arrays, put_arrays

KIND = "graph"
ARRAYS = ("numbers", "ids", "similarities", "touched")


class KeptGraph:
    def __init__(self, store: Store, uid: str, kind: str = KIND) -> None:
        """The graph of the vectors as they are, or one that is kept as another `kind`."""
        self.store, self.uid, self.kind = store, uid, kind

    def load(self, least: int = 0) -> KnnGraph | None:
        """The newest graph that can be read, of a version from `least` on."""
        for version in reversed([version for version in self.versions() if version >= least]):
            graph = self._checked(get_arrays(self.store, self.kind, version))
            if graph is not None:
                return graph
        return None

    def save(self, graph: KnnGraph, version: int) -> bool:
        arrays = {"uid": np.array(self.uid)} | {name: getattr(graph, name) for name in ARRAYS}
        if graph.scale != 1:
            arrays["scale"] = np.array(graph.scale)
        if not put_arrays(self.store, self.kind, version, arrays):
            return False
        for older in self.versions():
            if older < version:
                self.store.drop_rows(self.kind, older)
        return True

    def versions(self) -> list[int]:
        """What is there, the newest last."""
        return sorted(group.version for group in self.store.groups(self.kind) if group.kind == self.kind)

    def _checked(self, arrays: dict[str, AnyArray] | None) -> KnnGraph | None:
        if arrays is None or not {"uid", *ARRAYS} <= set(arrays) or str(arrays["uid"]) != self.uid:
            return None
        try:
            numbers = checked_rising(arrays["numbers"], "numbers")
            n = len(numbers)
            ids, similarities = checked_rows(arrays["ids"], arrays["similarities"], "graph", n, WIDTH)
            touched = checked_flags(arrays["touched"], "touched", (n,))
            scale = arrays.get("scale", np.array(1.0))  # that of the cosine, and of earlier versions
            return KnnGraph(numbers, ids, similarities, touched, scale=checked_scale(scale.tolist()))
        except BadInput:  # whole, but not what it should be: as if it were absent
            return None
