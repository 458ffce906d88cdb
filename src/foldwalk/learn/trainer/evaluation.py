"""How good an embedding is: leave-one-out recall, MAP@R, NMI and F1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels
from foldwalk.core.ranking import Ranking
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.evaluate import LeaveOneOut, clustering_figures
from foldwalk.neighbors import knn_graph
from foldwalk.rerank.order import complete


def evaluate_embedding(
    embedding: npt.ArrayLike, labels: npt.ArrayLike, clustering: bool = True, seed: int = 0
) -> dict[str, float]:
    """R@1, 2, 4, 8, MAP@R, R-precision; with `clustering` also NMI and F1 of k-means; cosine throughout."""
    vectors = Vectors.check(embedding, "embedding").unit()
    checked = check_labels(labels, "labels")
    if len(checked) != len(vectors):
        raise BadInput(f"there are {len(checked)} labels for {len(vectors)} vectors; pass one per vector.")
    largest = int(np.unique(checked, return_counts=True)[1].max())
    depth = min(len(vectors) - 1, max(8, largest - 1))  # MAP@R and R-precision look no further
    own = np.arange(len(vectors))
    found = complete(knn_graph(vectors, depth), own, len(vectors))
    figures = LeaveOneOut(checked).evaluate(Ranking(found.ids.astype(np.int64), found.similarities))
    figures.pop("mAP")  # the ranking is too short for it
    if clustering:
        figures |= clustering_figures(vectors.values, checked, seed)
    return figures


def split_classes(labels: npt.ArrayLike, held_out: float, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Items of the classes to train on and of those held out to choose parameters by, at random."""
    codes: AnyArray = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
    classes = int(codes.max()) + 1
    count = round(held_out * classes)
    if not 1 <= count < classes:
        raise BadInput(f"holding out {held_out} of {classes} classes leaves none on one side.")
    chosen = generator(seed, "validation classes").permutation(classes)[:count]
    outside = np.isin(codes, chosen)
    return np.flatnonzero(~outside), np.flatnonzero(outside)
