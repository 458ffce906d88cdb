"""NMI and pairwise F1: by hand, against loops over all pairs, and through k-means."""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np
import pytest

from foldwalk.core import BadInput
from foldwalk.evaluate import clustering_figures, nmi, pairwise_f1
from foldwalk.evaluate.metrics import cluster_nmi, cluster_pair_f1


def test_pair_f1_by_hand() -> None:
    # Pairs predicted: 01, 02, 12, 34. Pairs of a class: 01, 23, 24, 34. Right: 01, 34.
    assert cluster_pair_f1([0, 0, 0, 1, 1], [0, 0, 1, 1, 1]) == pytest.approx(2 * 2 / (4 + 4))


def test_nmi_by_hand() -> None:
    # Two fair clusters, four fair classes: I = H(clusters) = log 2, H(classes) = log 4.
    assert cluster_nmi([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(2 * log(2) / (log(2) + log(4)))
    assert cluster_nmi([0, 1, 0, 1], [0, 0, 1, 1]) == pytest.approx(0)


def test_pair_f1_when_there_is_no_pair() -> None:
    assert cluster_pair_f1([0, 1, 2], [2, 0, 1]) == 1
    assert cluster_pair_f1([0, 0, 1], [0, 1, 2]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters, labels = rng.integers(0, 6, 50), rng.integers(0, 4, 50)
    together = [(clusters[i] == clusters[j], labels[i] == labels[j]) for i, j in combinations(range(50), 2)]
    right = sum(bool(c and t) for c, t in together)
    precision, recall = right / sum(c for c, _ in together), right / sum(t for _, t in together)
    assert cluster_pair_f1(clusters, labels) == pytest.approx(2 * precision * recall / (precision + recall))

    def entropy(*columns: np.ndarray) -> float:
        counts = np.unique(np.stack(columns), axis=1, return_counts=True)[1]
        return -sum(c / 50 * log(c / 50) for c in counts)

    shared = entropy(clusters) + entropy(labels) - entropy(clusters, labels)
    assert cluster_nmi(clusters, labels) == pytest.approx(2 * shared / (entropy(clusters) + entropy(labels)))


def test_pair_f1_of_many_items_looks_at_no_pair() -> None:
    labels = np.arange(1_000_000) % 1000  # 5e11 pairs; each cluster holds two classes whole
    assert cluster_pair_f1(labels // 2, labels) == pytest.approx(2 * 999 / (999 + 1999), rel=1e-6)


def test_kmeans_finds_separated_classes_and_fails_on_noise() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(["ant", "bee", "cat"], 20)
    apart = np.repeat(np.eye(3), 20, axis=0) + 0.01 * rng.normal(size=(60, 3))
    assert clustering_figures(apart, labels) == pytest.approx({"NMI": 1, "F1": 1})
    noise = rng.normal(size=(60, 3))
    figures = clustering_figures(noise, labels, seed=4)
    assert figures["NMI"] < 0.3
    assert figures == {"NMI": nmi(noise, labels, seed=4), "F1": pairwise_f1(noise, labels, seed=4)}


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="3 labels for 2 vectors"):
        nmi(np.eye(2), [0, 1, 1])
    with pytest.raises(BadInput, match="row 0, column 0 is nan"):
        pairwise_f1([[np.nan], [1.0]], [0, 1])
    with pytest.raises(BadInput, match="seed"):
        nmi(np.eye(2), [0, 1], seed=-1)
