"""CAS: each step beside its equation, the whole beside a dense form and the authors' program."""

from __future__ import annotations

import numpy as np
import pytest
from reference import SETS, load_reference, overlap
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import jensenshannon

import dense_cas
from foldwalk import rerank
from foldwalk.core import BadInput, Graph, Ranking, Vectors
from foldwalk.graph import normalise, radius
from foldwalk.neighbors import knn_graph
from foldwalk.neighbors.exact import exact_search
from foldwalk.rerank.diffusion.cas.asked import Rows
from foldwalk.rerank.diffusion.cas.dense import conjugate_gradients, iterate, lyapunov
from foldwalk.rerank.diffusion.cas.geodesic import first_steps
from foldwalk.rerank.diffusion.cas.similarity import diffuse
from foldwalk.rerank.diffusion.cas.smoothing import smooth_row
from foldwalk.walk import numbered
from foldwalk.walk.bidirectional import two_sided_steps
from foldwalk.walk.csr import parts
from samples import clustered

GALLERY, LABELS = clustered(n=150, d=12)
QUERIES, QUERY_LABELS = clustered(n=10, d=12, seed=4)
EVERYONE = np.concatenate([GALLERY, QUERIES])
ALPHA = 1 / 1.23


def random_graph(n=40, seed=0):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < 0.15, rng.random((n, n)), 0)
    dense = np.triu(dense, 1)
    return Graph(sparse.csr_array((dense + dense.T).astype(np.float32)))


def close_to(ranking, distances, tolerance=1e-4):
    """The ranking's scores are one minus these distances (q, items), in their order."""
    for q, row in enumerate(distances):
        expected = 1 - row[ranking.ids[q]]
        assert np.allclose(ranking.scores[q], expected, atol=tolerance)


class TestWhole:
    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"cluster_k": 8, "trusted_k": 3, "transition_k": 9, "expand_k": 4, "markov_k": 10},
            {"beta": 0.01, "trusted_weight": 1.5, "mu": 0.5, "sigma": 0.5},
            {"reliability": "block"},
            {"similarity": "original"},
            {"similarity": "smoothed"},
            {"graph_k": 9},
            {"graph_k": 2, "trusted_k": 6},
        ],
        ids=str,
    )
    def test_against_the_dense_form(self, parameters):
        queries = np.arange(150, 160)
        distances = dense_cas.final_distances(EVERYONE, queries, **parameters)[:, :150]
        ours = rerank.create("cas", geodesic=False, cap=1000, **parameters).rerank(QUERIES, GALLERY, top=150)
        close_to(ours, distances)

    def test_own_rows_against_the_dense_form(self):
        distances = dense_cas.final_distances(GALLERY, np.arange(150))
        ours = rerank.create("cas", geodesic=False, cap=1000).fit(GALLERY).rank_self(top=149)
        close_to(ours, distances)

    def test_the_cut_of_rows_hardly_matters(self):
        whole = rerank.create("cas", cap=1000).fit(GALLERY).rank_self(top=20).ids
        cut = rerank.create("cas", cap=64).fit(GALLERY).rank_self(top=20).ids
        assert np.mean([len(np.intersect1d(a, b)) / 20 for a, b in zip(whole, cut, strict=True)]) > 0.98

    def test_geodesic_distances_are_shortest_paths(self):
        rows = dense_cas.rows_of(EVERYONE)
        direct = dense_cas.divergences(rows, rows)
        relative = dense_cas.relative_distances(EVERYONE)
        paths = dense_cas.shortest_paths(direct, dense_cas.order_of(relative)[:, 1:8])
        total = 0.7 * paths + 0.3 * relative
        ours = rerank.create("cas", geodesic_k=8, cap=1000).rerank(QUERIES, GALLERY, top=150)
        for q in range(10):
            reached = ours.scores[q] > 0
            expected = 1 / (1 + total[150 + q][ours.ids[q]])
            assert np.allclose(ours.scores[q][reached], expected[reached], atol=1e-4)
            assert np.isinf(paths[150 + q][ours.ids[q][~reached]]).all()

    def test_paths_of_an_unseen_query_begin_where_its_edges_would_be(self):
        """Its nearest and whoever would count it among its own: the neighbours of a query that joins."""
        steps, asked = 6, np.arange(0, 150, 10)
        queries, items = Vectors(GALLERY[asked]), Vectors(np.delete(GALLERY, asked, axis=0))
        n, beyond = len(items), 0
        found = exact_search(items, queries, n, "cosine")
        starts = first_steps(found, steps, radius(knn_graph(items, steps), steps))
        for q in range(len(asked)):
            everyone = np.concatenate([items.values, queries.values[[q]]])
            nearest = dense_cas.order_of(dense_cas.relative_distances(everyone))[:, 1 : steps + 1]
            choosing = np.flatnonzero((nearest == n).any(axis=1))
            assert set(starts[q][starts[q] >= 0]) == set(nearest[n]) | set(choosing)
            beyond += len(np.setdiff1d(choosing, nearest[n]))
        assert beyond > 0

    def test_with_the_whole_weight_on_the_distance_it_is_plain_search(self):
        plain = rerank.create("plain").fit(GALLERY)
        only = rerank.create("cas", omega=1.0, geodesic=False)
        assert (only.rerank(QUERIES, GALLERY, top=150).ids == plain.rank(QUERIES, top=150).ids).all()

    @pytest.mark.parametrize(
        ("parameters", "name", "least", "figures"),
        [
            ({"geodesic": False}, "cas", 0.995, (75.98, 91.20, 65.97)),
            ({"geodesic_k": 100}, "cas_geodesic", 0.98, (80.03, 91.69, None)),
        ],
    )
    @pytest.mark.parametrize("place", range(len(SETS)), ids=SETS)
    def test_agrees_with_the_authors_program(
        self, parameters, name, least, figures, place, reference_root, data_root
    ):
        if figures[place] is None:
            pytest.skip(f"the reference has no {name} on {SETS[place]}")
        reference = load_reference(SETS[place], reference_root, data_root)
        method = rerank.create("cas", **parameters)
        ours = method.rerank(reference.queries, reference.gallery, top=len(reference.gallery))
        assert overlap(ours, reference.answers[name]) >= least
        assert reference.mean_average_precision(ours) == pytest.approx(figures[place], abs=0.1)


class TestDiffusion:
    """Eq. 5 to 12."""

    def test_every_solver_finds_the_same_fixed_point(self):
        transitions = normalise(random_graph()).matrix.toarray().astype(np.float64)
        resolvent = (1 - ALPHA) * np.linalg.inv(np.eye(40) - ALPHA * transitions)
        for solver in (iterate, conjugate_gradients, lyapunov):
            assert np.allclose(solver(transitions, np.eye(40), ALPHA), resolvent, atol=1e-9)
        for solver in ("resolvent", "iterate", "cg", "lyapunov"):
            found = diffuse(random_graph(), ALPHA, solver, "bidirectional", 1000).toarray()
            # The power series ends after 24 terms: alpha^25 is left.
            assert np.allclose(found, resolvent, atol=ALPHA**25 if solver == "resolvent" else 1e-6)

    def test_any_symmetric_target(self):
        transitions = normalise(random_graph()).matrix.toarray().astype(np.float64)
        rng = np.random.default_rng(1)
        target = rng.random((40, 40))
        target = target @ target.T
        system = np.kron(transitions, np.eye(40)) + np.kron(np.eye(40), transitions)
        vectorised = np.linalg.solve(np.eye(1600) - ALPHA / 2 * system, target.ravel())
        expected = (1 - ALPHA) * vectorised.reshape(40, 40)
        for solver in (iterate, conjugate_gradients, lyapunov):
            assert np.allclose(solver(transitions, target, ALPHA), expected, atol=1e-8)

    @pytest.mark.parametrize("steps", [0, 1, 3, 10])
    def test_ten_steps_against_dense_iteration(self, steps):
        graph = random_graph()
        transitions = normalise(graph).matrix
        dense, similarity = transitions.toarray(), graph.matrix.toarray()
        for _ in range(steps):
            similarity = ALPHA / 2 * (similarity @ dense + dense @ similarity) + (1 - ALPHA) * np.eye(40)
        ours = two_sided_steps(transitions, graph.matrix, ALPHA, steps, cap=1000).toarray()
        assert np.allclose(ours, similarity, atol=1e-6)

    def test_a_cut_row_keeps_its_largest(self):
        graph = random_graph()
        transitions = normalise(graph).matrix
        whole = two_sided_steps(transitions, graph.matrix, ALPHA, 1, cap=1000).toarray()
        # The start may not be cut for this: the densest item has fewer edges than the cap.
        cap = int(np.diff(graph.matrix.indptr).max()) + 1
        cut = two_sided_steps(transitions, graph.matrix, ALPHA, 1, cap=cap).toarray()
        for row, kept in zip(whole, cut, strict=True):
            assert np.allclose(np.sort(kept)[-cap:], np.sort(row)[-cap:], atol=1e-7)
            assert (kept > 0).sum() <= cap

    def test_smoothed_steps(self):
        graph = random_graph()
        dense, similarity = normalise(graph).matrix.toarray(), graph.matrix.toarray()
        for _ in range(10):
            similarity = ALPHA * dense @ similarity @ dense + (1 - ALPHA) * np.eye(40)
        ours = diffuse(graph, ALPHA, "ten_steps", "smoothed", 1000).toarray()
        assert np.allclose(ours, similarity, atol=1e-6)

    def test_dense_solvers_are_refused_on_many_items(self):
        with pytest.raises(BadInput, match="ten_steps"):
            rerank.create("cas", solver="lyapunov").fit(np.random.default_rng(0).normal(size=(5001, 4)))


class TestSmoothing:
    """Eq. 13 to 15."""

    @pytest.mark.parametrize("beta", [0.0, 0.01, 1.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_against_a_general_solver(self, beta, seed):
        rng = np.random.default_rng(seed)
        row = rng.random(6).astype(np.float32)
        row /= row.sum()
        r = 0.3
        towards = np.minimum(rng.random(6) * 0.4, r).astype(np.float32)
        ours = np.empty(6, np.float32)
        smooth_row(row, towards, np.float32(r), np.float32(beta), ours)

        def objective(candidate):
            pull = r**2 / 2 * ((candidate - towards / r * row) ** 2).sum()
            return 1e4 * (pull + beta * ((candidate - row) ** 2).sum())

        solved = minimize(
            objective,
            row.astype(np.float64),
            method="SLSQP",
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda candidate: candidate.sum() - row.sum()},
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert solved.success
        assert np.allclose(ours, solved.x, atol=1e-4)
        assert (ours >= 0).all()
        assert ours.sum() == pytest.approx(row.sum(), abs=1e-6)

    def test_a_huge_beta_changes_nothing(self):
        row = np.array([0.5, 0.3, 0.2], np.float32)
        ours = np.empty(3, np.float32)
        smooth_row(row, np.array([0.3, 0.1, 0.0], np.float32), np.float32(0.3), np.float32(1e6), ours)
        assert np.allclose(ours, row, atol=1e-5)


class TestDistance:
    """Eq. 19 and 64."""

    def test_sparse_divergence_against_scipy(self):
        rng = np.random.default_rng(0)
        mine, others = (np.where(rng.random((50, 30)) < 0.4, rng.random((50, 30)), 0) for _ in range(2))
        mine, others = (each / each.sum(axis=1, keepdims=True) for each in (mine, others))
        kept = sparse.csr_array(others.astype(np.float32))
        rows = Rows.of_matrix(sparse.csr_array(mine.astype(np.float32)), np.arange(50))
        listed = rng.integers(-1, 50, (50, 7)).astype(np.int32)
        ours = rows.divergences(listed, parts(kept))
        for q, place in np.ndindex(listed.shape):
            other, expected = listed[q, place], 1.0
            if other >= 0:
                expected = jensenshannon(mine[q], others[other], base=2) ** 2
            assert ours[q, place] == pytest.approx(expected, abs=1e-4)

    @pytest.mark.parametrize("distance", ["cosine", "jaccard", "euclidean", "similarity"])
    def test_alternatives_against_dense_forms(self, distance):
        rows = dense_cas.rows_of(EVERYONE)
        if distance == "similarity":  # of those that may be answered, the most similar has the distance zero
            rows = rows[:, :150]
        other = dense_cas.distances_of_rows(rows[150:], rows[:150], distance)
        total = 0.7 * other + 0.3 * dense_cas.relative_distances(EVERYONE)[150:, :150]
        method = rerank.create("cas", distance=distance, geodesic=False, cap=1000)
        ours = method.rerank(QUERIES, GALLERY, top=150)
        for q in range(10):
            expected = total[q][ours.ids[q]]
            shown = 1 / (1 + expected) if distance == "euclidean" else 1 - expected
            assert np.allclose(ours.scores[q], shown, atol=1e-4)


class TestModes:
    @pytest.mark.parametrize(
        "parameters",
        [
            {"similarity": "original"},
            {"similarity": "smoothed"},
            {"clusters": "neighbors"},
            {"smoothing": "none"},
            {"smoothing": "average"},
            {"solver": "resolvent"},
            {"solver": "cg"},
            {"fuse_with": "diffusion"},
            {"fuse_with": "diffusion", "geodesic": False},
            {"distance": "cosine"},
            {"distance": "euclidean"},
            {"distance": "similarity", "geodesic": False, "fuse_with": "diffusion"},
            {"graph_k": 8},
            {"first": 40},
        ],
        ids=str,
    )
    def test_every_switch_finds_the_clusters_in_every_mode(self, parameters):
        method = rerank.create("cas", **parameters).fit(GALLERY)
        assert (LABELS[method.rank_self(top=10).ids] == LABELS[:, None]).mean() > 0.95
        answers = [
            method.rank(QUERIES, top=5),
            rerank.create("cas", **parameters).rerank(QUERIES, GALLERY, 5),
        ]
        default = rerank.create("cas").rerank(QUERIES, GALLERY, 5)
        for answer in answers:
            assert (
                np.mean([len(np.intersect1d(a, b)) for a, b in zip(answer.ids, default.ids, strict=True)]) > 2
            )

    def test_only_the_first_of_plain_search_change_places(self):
        plain = rerank.create("plain").fit(GALLERY).rank(QUERIES, top=150).ids
        ours = rerank.create("cas", first=30).fit(GALLERY).rank(QUERIES, top=150).ids
        assert (np.sort(ours[:, :30]) == np.sort(plain[:, :30])).all()
        assert (ours[:, 30:] == plain[:, 30:]).all()
        assert (ours[:, :30] != plain[:, :30]).any()

    @pytest.mark.parametrize("name", SETS)
    def test_unseen_queries_lose_little(self, name, reference_root, data_root):
        """At most one point of mAP, measured against queries that join the graph one at a time.

        All at once they also help each other: on syn1000, where a hundred queries join a thousand items,
        that alone is worth two points.
        """
        reference = load_reference(name, reference_root, data_root)
        some = np.arange(0, len(reference.queries), max(1, len(reference.queries) // 25))
        n = len(reference.gallery)
        fitted = rerank.create("cas").fit(reference.gallery).rank(reference.queries[some], top=n)
        alone = [rerank.create("cas").rerank(reference.queries[[q]], reference.gallery, n) for q in some]
        joined = Ranking(np.concatenate([r.ids for r in alone]), np.concatenate([r.scores for r in alone]))
        unseen, transductive = (reference.mean_average_precision(r, some) for r in (fitted, joined))
        assert unseen >= transductive - 1.0


def test_the_numbers_that_items_have_inside_do_not_matter(monkeypatch, tmp_path):
    def answers(method):
        joined = rerank.create("cas").rerank(QUERIES, GALLERY, top=150)
        return [method.rank(QUERIES, top=150), method.rank_self(top=100), joined]

    straight = answers(rerank.create("cas").fit(GALLERY))
    monkeypatch.setattr(numbered, "NUMBER_ABOVE", 10)
    renumbered = rerank.create("cas").fit(GALLERY)
    assert (renumbered.numbering.order != np.arange(len(GALLERY))).any()
    rerank.save(renumbered, tmp_path / "fitted.npz")
    for method in (renumbered, rerank.load(tmp_path / "fitted.npz")):
        for expected, found in zip(straight, answers(method), strict=True):
            assert np.allclose(expected.scores, found.scores, atol=1e-5)
            assert (expected.ids == found.ids).mean() > 0.99  # equal scores may change places
