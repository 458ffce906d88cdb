"""The sets that are drawn: curved manifolds, the letters PAMI; and the digits that are always there."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from foldwalk import datasets
from foldwalk.core import BadInput, Ranking


def mean_ap(dataset: datasets.Dataset, scores: np.ndarray) -> float:
    order = np.argsort(-scores, axis=1, kind="stable")
    ranking = Ranking(order, np.take_along_axis(scores, order, axis=1))
    return dataset.protocol.evaluate(ranking)["mAP"]


def walked(dataset: datasets.Dataset, k: int = 15) -> np.ndarray:
    """Dense diffusion on the mutual k-NN graph of queries and gallery, from the textbook."""
    x = np.concatenate([dataset.queries, dataset.gallery]).astype(np.float64)
    similarity = x @ x.T
    np.fill_diagonal(similarity, 0)
    kth = np.partition(similarity, -k, axis=1)[:, -k, None]
    affinity = np.where((similarity >= kth) & (similarity >= kth.T), similarity, 0) ** 3
    degree = np.maximum(affinity.sum(axis=1), 1e-12) ** -0.5
    walk = affinity * degree[:, None] * degree
    q = len(dataset.queries)
    return np.linalg.solve(np.eye(len(x)) - 0.95 * walk, np.eye(len(x))[:, :q])[q:].T


def test_same_seed_same_bytes() -> None:
    one, two, other = (datasets.synthetic(300, d=32, seed=seed) for seed in (4, 4, 5))
    assert one.gallery.tobytes() == two.gallery.tobytes()
    assert one.queries.tobytes() == two.queries.tobytes()
    assert np.array_equal(one.labels, two.labels)
    assert one.gallery.tobytes() != other.gallery.tobytes()


def test_sizes_and_labels() -> None:
    dataset = datasets.synthetic(1000, d=64, queries=70, clusters=25, distractors=0.3)
    assert dataset.gallery.shape == (1000, 64)
    assert dataset.queries.shape == (70, 64)
    assert dataset.gallery.dtype == dataset.queries.dtype == np.float32
    classes, sizes = np.unique(dataset.labels, return_counts=True)
    assert classes.tolist() == list(range(-1, 25))
    assert sizes[0] == 300
    assert sizes[1:].min() >= 2
    assert np.allclose(np.linalg.norm(dataset.gallery, axis=1), 1, atol=1e-5)
    assert dataset.protocol.n_queries == 70
    assert not np.array_equal(np.sort(dataset.labels), dataset.labels)
    assert (datasets.synthetic(100, distractors=0, clusters=5).labels >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_plain_search_is_imperfect_and_walking_helps(seed: int) -> None:
    dataset = datasets.synthetic(1000, seed=seed)
    plain = mean_ap(dataset, dataset.queries @ dataset.gallery.T)
    assert 0.58 < plain < 0.77
    assert mean_ap(dataset, walked(dataset)) > plain + 0.08


def test_classes_are_curved() -> None:
    """On a curve the ends are far apart, yet every item has a near neighbour of its class."""
    dataset = datasets.synthetic(1000, seed=1)
    similarity = dataset.gallery @ dataset.gallery.T
    np.fill_diagonal(similarity, np.nan)
    same = (dataset.labels[:, None] == dataset.labels) & (dataset.labels >= 0)[:, None]
    inside = np.where(same & ~np.eye(len(same), dtype=bool), similarity, np.nan)[dataset.labels >= 0]
    assert np.median(np.nanmax(inside, axis=1)) > 0.88
    assert np.median(np.nanmin(inside, axis=1)) < 0.6
    # A flat patch of two dimensions at most would need three directions; a curve bends through more.
    largest = np.bincount(dataset.labels[dataset.labels >= 0]).argmax()
    members = dataset.gallery[dataset.labels == largest]
    energy = np.linalg.svd(members - members.mean(axis=0), compute_uv=False) ** 2
    noise = np.median(energy[10:-1])
    assert (energy > 4 * noise).sum() >= 3


def test_large_sets_need_little_beside_themselves() -> None:
    tracemalloc.start()
    try:
        dataset = datasets.synthetic(200_000, d=32)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert dataset.gallery.shape == (200_000, 32)
    assert peak < dataset.gallery.nbytes + 24 * 2**20


def test_the_name_carries_the_size() -> None:
    assert datasets.load("synthetic").gallery.shape == (1000, 256)
    dataset = datasets.load("synthetic:500")
    assert dataset.gallery.shape == (500, 256)
    assert dataset.name == "synthetic:500"
    for name in ("synthetic:many", "synthetic:-5", "synthetic:0", "synthetic:3"):
        with pytest.raises(BadInput):
            datasets.load(name)
    with pytest.raises(BadInput, match="no pictures"):
        datasets.load("synthetic:500:pictures")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 10, "clusters": 6},
        {"clusters": 0},
        {"distractors": 1},
        {"distractors": -0.1},
        {"queries": 0},
        {"d": 1},
    ],
)
def test_impossible_sizes_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="at least two items per class"):
        datasets.synthetic(**({"n": 100} | wrong))  # type: ignore[arg-type]


def test_pami_letters() -> None:
    dataset = datasets.load("pami")
    assert dataset.gallery.shape == (1500, 2)
    assert dataset.gallery.dtype == np.float32
    assert dataset.metric == "euclidean"
    assert sorted(set(dataset.labels.tolist())) == sorted("PAMI")
    assert dataset.gallery.tobytes() == datasets.load("pami").gallery.tobytes()
    with pytest.raises(BadInput, match="no pictures"):
        datasets.load("pami:pixels")


def test_pami_needs_walking() -> None:
    """Each letter hangs together in the k-NN graph, but its ends are nearer to the next than to itself."""
    dataset = datasets.load("pami")
    points, labels = dataset.gallery.astype(np.float64), dataset.labels
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, 1:11]
    assert (labels[nearest] == labels[:, None]).all()
    edges = sparse.coo_array(
        (np.ones(nearest.size), (np.repeat(np.arange(1500), 10), nearest.ravel())), (1500, 1500)
    )
    assert sparse.csgraph.connected_components(edges, directed=False)[0] == 4
    assert mean_ap(dataset, -distance - 1e9 * np.eye(1500)) < 0.85
    for left, right in ("PA", "AM", "MI"):
        between = distance[labels == left][:, labels == right]
        end = between.min(axis=1).argmin()
        assert between.min() < 0.2 * distance[labels == left][:, labels == left][end].max()


def test_digits_are_always_there() -> None:
    dataset = datasets.load("digits")
    published = load_digits()
    assert dataset.kind == "pixels"
    assert np.array_equal(dataset.gallery, 15 * published.data)
    assert dataset.labels.tolist() == published.target.tolist()
    assert dataset.pixels.shape == (1797, 8, 8)
    assert dataset.pixels.dtype == np.uint8
    assert np.array_equal(np.asarray(dataset.picture(5)), 15 * published.images[5])
    assert dataset.query_picture(5).size == (8, 8)
    with pytest.raises(BadInput, match="raw pixels"):
        datasets.load("digits:features")


DIGEST = """
import hashlib
from foldwalk import datasets
digest = hashlib.sha256()
for name in ("synthetic", "synthetic:300", "synthetic:5000", "synthetic:17000", "pami"):
    loaded = datasets.load(name)
    for array in (loaded.gallery, loaded.queries):
        digest.update(b"" if array is None else array.tobytes())
digest.update(datasets.synthetic(1003, d=37, seed=5).gallery.tobytes())
print(digest.hexdigest())
"""


def test_the_same_bytes_for_every_number_of_threads_and_every_kernel_of_the_matrix_library() -> None:
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    ways = [dict.fromkeys(variables, "1"), dict.fromkeys(variables, "2")]
    # What threads change at some sizes, another kind of processor changes at all: other kernels add up.
    ways.append({"OPENBLAS_CORETYPE": "Prescott"})
    digests = set()
    for way in ways:
        ran = subprocess.run(
            [sys.executable, "-c", DIGEST], env=os.environ | way, capture_output=True, text=True, check=True
        )
        digests.add(ran.stdout)
    assert len(digests) == 1
