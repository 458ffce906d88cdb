"""Known pairs: what is read, what is refused, what a missing pair counts as; and features fused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from foldwalk import rerank
from foldwalk.core import BadInput
from foldwalk.rerank.precomputed import KnownPairs, typical
from samples import clustered

GALLERY, LABELS = clustered()
RNG = np.random.default_rng(0)


def three_by_three(**changes):
    matrix = np.array([[0.0, 1, 4], [1, 0, 2], [4, 2, 0]])
    for place, value in changes.items():
        matrix[int(place[1]), int(place[2])] = value
    return matrix


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (three_by_three(p12=np.nan), "distances, row 1, column 2: nan is not finite"),
        (three_by_three(p20=np.inf), "distances, row 2, column 0: inf is not finite"),
        (three_by_three(p01=-0.5), "distances, row 0, column 1: -0.5 is negative; a distance is not."),
        (sparse.csr_array(three_by_three(p21=-3)), "distances, row 2, column 1: -3 is negative"),
        (sparse.csr_array(three_by_three(p21=np.nan)), "distances, row 2, column 1: nan is not finite"),
        (np.ones((3, 2)), "square matrix, a row and a column per item, not of shape (3, 2)."),
        (sparse.csr_array(np.ones((3, 2))), "not of shape (3, 2)."),
        (np.ones((2, 2, 2)), "not of shape (2, 2, 2)."),
        (np.zeros((0, 0)), "not of shape (0, 0)."),
        (3.0, "not of shape ()."),
        ([["a", "b"], ["c", "d"]], "real numbers, but its type is <U1."),
        (np.eye(2) * 1j, "real numbers, but its type is complex128."),
        ([[1.0, 2.0], [3.0]], "distances cannot be read as an array"),
        (np.broadcast_to(np.float32(1), (5001, 5001)), "refused above 5000: hand in a sparse one"),
        (sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)), "two entries for one pair"),
        (np.ma.masked_equal(three_by_three(), 2), "distances is masked in places"),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused(wrong, sentence):
    with pytest.raises(BadInput) as caught:
        rerank.create("plain").fit(distances=wrong)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_what_is_no_graph_of_similarities_is_refused():
    with pytest.raises(BadInput, match=r"graph, row 0, column 2: 4 is no similarity from -1 to 1; divide by"):
        rerank.create("plain").fit(graph=sparse.csr_array(three_by_three()))
    with pytest.raises(BadInput, match="one of the three"):
        rerank.create("plain").fit(graph=np.eye(3), distances=three_by_three())
    with pytest.raises(BadInput, match="one of the three"):
        rerank.create("plain").fit(GALLERY, distances=three_by_three())
    with pytest.raises(
        BadInput, match="fit takes a gallery of vectors, or distances=, or graph=: one of the three"
    ):
        rerank.create("plain").fit()


def test_the_diagonal_is_not_looked_at():
    for itself in (0.0, 7.0, -1.0, np.nan):
        matrix = three_by_three()
        np.fill_diagonal(matrix, itself)
        for form in (matrix, sparse.csr_array(matrix)):
            ranking = rerank.create("plain").fit(distances=form).rank_self()
            assert ranking.ids.tolist() == [[1, 2], [0, 2], [1, 0]]
            # Half, once and twice the median.
            near, usual, far = (1 / (1 + np.sqrt(2) * share) for share in (1 / 2, 1, 2))
            assert np.allclose(ranking.scores, [[near, far], [near, usual], [usual, far]])


def test_an_entry_of_zero_is_a_distance_and_no_entry_is_none():
    graph = sparse.csr_array(([0.0, 5.0, 2.0], ([0, 0, 1], [2, 1, 0])), shape=(3, 3))
    method = rerank.create("plain").fit(distances=graph)
    assert method.rank_rows([0]).ids.tolist() == [[2, 1]]
    assert method.rank_rows([0, 1], top=1).ids.tolist() == [[2], [0]]
    for rows, fewest, row in (([0, 1], 1, 1), ([0, 2], 0, 2)):
        with pytest.raises(BadInput) as caught:
            method.rank_rows(rows)
        assert str(caught.value) == (
            f"plain reaches {fewest} items from row {row}, and the matrix does not say in which order the "
            f"others follow: ask for a top of {fewest}, hand in more pairs, or fit vectors."
        )


def test_what_a_pair_counts_as_against_a_loop():
    n = 30
    dense = np.where(RNG.random((n, n)) < 0.3, RNG.random((n, n)), np.nan)
    np.fill_diagonal(dense, np.nan)
    dense[4] = np.nan
    rows, columns = np.nonzero(~np.isnan(dense))
    known = KnownPairs.from_distances(sparse.csr_array((dense[rows, columns], (rows, columns)), shape=(n, n)))
    typical_one = np.nanmedian(dense) / np.sqrt(2)
    expected = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            farthest = np.nanmax(dense) if i == 4 else np.nanmax(dense[i])
            distance = 0 if i == j else farthest if np.isnan(dense[i, j]) else dense[i, j]
            expected[i, j] = 1 / (1 + distance / typical_one)
    everyone = np.tile(np.arange(n), n)
    found = known.similarities(known.items, np.arange(n + 1) * n, everyone).reshape(n, n)
    assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(known.dense(np.arange(n)), expected, atol=1e-6)
    assert np.allclose(known.least, expected.min(axis=1), atol=1e-6)
    assert known.mean() == pytest.approx(expected.mean(), abs=1e-6)
    assert not known.complete


def test_the_typical_distance():
    assert typical(np.array([1.0, 9, 4])) == 4
    assert typical(np.array([0.0, 0, 0, 6, 8])) == 7
    assert typical(np.zeros(3)) == typical(np.zeros(0)) == 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cas", {"geodesic": False}),
        ("cas", {"fuse_with": "diffusion"}),
        ("cas", {"distance": "euclidean"}),
        ("cas", {"geodesic": False, "distance": "jaccard"}),
        ("cdm", {"rounds": 5}),
        ("cprr", {"rounds": 3}),
        ("egt", {"relative": True}),
        ("eir", {"keep": 20}),
        ("tpg", {"dense": True}),
        ("manifold_ranking", {"kernel": "inverse", "solver": "closed"}),
    ],
)
def test_other_forms_of_a_method_take_cosines_too(name, parameters):
    unit = GALLERY / np.linalg.norm(GALLERY, axis=1, keepdims=True)
    fitted = rerank.create(name, **parameters).fit(GALLERY).rank_self(top=30)
    known = rerank.create(name, **parameters).fit(graph=np.clip(unit @ unit.T, -1, 1)).rank_self(top=30)
    assert (fitted.ids == known.ids).mean() > 0.95


def test_the_first_of_plain_search_need_vectors():
    method = rerank.create("cas", first=20).fit(distances=np.ones((30, 30)))
    with pytest.raises(BadInput, match="cas: first needs vectors"):
        method.rank_self()


def naive_mean(matrices, weights):
    """Pair by pair; None where nobody knows it."""
    n = len(matrices[0])
    out = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i == j or all(m[i][j] is None for m in matrices):
                continue
            total = 0.0
            for m, w in zip(matrices, weights, strict=True):
                known = [m[a][b] for a in range(n) for b in range(n) if a != b and m[a][b] is not None]
                row = [m[i][b] for b in range(n) if b != i and m[i][b] is not None]
                distance = m[i][j] if m[i][j] is not None else max(row, default=0.0)
                total += w / sum(weights) * distance / np.median(known)
            out[i][j] = total
    return out


def test_fused_distances_against_a_loop():
    dense = [RNG.random((9, 9)) * size for size in (1, 50, 1e-4)]
    weights = [1.0, 2.0, 0.5]
    fused = rerank.fuse_distances(dense, weights)
    expected = naive_mean([m.tolist() for m in dense], weights)
    assert np.allclose(fused, [[0 if v is None else v for v in row] for row in expected])
    assert np.allclose(rerank.fuse_distances(dense), rerank.fuse_distances(dense, [5, 5, 5]))
    graphs, holed = [], []
    for matrix in dense:
        keep = RNG.random(matrix.shape) < 0.4
        graphs.append(sparse.coo_array((matrix[keep], np.nonzero(keep)), shape=matrix.shape))
        holed.append([[matrix[i, j] if keep[i, j] else None for j in range(9)] for i in range(9)])
    fused, expected = rerank.fuse_distances(graphs, weights), naive_mean(holed, weights)
    pairs = {(i, j): expected[i][j] for i in range(9) for j in range(9) if expected[i][j] is not None}
    found = fused.tocoo()
    assert set(zip(found.row.tolist(), found.col.tolist(), strict=True)) == set(pairs)
    assert all(np.isclose(v, pairs[i, j]) for i, j, v in zip(found.row, found.col, found.data, strict=True))


def test_fusion_by_diffusion_against_the_iteration():
    one, other = GALLERY[:, :5], GALLERY[:, 5:10]
    distances = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in (one, other)]
    fused = rerank.fuse_by_diffusion(distances, k=6, steps=12, keep=len(GALLERY))
    edges = [
        rerank.create("tpg", k=6).fit(distances=matrix).transitions.toarray().astype(np.float64)
        for matrix in distances
    ]
    identity = np.eye(len(GALLERY))
    walked = identity
    for _ in range(11):
        walked = edges[0] @ walked @ edges[1].T + identity
    expected = walked + walked.T
    np.fill_diagonal(expected, 0)
    assert np.allclose(fused.toarray(), expected / expected.max(), atol=1e-5)
    ranking = rerank.create("cas").fit(graph=fused).rank_self(top=5)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.9


def test_fusion_of_what_does_not_belong_together_is_refused():
    dense, graph = np.ones((4, 4)), kneighbors_graph(GALLERY[:4], 2, mode="distance")
    for wrong, sentence in (
        ([], "a list of matrices"),
        (dense, "a list of matrices"),
        ([dense, graph], "all dense or all sparse"),
        ([dense, np.ones((5, 5))], "matrix 1 has 5 items, but the first has 4"),
        ([dense, -dense], "distances, matrix 1, row 0, column 1: -1 is negative"),
    ):
        with pytest.raises(BadInput, match=sentence):
            rerank.fuse_distances(wrong)
    for weights in ([1], [1, -1], [0, 0], [1, np.inf]):
        with pytest.raises(BadInput, match="weights must be 2 numbers from 0 on"):
            rerank.fuse_distances([dense, dense], weights)
    with pytest.raises(BadInput, match="two features or more"):
        rerank.fuse_by_diffusion([dense])
