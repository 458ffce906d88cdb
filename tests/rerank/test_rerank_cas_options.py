"""What CAS can be asked for beside its defaults: table 5, any E, the graph's size, paths by any distance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import dense_cas
from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter
from foldwalk.graph import radius
from foldwalk.rerank.diffusion.cas import unseen
from foldwalk.rerank.diffusion.cas.asked import Rows
from foldwalk.rerank.diffusion.cas.inductive import query_rows
from foldwalk.walk import numbered
from samples import clustered

GALLERY, LABELS = clustered(n=150, d=12)
QUERIES, _ = clustered(n=10, d=12, seed=4)
EVERYONE = np.concatenate([GALLERY, QUERIES])
EVERY_ITEM = np.arange(150)
ALPHA = 1 / 1.23


def some_target(n=150, seed=0, share=0.05):
    rng = np.random.default_rng(seed)
    half = np.triu(np.where(rng.random((n, n)) < share, rng.random((n, n)), 0), 1)
    return half + half.T + np.diag(rng.random(n) + 0.5)


def unseen_rows(method):
    """F' of the queries, as fitted rows have it, and what they found."""
    unit = GALLERY / np.linalg.norm(GALLERY, axis=1, keepdims=True)
    asked = type(method.vectors)(
        (QUERIES / np.linalg.norm(QUERIES, axis=1, keepdims=True)).astype(np.float32)
    )
    found = method.search(asked, 25)
    squared = 2 - 2 * asked.values.astype(np.float64) @ unit.T
    scale = squared.max(axis=1).astype(np.float32)
    rows = query_rows(method.stored, found, scale, method.params, asked, method.vectors)
    return rows, found, squared, scale


def largest_of(row, k):
    kept = np.where(row >= np.sort(row)[-k], row, 0)
    return kept / kept.sum()


class TestTable5:
    def test_the_original_similarity_of_an_unseen_query(self):
        """Its affinities to the cluster, then eq. 17 beside the stored rows."""
        method = rerank.create("cas", similarity="original", clusters="neighbors", smoothing="none")
        (ids, values, sizes), found, squared, scale = unseen_rows(method.fit(GALLERY))
        averaged, walk = method.stored.averaged.toarray(), method.stored.walk.toarray()
        for q in range(10):
            own = np.zeros(151)
            own[found.ids[q, :20]] = np.exp(-squared[q, found.ids[q, :20]] / scale[q] / 0.3**2)
            own[150] = 1
            own /= own.sum()
            step = own[150] * own
            step[:150] += own[:150] @ averaged
            step = largest_of(step, 25)
            row = step[150] * step
            row[:150] += step[:150] @ walk
            ours = np.zeros(151)
            ours[ids[q, : sizes[q]]] = values[q, : sizes[q]]
            assert np.allclose(ours, row / row.sum(), atol=1e-5)

    def test_names_are_those_of_the_paper(self):
        with pytest.raises(BadParameter, match="one of bidirectional, smoothed, original"):
            rerank.create("cas", similarity="one_sided")

    def test_nothing_diffused_cannot_be_fused(self):
        with pytest.raises(BadParameter, match=r"fuse_with='diffusion' .* similarity='original'"):
            rerank.create("cas", similarity="original", fuse_with="diffusion")


class TestTarget:
    """E of eq. 3, 11 and 12."""

    def test_against_the_dense_form(self):
        target = some_target()
        distances = dense_cas.final_distances(GALLERY, EVERY_ITEM, target=target)
        method = rerank.create("cas", geodesic=False, cap=1000)
        for given in (target, sparse.coo_array(target)):
            ours = method.fit(GALLERY, target=given).rank_self(top=149)
            expected = np.take_along_axis(distances, ours.ids, axis=1)
            assert np.allclose(ours.scores, 1 - expected, atol=1e-4)

    @pytest.mark.parametrize("solver", ["iterate", "cg", "lyapunov"])
    @pytest.mark.parametrize("size", [1.0, 1e4])
    def test_solves_the_lyapunov_equation(self, solver, size):
        target = size * some_target()
        found = rerank.create("cas", solver=solver).fit(GALLERY, target=target).stored.diffused.toarray()
        # S from the closed form that holds for E = I: (1 - alpha) (I - alpha S)^-1.
        plain = rerank.create("cas", solver=solver).fit(GALLERY).stored.diffused.toarray()
        system = (1 - ALPHA) * np.linalg.inv(plain.astype(np.float64))
        left, right = system @ found + found @ system, 2 * (1 - ALPHA) * target
        assert np.allclose(left, right, atol=1e-4 * size)
        assert not np.allclose(found, plain, atol=0.01)

    @pytest.mark.parametrize("solver", ["ten_steps", "iterate", "cg", "lyapunov"])
    def test_the_identity_gives_what_no_target_gives(self, solver):
        method = rerank.create("cas", solver=solver)
        expected = method.fit(GALLERY).rank_self(top=20), method.rank(QUERIES, top=20)
        method.fit(GALLERY, target=np.eye(150))
        for before, after in zip(expected, (method.rank_self(top=20), method.rank(QUERIES, 20)), strict=True):
            assert (before.ids == after.ids).all()
            assert (before.scores == after.scores).all()

    def test_similarities_that_are_known_come_to_count(self, tmp_path):
        """E says which two classes belong together, and they become each other's next; files keep it."""
        together = LABELS // 2
        target = (together[:, None] == together).astype(float)
        whole = {"clusters": "neighbors", "cluster_k": 149, "cap": 1000, "markov_k": 60, "smoothing": "none"}
        told = rerank.create("cas", geodesic=False, **whole).fit(GALLERY, target=target)
        alone = rerank.create("cas", geodesic=False, **whole).fit(GALLERY)

        def share(method):
            return (together[method.rank_self(top=45).ids] == together[:, None]).mean()

        assert share(told) > 0.99
        assert share(alone) < 0.6
        rerank.save(told, tmp_path / "told.npz")
        loaded = rerank.load(tmp_path / "told.npz")
        for mine, theirs in (
            (told.rank_self(50), loaded.rank_self(50)),
            (told.rank(QUERIES, 50), loaded.rank(QUERIES, 50)),
        ):
            assert (mine.ids == theirs.ids).all()
        # It belongs to that gallery alone.
        assert (told.fit(GALLERY).rank_self(30).ids == alone.rank_self(30).ids).all()

    def test_the_matrix_given_stays_as_it_is(self):
        entries, places = np.float32([1, 0, 2, 3]), ([0, 1, 5, 5], [0, 1, 5, 5])
        given = sparse.csr_array((np.ones(150, np.float32), np.arange(150), np.arange(151)), shape=(150, 150))
        given = sparse.csr_array(given + sparse.coo_array((entries, places), shape=(150, 150)))
        given.data[3] = 0
        before = given.copy()
        rerank.create("cas").fit(GALLERY, target=given)
        assert given.nnz == before.nnz
        assert (given.data == before.data).all()

    def test_places_inside_do_not_matter(self, monkeypatch):
        target = some_target()
        expected = rerank.create("cas").fit(GALLERY, target=target).rank_self(top=30)
        monkeypatch.setattr(numbered, "NUMBER_ABOVE", 10)
        assert (rerank.create("cas").fit(GALLERY, target=target).rank_self(top=30).ids == expected.ids).all()

    @pytest.mark.parametrize(
        ("target", "sentence"),
        [
            (np.eye(149), r"150 x 150, one row an item, but its shape is \(149, 149\)"),
            (np.ones(150), r"150 x 150, .* shape is \(150,\)"),
            (np.full((150, 150), np.nan), "not finite"),
            (-np.eye(150), "negative"),
            (np.triu(np.ones((150, 150))), "symmetric"),
            ("similar", "array of numbers"),
        ],
        ids=["size", "flat", "nan", "negative", "triangle", "text"],
    )
    def test_what_is_no_target_is_refused_in_one_sentence(self, target, sentence):
        method = rerank.create("cas").fit(GALLERY)
        with pytest.raises(BadInput, match=f"cas: target .*{sentence}"):
            method.fit(GALLERY, target=target)

    @pytest.mark.parametrize(
        ("parameters", "sentence"),
        [
            ({"solver": "resolvent"}, "solver='resolvent'.* ten_steps, iterate, cg, lyapunov"),
            ({"similarity": "smoothed"}, "similarity='bidirectional'"),
            ({"first": 20}, "first="),
        ],
        ids=str,
    )
    def test_parameters_that_have_no_place_for_it_say_so(self, parameters, sentence):
        with pytest.raises(BadInput, match=sentence):
            rerank.create("cas", **parameters).fit(GALLERY, target=np.eye(150))

    def test_refused_on_many_items(self):
        many = np.random.default_rng(0).normal(size=(5001, 4))
        with pytest.raises(BadInput, match="refused above 5000 items"):
            rerank.create("cas").fit(many, target=sparse.eye_array(5001))


class TestGraphSize:
    @pytest.mark.parametrize(("graph_k", "trusted_k"), [(2, 6), (4, 5), (10, 6)])
    def test_edges_and_core_of_an_unseen_query(self, graph_k, trusted_k):
        """By counting who would have whom among the nearest, had the query joined."""
        method = rerank.create("cas").fit(GALLERY)
        neighbors = method.neighbors(24)
        _, found, _, _ = unseen_rows(method)
        rng = np.random.default_rng(0)
        for q in range(10):
            outward, inward = rng.random((2, 25)).astype(np.float32)
            weights, core = np.empty(25, np.float32), np.empty(trusted_k, np.int32)
            mutual, near = np.empty(25, bool), (found.ids[q], found.similarities[q])
            cores = unseen.core_of(*near, radius(neighbors, trusted_k - 1), trusted_k, mutual, core)
            joined = mutual, radius(neighbors, graph_k), graph_k
            unseen.edges(*near, outward, inward, *joined, np.float32(2), weights)
            trusted = []
            for place, (j, similarity) in enumerate(zip(found.ids[q], found.similarities[q], strict=True)):
                before_it = (neighbors.similarities[j] > similarity).sum()
                weight = outward[place] * (place < graph_k) + inward[place] * (before_it < graph_k)
                if place < trusted_k - 1 and before_it < trusted_k - 1:
                    trusted.append(j)
                    weight *= 2
                assert weights[place] == pytest.approx(weight / 2)
            assert core[:cores].tolist() == trusted

    def test_nothing_said_is_the_core_without_the_item(self):
        default = rerank.create("cas", trusted_k=7).fit(GALLERY)
        said = rerank.create("cas", trusted_k=7, graph_k=6).fit(GALLERY)
        other = rerank.create("cas", trusted_k=7, graph_k=12).fit(GALLERY)
        for rank in (lambda m: m.rank_self(50).scores, lambda m: m.rank(QUERIES, 50).scores):
            assert np.array_equal(rank(default), rank(said))
            assert not np.allclose(rank(default), rank(other), atol=1e-3)

    def test_what_another_version_kept_is_computed_anew(self):
        fitted = rerank.create("cas").fit(GALLERY)
        state = {name: array for name, array in fitted.state().items() if name != "graph_radius"}
        assert len(state) == len(fitted.state()) - 1
        adopted = rerank.create("cas").adopt(fitted.vectors, state=state)
        assert np.array_equal(adopted.rank(QUERIES, 50).scores, fitted.rank(QUERIES, 50).scores)


class TestPaths:
    """Shortest paths before the fusion, for each distance of rows and for both that are fused."""

    @pytest.mark.parametrize("fuse_with", ["euclidean", "diffusion"])
    @pytest.mark.parametrize("distance", ["jensen_shannon", "cosine", "jaccard", "euclidean", "similarity"])
    def test_against_the_dense_form(self, distance, fuse_with):
        rows = dense_cas.rows_of(EVERYONE)
        direct = dense_cas.distances_of_rows(rows, rows, distance)
        relative = dense_cas.relative_distances(EVERYONE)
        paths = dense_cas.shortest_paths(direct, dense_cas.order_of(relative)[:, 1:8])[150:, :150]
        apart = relative[150:, :150]
        if fuse_with == "diffusion":
            diffused = dense_cas.similarity_of(EVERYONE)[150:, :150]
            apart = 1 - diffused / diffused.max(axis=1, keepdims=True)
        total = 0.7 * paths + 0.3 * apart
        method = rerank.create("cas", distance=distance, fuse_with=fuse_with, geodesic_k=8, cap=1000)
        ours = method.rerank(QUERIES, GALLERY, top=150)
        for q in range(10):
            reached = ours.scores[q] > 0
            expected = 1 / (1 + total[q][ours.ids[q]])
            assert np.allclose(ours.scores[q][reached], expected[reached], atol=1e-4)
            assert np.isinf(paths[q][ours.ids[q][~reached]]).all()

    @pytest.mark.parametrize("distance", ["jensen_shannon", "cosine", "jaccard", "euclidean", "similarity"])
    def test_first_steps_of_unseen_queries(self, distance):
        method = rerank.create("cas", distance=distance).fit(GALLERY)
        rows, found, _, _ = unseen_rows(method)
        indptr, places, lengths = method.paths.starts(found.first(6), Rows.of_width(*rows))
        stored = np.pad(method.rows.toarray(), ((0, 0), (0, 1)))
        for q in range(10):
            mine = np.zeros(151)
            mine[rows[0][q, : rows[2][q]]] = rows[1][q, : rows[2][q]]
            expected = dense_cas.distances_of_rows(mine[None], stored, distance)[0]
            part = slice(indptr[q], indptr[q + 1])
            assert np.allclose(lengths[part], expected[places[part]], atol=1e-4)

    @pytest.mark.parametrize("fuse_with", ["euclidean", "diffusion"])
    def test_without_paths_fused_with_the_diffusion(self, fuse_with):
        """The whole weight on what is fused: the order of plain search, or that of F."""
        method = rerank.create("cas", geodesic=False, omega=1.0, fuse_with=fuse_with, cap=1000).fit(GALLERY)
        ours = method.rank_self(top=10).ids
        similarity = dense_cas.similarity_of(GALLERY)
        if fuse_with == "euclidean":
            similarity = -dense_cas.relative_distances(GALLERY)
        np.fill_diagonal(similarity, -np.inf)
        best = -np.sort(-similarity, axis=1)[:, :10]
        assert np.allclose(np.take_along_axis(similarity, ours, axis=1), best, atol=1e-5)
