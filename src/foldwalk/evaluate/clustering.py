"""How well k-means on the vectors finds the classes again, as metric learning reports it.

K is the number of classes; the vectors are clustered as they are, so hand in unit vectors where the metric is
cosine. k-means finds a local optimum only: from seed to seed NMI moves by about a point, F1 by up to five.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels
from foldwalk.core.seeds import check_seed
from foldwalk.core.types import Int32Array
from foldwalk.core.vectors import Vectors
from foldwalk.evaluate.metrics import cluster_nmi, cluster_pair_f1


def clustering_figures(vectors: npt.ArrayLike, labels: npt.ArrayLike, seed: int = 0) -> dict[str, float]:
    """NMI and pairwise F1 of one run of k-means, keys "NMI" and "F1"."""
    clusters = kmeans_clusters(vectors, labels, seed)
    return {"NMI": cluster_nmi(clusters, labels), "F1": cluster_pair_f1(clusters, labels)}


def nmi(vectors: npt.ArrayLike, labels: npt.ArrayLike, seed: int = 0) -> float:
    """Normalised mutual information of classes and k-means clusters."""
    return cluster_nmi(kmeans_clusters(vectors, labels, seed), labels)


def pairwise_f1(vectors: npt.ArrayLike, labels: npt.ArrayLike, seed: int = 0) -> float:
    """F1 over pairs of items that share a k-means cluster and pairs that share a class."""
    return cluster_pair_f1(kmeans_clusters(vectors, labels, seed), labels)


def kmeans_clusters(vectors: npt.ArrayLike, labels: npt.ArrayLike, seed: int = 0) -> Int32Array:
    """The cluster of each vector, of as many clusters as there are classes."""
    values = Vectors.check(vectors).values
    checked = check_labels(labels, "labels")
    if len(checked) != len(values):
        raise BadInput(
            f"there are {len(checked)} labels for {len(values)} vectors; pass one label per vector."
        )
    classes = len(np.unique(checked))
    model = KMeans(n_clusters=classes, n_init=1, random_state=check_seed(seed))
    return np.asarray(model.fit_predict(values), dtype=np.int32)
