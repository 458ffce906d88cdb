"""CAS over several graphs: each formula beside a dense loop, the whole beside CAS with one graph."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

import dense_cas
from foldwalk import rerank
from foldwalk.core import BadParameter, Graph
from foldwalk.graph import normalise
from foldwalk.rerank.diffusion.cas import unseen
from foldwalk.rerank.diffusion.cas.graphs import EVENNESS, diffuse_over, disagreement, weigh
from foldwalk.walk.csr import parts
from samples import clustered

GALLERY, LABELS = clustered(n=150, d=12)
QUERIES, QUERY_LABELS = clustered(n=10, d=12, seed=4)
SIZES = (4, 7, 12)
MU = 0.23


def dense_graphs(x, sizes, trusted_k=5, kappa=2.0, sigma=0.3):
    """W of eq. 2 for each size, itself counted, and the S made of it."""
    distances = dense_cas.relative_distances(x)
    order, affinity = dense_cas.order_of(distances), np.exp(-distances / sigma**2)
    core, here = dense_cas.mutual(order, trusted_k), np.arange(len(x))[:, None]
    graphs = []
    for size in sizes:
        w = np.zeros_like(affinity)
        w[here, order[:, 1:size]] = affinity[here, order[:, 1:size]]
        w = np.where(core, kappa * w, w)
        graphs.append((w + w.T) / 2)
    return graphs


def transitions_of(w):
    root = 1 / np.sqrt(w.sum(axis=1))
    return root[:, None] * w * root[None, :]


def naive(graphs, mu, steps=10, rounds=3):
    """The formulas as they are printed, with one term for each graph."""
    m, n = len(graphs), len(graphs[0])
    s, e = [transitions_of(w) for w in graphs], np.eye(n)
    beta, f = [1 / m] * m, sum(graphs) / m
    for done in range(rounds):
        if done:
            h = [((f**2).sum() - (f * (s_v @ f)).sum()) / n for s_v in s]
            for _ in range(200):
                for i, j in combinations(range(m), 2):
                    both = beta[i] + beta[j]
                    free = (0.2 * both + h[j] - h[i]) / 0.4
                    beta[i] = min(max(free, 0), both)
                    beta[j] = both - beta[i]
        alpha = [b / (mu / m + sum(beta)) for b in beta]
        for _ in range(steps):
            f = sum(a * ((s_v @ f + f @ s_v) / 2 - e) for a, s_v in zip(alpha, s, strict=True)) + e
    return f, np.array(beta)


def as_graphs(dense):
    return [Graph(sparse.csr_array(w.astype(np.float32))) for w in dense]


class TestDiffusion:
    def test_against_a_dense_loop_of_the_formulas(self):
        dense = dense_graphs(GALLERY, SIZES)
        expected, beta = naive(dense, MU)
        found, weights = diffuse_over(as_graphs(dense), MU, cap=1000)
        assert np.allclose(weights, beta, atol=1e-6)
        assert np.ptp(weights) > 0.005
        assert np.allclose(found.toarray(), expected, atol=1e-6)

    def test_disagreement_is_half_the_squared_differences_along_the_edges(self):
        """With unit degrees |F|^2 - <F, S F> = 1/2 sum_ij S_ij |F_i - F_j|^2."""
        ring = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
        f = np.random.default_rng(0).random((8, 8)).astype(np.float32)
        differences = sum(ring[i, j] / 2 * ((f[i] - f[j]) ** 2).sum() for i in range(8) for j in range(8)) / 2
        found = disagreement(sparse.csr_array(f), [normalise(as_graphs([ring])[0]).matrix])
        assert found == pytest.approx([differences / 8], rel=1e-5)

    def test_twice_the_items_have_the_same_weights(self):
        """Two copies that do not touch each other: sums double, means stay."""
        dense = dense_graphs(GALLERY, SIZES)
        twice = [np.kron(np.eye(2), w) for w in dense]
        _, once = diffuse_over(as_graphs(dense), MU, cap=1000)
        _, both = diffuse_over(as_graphs(twice), MU, cap=1000)
        assert np.allclose(once, both, atol=1e-6)


class TestWeights:
    @pytest.mark.parametrize("seed", range(5))
    def test_a_pair_is_the_least_on_its_segment(self, seed):
        """Brute force: 100,001 ways to share one between two graphs."""
        h = np.random.default_rng(seed).random(2) * 0.4
        ours = weigh(h, np.array([0.5, 0.5]))
        share = np.linspace(0, 1, 100_001)
        cost = share * h[0] + (1 - share) * h[1] + EVENNESS / 2 * (share**2 + (1 - share) ** 2)
        assert ours == pytest.approx([share[cost.argmin()], 1 - share[cost.argmin()]], abs=1e-5)

    @pytest.mark.parametrize("seed", range(5))
    def test_no_other_point_of_the_simplex_is_less(self, seed):
        rng = np.random.default_rng(seed)
        h = rng.random(4) * 0.2
        ours = weigh(h, np.full(4, 0.25))
        others = rng.dirichlet(np.full(4, 0.5), size=20_000)
        cost = others @ h + EVENNESS / 2 * (others**2).sum(axis=1)
        assert ours.sum() == pytest.approx(1)
        assert (ours >= 0).all()
        assert ours @ h + EVENNESS / 2 * (ours**2).sum() <= cost.min() + 1e-9

    def test_equal_graphs_share_equally_and_a_bad_one_gets_nothing(self):
        assert np.allclose(weigh(np.full(3, 0.1), np.array([0.7, 0.2, 0.1])), 1 / 3, atol=1e-8)
        assert weigh(np.array([0.0, 0.0, 1.0]), np.full(3, 1 / 3)) == pytest.approx([0.5, 0.5, 0.0])


class TestMethod:
    @pytest.mark.parametrize("paths", [True, False])
    def test_one_graph_of_the_usual_size_changes_nothing(self, paths):
        usual, one = (rerank.create("cas", geodesic=paths, graphs=g).fit(GALLERY) for g in ("", "5"))
        for ask in (lambda m: m.rank_self(top=149), lambda m: m.rank(QUERIES, top=150)):
            assert (ask(usual).ids == ask(one).ids).all()
            assert (ask(usual).scores == ask(one).scores).all()

    def test_the_graphs_are_those_of_eq_2(self):
        expected, beta = naive(dense_graphs(GALLERY, SIZES), MU)
        method = rerank.create("cas", graphs="4,7,12", cap=1000).fit(GALLERY)
        assert np.allclose(method.stored.graph_weights, beta, atol=1e-5)
        assert np.allclose(method.stored.diffused.toarray(), expected, atol=1e-5)

    def test_the_order_of_the_sizes_does_not_matter(self):
        first, second = (rerank.create("cas", graphs=g).fit(GALLERY) for g in ("4,7,12", "12,4,7"))
        assert np.allclose(first.stored.graph_weights, second.stored.graph_weights[[1, 2, 0]], atol=1e-6)
        assert np.allclose(first.rank_self(20).scores, second.rank_self(20).scores, atol=1e-4)

    def test_unseen_queries_are_answered_as_if_they_had_joined(self):
        asked = np.arange(0, 150, 10)
        queries, gallery = GALLERY[asked], np.delete(GALLERY, asked, axis=0)
        answers = rerank.create("cas", graphs="4,7,12").fit(gallery).rank(queries, top=20).ids
        alone = [
            rerank.create("cas", graphs="4,7,12").rerank(q[None], gallery, top=20).ids[0] for q in queries
        ]
        shared = [len(np.intersect1d(a, b)) / 20 for a, b in zip(answers, alone, strict=True)]
        assert np.mean(shared) > 0.9

    def test_the_row_of_an_unseen_query_is_its_fixed_point_over_all_graphs(self):
        """F_q = (1 - sum alpha) e_q + sum_v alpha_v S_v,q F, the edges those of a query that joins."""
        method = rerank.create("cas", graphs="4,7,12", cap=1000).fit(GALLERY)
        n, stored = len(GALLERY), method.stored
        for query in QUERIES[:3]:
            everyone = np.concatenate([GALLERY, query[None]])
            distances = dense_cas.relative_distances(everyone)
            near = dense_cas.order_of(distances)[n, 1:26].astype(np.int32)
            unit = everyone / np.linalg.norm(everyone, axis=1, keepdims=True)
            alike = (unit[near] @ unit[n]).astype(np.float32)
            out, back = (
                np.exp(-d / 0.09).astype(np.float32) for d in (distances[n, near], distances[near, n])
            )
            expected, alpha = np.zeros(n + 1), 1 / (1 + MU / 3)
            expected[n] = 1 - alpha
            scratch, touched = np.zeros(n + 1, np.float32), np.empty(n + 2, np.int32)
            mutual, core, edges = np.empty(25, bool), np.empty(5, np.int32), np.empty(25, np.float32)
            unseen.core_of(near, alike, stored.radius_trusted, 5, mutual, core)
            reached = unseen.restart(n, np.float32(alpha), scratch, touched)
            for v, w in enumerate(dense_graphs(everyone, SIZES)):
                own, degree, share = w[n, :n], stored.degree[v], alpha * stored.graph_weights[v]
                steps = own / np.sqrt(own.sum() * np.maximum(degree, own))
                expected[:n] += share * (steps @ stored.diffused.toarray())
                radius = stored.graph_radius[v]
                unseen.edges(near, alike, out, back, mutual, radius, SIZES[v] - 1, np.float32(2), edges)
                reached = unseen.diffuse_row(
                    near, edges, degree, np.float32(share), parts(stored.diffused), scratch, touched, reached
                )
            assert np.allclose(scratch, expected, atol=1e-6)

    def test_weights_and_radii_are_kept(self, tmp_path):
        method = rerank.create("cas", graphs="4,7,12").fit(GALLERY)
        rerank.save(method, tmp_path / "fitted.npz")
        again = rerank.load(tmp_path / "fitted.npz")
        assert (again.stored.graph_weights == method.stored.graph_weights).all()
        assert (again.rank(QUERIES, 50).ids == method.rank(QUERIES, 50).ids).all()

    def test_what_was_kept_before_there_were_several_graphs_still_answers(self):
        method = rerank.create("cas").fit(GALLERY)
        old = {name: a for name, a in method.state().items() if name not in ("graph_radius", "graph_weights")}
        old["degree"] = old["degree"].ravel()
        again = rerank.create("cas").adopt(method.vectors, neighbors=method.known_neighbors, state=old)
        assert (again.rank(QUERIES, 50).scores == method.rank(QUERIES, 50).scores).all()


class TestParameter:
    @pytest.mark.parametrize("given", ["10,15", [10, 15], (10, 15), "10, 15"])
    def test_sizes_are_a_text_or_a_list(self, given):
        method = rerank.create("cas", graphs=given)
        assert method.params.graph_sizes == (9, 14)
        again = rerank.create("cas", **json.loads(json.dumps(method.get_params())))
        assert again.params == method.params

    def test_one_number_as_the_command_line_reads_it(self):
        assert rerank.create("cas", graphs=7).params.graph_sizes == (6,)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"graphs": "10,x"},
            {"graphs": "1,5"},
            {"graphs": "5,"},
            {"graphs": "5,5"},
            {"graphs": "5,100001"},
            {"graphs": -3},
            {"graphs": "10,15", "solver": "resolvent"},
            {"graphs": "10,15", "similarity": "original"},
        ],
        ids=str,
    )
    def test_what_is_wrong_is_named(self, parameters):
        with pytest.raises(BadParameter, match=r"cas: parameter graphs is .* sizes from 2 to 100000"):
            rerank.create("cas", **parameters)

    def test_sizes_beyond_the_gallery_mean_everybody(self):
        few = GALLERY[:12]
        beyond, all_others = (
            rerank.create("cas", graphs=g).fit(few).rank_self(11) for g in ("5,400", "5,12")
        )
        assert (beyond.ids == all_others.ids).all()
