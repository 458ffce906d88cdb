"""What the paper compares its pools with (table 1, table 2 and section 5.1).

Non-neighbours (Hadsell, Chopra and LeCun 2006): negatives are random items beyond the k nearest.

Cyclic match (Li et al., "Unsupervised visual representation learning by graph-based consistent constraints",
ECCV 2016): two items match if the directed k-NN graph has a cycle of limited length through both.

Oracles (section 5.1): pools by labels, which say what better pools could bring.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array, Int32Array, IntArray
from foldwalk.graph import as_rows
from foldwalk.learn.mining.sets import difference
from foldwalk.rerank.order import Reached


def random_others(
    close: Int32Array, anchors: IntArray, items: int, count: int, seed: int
) -> tuple[Int32Array, Float32Array]:
    """Up to `count` random items for each anchor, neither itself nor among `close`; similarity unknown, 0."""
    width = min(items, count + close.shape[1] + 1)
    rng = generator(seed, "mining non-neighbours")
    drawn = np.stack([rng.choice(items, size=width, replace=False) for _ in anchors]).astype(np.int32)
    forbidden = np.concatenate([close, anchors[:, None].astype(np.int32)], axis=1)
    return difference(drawn, np.zeros(drawn.shape, np.float32), forbidden, items, count)


def cyclic_positives(
    nearest: Neighbors, anchors: IntArray, cycle: int, count: int
) -> tuple[Int32Array, Float32Array]:
    """Items on a common cycle of at most `cycle` steps; the similarity is the number of such cycles.

    A cycle through i and j is a walk of a steps there and of b steps back, a + b <= cycle; walks that visit
    an item twice are counted as well.
    """
    step = as_rows(nearest, np.ones_like(nearest.similarities), len(nearest))
    walks = [step]
    for _ in range(cycle - 2):
        walks.append(walks[-1] @ step)
    cycles = sparse.csr_array(step.shape, dtype=np.float32)
    for a, there in enumerate(walks, start=1):
        for b, back in enumerate(walks, start=1):
            if a + b <= cycle:
                cycles = cycles + there.multiply(back.T)
    found = Reached.from_sparse(sparse.csr_array(cycles)[anchors], count, len(nearest), anchors)
    return found.ids, found.scores


def same_label(
    unit: Float32Array, codes: IntArray, anchors: IntArray, count: int
) -> tuple[Int32Array, Float32Array]:
    """Up to `count` items of each anchor's class, the most similar first."""
    width = min(count, int(np.bincount(codes).max()) - 1)
    ids, values = np.full((len(anchors), width), -1, np.int32), np.zeros((len(anchors), width), np.float32)
    for code in np.unique(codes[anchors]):
        rows, members = np.flatnonzero(codes[anchors] == code), np.flatnonzero(codes == code)
        similar = unit[anchors[rows]] @ unit[members].T
        similar[members[None, :] == anchors[rows][:, None]] = -np.inf  # sorts last and is cut off
        order = np.argsort(-similar, axis=1, kind="stable")[:, : min(width, len(members) - 1)]
        ids[rows, : order.shape[1]] = members[order]
        values[rows, : order.shape[1]] = np.take_along_axis(similar, order, axis=1)
    return ids, values


def other_label(
    nearest: Neighbors, codes: IntArray, anchors: IntArray, count: int
) -> tuple[Int32Array, Float32Array]:
    """Up to `count` of each anchor's nearest neighbours that are of another class, the nearest first."""
    ids, values = nearest.ids[anchors], nearest.similarities[anchors]
    own = np.where(codes[ids] == codes[anchors][:, None], ids, -1).astype(np.int32)
    return difference(ids, values, own, len(nearest), count)
