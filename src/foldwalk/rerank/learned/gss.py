"""Guided similarity separation: a graph network draws apart what is similar and what is not; no labels.

C. Liu, G. Yu, M. Volkovs, C. Chang, H. Rai, J. Ma and S. K. Gorti, "Guided similarity separation for image
retrieval", NeurIPS 2019. A holds the similarities of each item to its k nearest, in both directions, and

    S    = D^-1/2 (A + I) D^-1/2                                          (eq. 7 of the GRAD-Net paper)
    H1   = S X W1 + b1
    H2   = S elu(H1) W2 + b2
    Z    = H1 + decay elu(H2),   scaled to length one per item
    loss = - mean over pairs of (max(z_i . z_j, 0) - beta)^2 / 2  +  1e-5 (|W1|^2 + |W2|^2) / 2

beta is the 98th percentile of the similarities before training: what is above it is drawn together, the rest
apart. W1 and W2 start as the identity, so that training starts from two steps of diffusion. Ranking is plain
search among the z. An unseen query is joined to its k nearest and sees them; they do not see it.

As in the authors' program: k = 5 for items and queries, two layers, decay .3, Adam with rate 1e-4. Where we
deviate: the mean runs over the pairs of `batch` random items per step instead of all n x n; vectors are first
turned to their 512 leading principal axes, for W costs the square of that; the rate falls to zero; and the
authors report the epoch that was best by the labels of the test, which nobody has: here the number of steps
is fixed. Training needs torch, ranking with a fitted or loaded method does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.seeds import generator
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.graph import as_rows, knn_affinity
from foldwalk.neighbors import Searcher
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.shared.space import Space, canonical_order
from foldwalk.rerank.learned.shared.training import need_torch, train
from foldwalk.rerank.order import Reached
from foldwalk.rerank.params import Params, neighborhood
from foldwalk.rerank.registry import register

# Standard deviation of the weights beside the diagonal, weight of the penalty: as in the authors' program.
NOISE, PENALTY = 1e-5, 1e-5
# Items whose pairs tell the percentile.
SAMPLE = 2048


class GSSParams(Params):
    k: int = neighborhood(5, "nearest items that an item or a query is joined to")
    percentile: float = Field(98.0, ge=0, le=100, description="of all similarities, where beta lies")
    decay: float = Field(0.3, ge=0, le=10, description="weight of the second layer")
    steps: int = Field(100, ge=0, le=100_000, description="steps of training, each on a batch of items")
    batch: int = Field(512, ge=2, le=100_000, description="items per step, all pairs of which are compared")
    learning_rate: float = Field(1e-4, gt=0, le=1, description="of Adam, at the start")
    dimensions: int = Field(512, ge=1, le=100_000, description="principal axes of the vectors that are kept")


@register
class GSS(Reranker):
    name = "gss"
    family = "learned"
    paper = "Liu et al., Guided similarity separation for image retrieval, NeurIPS 2019"
    summary = "a graph network draws apart what is similar and what is not, without labels; then plain search"
    Parameters = GSSParams
    needs_training = True

    def _prepare(self) -> None:
        self._graph()
        self.space = Space.learn(self.vectors, self.params.metric, self.params.dimensions)
        features = self.space.place(self.vectors.values)
        self.weights = self._train(self.transitions @ features)
        self._index(features)

    def _graph(self) -> None:
        neighbors = self.neighbors()
        joined = knn_affinity(neighbors, neighbors.similarities, "union").matrix
        joined = sparse.csr_array(joined + sparse.eye_array(len(neighbors), dtype=np.float32))
        self.degrees = np.asarray(joined.sum(axis=1), np.float32).ravel()
        root = sparse.diags_array(1 / np.sqrt(self.degrees))
        self.transitions = sparse.csr_array(root @ joined @ root, dtype=np.float32)

    def _index(self, features: Float32Array) -> None:
        w1, b1, _, _ = self.weights
        self.features = features
        self.hidden = _elu((self.transitions @ features) @ w1 + b1)
        learned = self._second_layer(self.transitions @ features, self.transitions @ self.hidden)
        if self.params.metric == "cosine":
            learned[self.vectors.zero_rows] = 0
        self.learned = Vectors(learned).unit()
        gallery = Vectors(self.learned.values[: self.candidates])
        self.among_learned = Searcher(gallery, "cosine", self.params.search, self.seed)

    def _second_layer(self, first: Float32Array, second: Float32Array) -> Float32Array:
        """Z before scaling, from S X and S elu(H1)."""
        w1, b1, w2, b2 = self.weights
        return np.asarray(first @ w1 + b1 + self.params.decay * _elu(second @ w2 + b2), np.float32)

    def _train(self, messages: Float32Array) -> tuple[Float32Array, ...]:
        """W1, b1, W2, b2 from S X of all items."""
        torch = need_torch("gss")
        p, order, rng = self.params, canonical_order(self.vectors), generator(self.seed, "gss")
        dim = messages.shape[1]
        start = [(np.eye(dim) + NOISE * rng.normal(size=(dim, dim)), np.zeros(dim)) for _ in range(2)]
        w1, b1, w2, b2 = weights = [
            torch.tensor(a, dtype=torch.float32, requires_grad=True) for layer in start for a in layer
        ]

        def similarities(items: IntArray) -> Any:
            """Of all pairs of a batch; the first layer is needed at their neighbours as well."""
            rows = self.transitions[items]
            around = np.unique(rows.indices)
            at = torch.from_numpy(np.searchsorted(around, items))
            step = torch.from_numpy(rows[:, around].toarray())
            first = torch.from_numpy(messages[around]) @ w1 + b1
            second = step @ torch.nn.functional.elu(first) @ w2 + b2
            z = torch.nn.functional.normalize(first[at] + p.decay * torch.nn.functional.elu(second))
            return torch.relu(z @ z.T)

        with torch.no_grad():
            some = similarities(np.sort(order[:SAMPLE]))
            beta = float(np.percentile(some.numpy(), p.percentile))

        def loss(_: int) -> Any:
            drawn = rng.choice(len(order), size=min(p.batch, len(order)), replace=False)
            apart = ((similarities(order[np.sort(drawn)]) - beta) ** 2).mean() / 2
            return PENALTY / 2 * ((w1**2).sum() + (w2**2).sum()) - apart

        train("gss", weights, loss, p.steps, p.learning_rate)
        return tuple(w.detach().numpy() for w in weights)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        own = self.space.place(queries.values)
        found = self.search(queries, self.params.k)
        degree = 1 + np.maximum(found.similarities, 0).sum(axis=1, keepdims=True)
        to_items = as_rows(found, found.similarities, len(self.vectors))
        to_items = sparse.diags_array(1 / np.sqrt(degree.ravel())) @ to_items
        to_items = sparse.csr_array(
            to_items @ sparse.diags_array(1 / np.sqrt(self.degrees)), dtype=np.float32
        )
        first = to_items @ self.features + own / degree
        hidden = _elu(first @ self.weights[0] + self.weights[1])
        return self._nearest(self._second_layer(first, to_items @ self.hidden + hidden / degree), None, top)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        own = np.where(rows < self.candidates, rows, -1)
        return self._nearest(self.learned.values[rows], own, top)

    def _nearest(self, features: Float32Array, own: IntArray | None, top: int) -> Reached:
        found: Neighbors = self.among_learned.search(Vectors(features).unit(), min(top, self.candidates), own)
        return Reached(found.ids, found.similarities)

    def _state(self) -> dict[str, AnyArray]:
        return {**{f"weights{i}": w for i, w in enumerate(self.weights)}, **self.space.state()}

    def _restore(self, kept: Kept) -> None:
        self._graph()
        self.space = Space.restore(kept, self.vectors.dim, self.params.metric)
        wide = self.space.axes.shape[1]
        shapes = ((wide, wide), (wide,), (wide, wide), (wide,))
        self.weights = tuple(kept.numbers(f"weights{i}", *shape) for i, shape in enumerate(shapes))
        self._index(self.space.place(self.vectors.values))


def _elu(x: Float32Array) -> Float32Array:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
