"""Discriminative query expansion: a linear classifier learns the nearest items apart from the farthest.

R. Arandjelovic and A. Zisserman, "Three things everyone should know to improve object retrieval", CVPR
2012: the second of the three (in brief: section 2 of the CAS paper). For each query a linear support vector
machine is trained, with the query and its k nearest items as positives and the `negatives` farthest as
negatives,

    min over w, b of  |w|^2 / 2 + b^2 / 2 + C sum over i of max(0, 1 - y_i (w . x_i + b)),

and items are ranked by w . x. The paper's positives are verified geometrically and its negatives are 200 of
low rank; unverified, four positives as in `aqe.py` are less often wrong. Here no more than half of the
items that are not positives become negatives; where there are too few for that, the positives are simply
added up. Above 20,000 items the farthest are looked for in a fixed sample of some 2,000, which costs next
to nothing: they only have to be wrong. Items between near and far are no examples, and the machine may well
put a neighbouring cluster high: with few dimensions this can lose against plain search.

The machine is the one of LIBLINEAR and is solved as there, by coordinate descent in the dual, but on the
matrix of dot products and for many queries at once. By the cosine metric w is compared by its direction; by
the Euclidean one vectors are first centred and scaled to a mean length of one. `dba=True` (DDBA) replaces
every item by the direction learned for it, from itself and its `dba_k` - 1 nearest.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float32Array, Int32Array
from foldwalk.core.vectors import Vectors
from foldwalk.neighbors import Searcher
from foldwalk.rerank.expansion.shared.base import Expansion, ExpansionParams
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register
from foldwalk.walk import top_of_dense_rows
from foldwalk.walk.machines import solve_duals

BLOCK_BYTES = 64 * 2**20


class DQEParams(ExpansionParams):
    k: int = neighborhood(4, "nearest items that are positives beside the query")
    negatives: int = neighborhood(200, "farthest items that are negatives")
    cost: float = Field(1.0, gt=0, le=1e6, description="C, the price of an example on the wrong side")


@register
class DQE(Expansion):
    name = "dqe"
    family = "expansion"
    paper = "Arandjelovic and Zisserman, Three things everyone should know, CVPR 2012"
    summary = "a linear classifier learns the nearest items apart from the farthest"
    Parameters = DQEParams

    def _prepare(self) -> None:
        self.cosine = self.params.metric == "cosine"
        self.centre, self.scale = np.float32(0), np.float32(1)
        if not self.cosine:
            self.centre = self.vectors.values.mean(axis=0)
            lengths = np.linalg.norm(self.vectors.values - self.centre, axis=1)
            self.scale = np.float32(lengths.mean() or 1)
        self.space = self._placed(self.vectors)
        wrong = self._placed(self.sample)
        self.wrong = wrong[wrong.any(axis=1)] if self.cosine else wrong
        self.expanded = self.searcher if self.cosine else Searcher(_lifted(self.space), "cosine")
        if self.params.dba:
            learned = self._mean(self.vectors, self.neighbors())
            self.expanded = Searcher(learned, "cosine", seed=self.seed)

    def _weights(self, neighbors: Neighbors) -> Float32Array:
        return (neighbors.ids >= 0).astype(np.float32)

    def _placed(self, vectors: Vectors) -> Float32Array:
        return np.asarray((vectors.values - self.centre) / self.scale, dtype=np.float32)

    def _mean(self, vectors: Vectors, neighbors: Neighbors) -> Vectors:
        """The direction learned for each vector; zero vectors have none."""
        own = self._placed(vectors)
        directions = np.empty_like(own)
        count = max(0, min(self.params.negatives, (len(self.wrong) - neighbors.k) // 2))
        examples = 1 + neighbors.k + count
        block = max(1, BLOCK_BYTES // (4 * examples * (own.shape[1] + examples)))
        with task("learning directions", len(own)) as advance:
            for first in range(0, len(own), block):
                part = slice(first, first + block)
                directions[part] = self._learn(own[part], neighbors.ids[part], count)
                advance(len(own[part]))
        directions[~vectors.values.any(axis=1)] = 0
        return Vectors(directions).unit() if self.cosine else _lifted(directions, lift=0)

    def _learn(self, own: Float32Array, near: Int32Array, count: int) -> Float32Array:
        """w for a block of vectors: the examples weighed by the solution of the dual."""
        positives = np.where((near >= 0)[:, :, None], self.space[near], np.float32(0))
        signs = np.concatenate([np.ones(1 + near.shape[1]), -np.ones(count)]).astype(np.float32)
        known = np.ones((len(own), len(signs)), np.bool_)
        known[:, 1 : 1 + near.shape[1]] = near >= 0
        if count == 0:
            return np.asarray(own + positives.sum(axis=1), dtype=np.float32)
        products = own @ self.wrong.T
        if not self.cosine:
            products -= np.einsum("ij,ij->i", self.wrong, self.wrong) / 2
        farthest = top_of_dense_rows(-products, count)[0]
        examples = np.concatenate([own[:, None], positives, self.wrong[farthest]], axis=1)
        gram = examples @ examples.transpose(0, 2, 1) + np.float32(1)  # the 1 stands for the bias
        alpha = np.zeros(known.shape, np.float32)
        solve_duals(gram, signs, known, np.float32(self.params.cost), alpha)
        return np.asarray(((alpha * signs)[:, None, :] @ examples)[:, 0])


def _lifted(points: Float32Array, lift: float = 1.0) -> Vectors:
    """Points with one more coordinate that makes all of them equally long, so that a direction without it has
    the same order by cosine as by dot product; lift = 0: directions."""
    squared = np.einsum("ij,ij->i", points, points)
    height = lift * np.sqrt(np.maximum(squared.max() * (1 + 1e-6) - squared, 0))
    return Vectors(np.hstack([points, height[:, None]]).astype(np.float32)).unit()
