"""TPG: diffusion on the graph of pairs, where (i, j) is joined to (k, l) if i is near k and j near l.

X. Yang, L. Prasad and L. J. Latecki, "Affinity learning with diffusion on tensor product graph", TPAMI 2013.
A holds transition probabilities cut to each item's k nearest, so that its rows sum to less than one.
Diffusion on the product of the graph with itself is the iteration (eq. 5 of the GRAD-Net paper restates it)

    Q <- A Q A' + I,      whose limit is      Q = sum_t A^t (A')^t:

vec(Q) = (I - A x A)^-1 vec(I), without a matrix of n^2 x n^2. A row of Q stands alone: off the diagonal it is
a_i Q A', walked when it is asked for and cut to its `keep` largest entries on the way. Against the uncut sum
the first 50 agree by 1.000 at keep = 300 (synthetic sets of 1,000 and 2,000).

Where we deviate. The authors divide an affinity by the sum of its row over all items before they cut; here
that sum runs over the `wide` nearest, which no longer grows with n. `dense=True` sums over all and cuts
nothing, for at most 5,000 items: its first 50 agree by .95 (1,000 items) and .94 (2,000), its mAP is lower
on ORL (92.0 against 92.4), MPEG-7 (78.0, 79.4) and Grocery (60.9, 61.7), higher on digits (85.1, 83.6). The
affinity is exp(-d^2 / (r_i r_j)), r being the distance to the k-th nearest: they adapt the width of their
Gaussian to the neighbourhood likewise. The sum ends after 20 steps. Neighbours are the k nearest, itself
counted, not the "dominant" ones among them. An unseen query has edges of its own, nobody to it: its row is
a_q Q A'.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.graph import as_rows
from foldwalk.rerank.diffusion.shared.affinity import local_gaussian
from foldwalk.rerank.diffusion.shared.by_rows import WalkByRows
from foldwalk.rerank.params import Params, neighborhood, uncut
from foldwalk.rerank.registry import register
from foldwalk.walk import multiply_capped
from foldwalk.walk.series import two_sided_series


class TPGParams(Params):
    k: int = neighborhood(10, "nearest to which the walk may step, the item itself counted", low=2)
    wide: int = neighborhood(50, "nearest over which transition probabilities sum to one, itself counted")
    steps: int = Field(20, ge=0, le=1000, description="steps of the iteration")
    keep: int = Field(300, ge=1, le=5000, description="entries to which a row is cut at each step")
    dense: bool = uncut()


@register
class TPG(WalkByRows):
    name = "tpg"
    family = "diffusion"
    paper = "Yang, Prasad and Latecki, Affinity learning with diffusion on tensor product graph, TPAMI 2013"
    summary = "affinity diffuses on the graph of pairs: two items are alike when their neighbours pair up"
    Parameters = TPGParams
    takes_distances = True

    def _wanted(self, n: int) -> int:
        return int(max(self.params.k, self.limit("wide", n))) - 1

    def _edges(self, found: Neighbors, itself: bool) -> sparse.csr_array:
        """Probabilities over the wide neighbourhood, of which the k nearest keep theirs."""
        affinity = local_gaussian(found, self.params.k, self.reach)
        sums = np.maximum(affinity.sum(axis=1) + np.float32(itself), np.float32(1e-12))
        near = found.first(min(self.params.k - 1, found.k))
        edges = as_rows(near, affinity[:, : near.k] / sums[:, None], len(self.vectors))
        return sparse.csr_array(edges + sparse.diags_array(1 / sums, format="csr")) if itself else edges

    def _walk(self, starts: sparse.csr_array) -> sparse.csr_array:
        back = self.transitions.T.tocsr()
        summed = two_sided_series(self.transitions, back, starts, np.ones(self.params.steps), self.keep)
        return multiply_capped(summed, back, self.keep)
