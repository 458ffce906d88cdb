"""The BFS-tree of ranking references beside dense matrices filled tree by tree."""

from __future__ import annotations

import numpy as np
import pytest
from context_naive import (
    EVERYONE,
    GALLERY,
    LABELS,
    QUERIES,
    RELATED,
    agrees,
    as_if_joined,
    follows_lists,
    normalised_lists,
    reorder,
)
from reference import SETS, load_reference

from foldwalk import rerank


def rank_biased_overlap(a, b, p):
    return (1 - p) * sum(p ** (d - 1) * len(set(a[:d]) & set(b[:d])) / d for d in range(1, len(a) + 1))


def dense_bfs_tree(x, k, p, depth):
    n = len(x)
    heads = [row[:k] for row in reorder(normalised_lists(x, depth), depth, "min")]
    overlap = {(i, j): rank_biased_overlap(heads[i], heads[j], p) for i in range(n) for j in heads[i]}
    pairs = np.zeros((n, n))
    for q in range(n):
        first = [(x, overlap[q, x]) for x in heads[q]]
        second = [(y, overlap[q, x] * overlap[x, y]) for x in heads[q][1:] for y in heads[x][1:]]
        for left, right in ((first, first), (second, second), (first, second)):
            for a, weight_a in left:
                for b, weight_b in right:
                    pairs[a, b] += weight_a * weight_b
    pairs /= 1 + pairs.sum(axis=0)
    spread = pairs @ pairs.T
    return spread / (1 + spread.sum(axis=0))


@pytest.mark.parametrize(("k", "p", "depth"), [(6, 0.7, 77), (4, 0.9, 20), (9, 0.5, 77)])
def test_transductive_against_the_dense_form(k, p, depth):
    dense = dense_bfs_tree(EVERYONE, k, p, depth)
    method = rerank.create("bfs_tree", k=k, persistence=p, depth=depth, dense=True)
    ours = method.rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        agrees(ours, row, dense[70 + row, :70])


def test_own_rows_against_the_dense_form():
    dense = dense_bfs_tree(GALLERY, 6, 0.7, 70)
    np.fill_diagonal(dense, 0)
    ours = rerank.create("bfs_tree", k=6).fit(GALLERY).rank_self(top=69)
    for i in range(70):
        agrees(ours, i, dense[i])


@pytest.mark.parametrize("depth", [30, 77])
def test_what_no_tree_reaches_keeps_the_order_of_the_lists(depth):
    lists = reorder(normalised_lists(EVERYONE, depth), depth, "min")
    similarity = EVERYONE.astype(np.float64) @ EVERYONE.T
    ours = rerank.create("bfs_tree", k=3, depth=depth).rerank(QUERIES, GALLERY, top=70)
    for row in range(len(QUERIES)):
        follows_lists(ours, row, lists[70 + row][1:], similarity[70 + row, :70])


def test_identical_lists_overlap_by_all_but_the_tail():
    fitted = rerank.create("bfs_tree", k=6).fit(GALLERY)
    assert fitted.itself == pytest.approx(1 - 0.7**6, abs=1e-6)


def test_an_unseen_query_is_ranked_nearly_as_if_it_alone_had_joined():
    assert as_if_joined(rerank.create("bfs_tree", k=8), RELATED, 8) > 0.9


def test_rows_are_cut_to_their_largest_entries():
    fitted = rerank.create("bfs_tree", k=6, keep=9).fit(GALLERY)
    whole = rerank.create("bfs_tree", k=6, dense=True).fit(GALLERY).rows.toarray()
    for i in range(70):
        kept = fitted.rows[[i]]
        assert len(kept.data) <= 9
        assert np.allclose(np.sort(kept.data), np.sort(whole[i])[-len(kept.data) :], atol=1e-6)


def test_the_clusters_come_first():
    ranking = rerank.create("bfs_tree", k=8).fit(GALLERY).rank_self(top=8)
    assert (LABELS[ranking.ids] == LABELS[:, None]).mean() > 0.95


@pytest.mark.parametrize("place", range(3), ids=SETS)
def test_agrees_with_the_authors_program(place, reference_root, data_root):
    """It answers only the 400 nearest, queries that joined counted; ours answers more, and gains by it."""
    figures = (73.92, 92.96, 62.86)
    reference = load_reference(SETS[place], reference_root, data_root)
    method = rerank.create("bfs_tree", depth=400)
    ours = method.rerank(reference.queries, reference.gallery, top=len(reference.gallery))
    everyone = np.concatenate([reference.gallery, reference.queries]).astype(np.float32)
    everyone /= np.linalg.norm(everyone, axis=1, keepdims=True)
    count = len(reference.gallery)
    near = np.argsort(-(everyone[count:] @ everyone.T), axis=1)[:, :400]
    listed = [row[np.isin(row, other)] for row, other in zip(ours.ids, near, strict=True)]
    shares = [
        len(np.intersect1d(row[:50], theirs[:50])) / 50
        for row, theirs in zip(listed, reference.answers["bfs_tree"], strict=True)
    ]
    assert np.mean(shares) >= 0.98
    gain = reference.mean_average_precision(ours) - figures[place]
    assert gain == pytest.approx((0.27, 0.1, 1.1)[place], abs=0.3)
