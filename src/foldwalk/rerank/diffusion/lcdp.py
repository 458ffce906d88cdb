"""LCDP: a random walk that may only step to near neighbours, taken from both items of a pair at once.

X. Yang, S. Koknar-Tezel and L. J. Latecki, "Locally constrained diffusion process on locally densified
distance spaces with applications to shape retrieval", CVPR 2009 (in brief: section 2.1 of the GRAD-Net
paper). P holds the affinities of each item to its k nearest, itself counted, scaled to sum one, and

    P_0 = P,   P_{t+1} = P P_t P'      so that      P_t = P^t P (P')^t,

the probability that a walker from i and a walker from j end at neighbours. A row stands alone: it is walked
when it is asked for, cut to its `keep` largest entries on the way. Against the uncut walk the first 50 agree
by 1.000 at keep = 300 (synthetic sets of 1,000 and 2,000); `dense=True` cuts nothing, on up to 5,000.

Where we deviate. The affinity is exp(-d^2 / (r_i r_j)), r being the distance to the k-th nearest: the authors
adapt the width of their Gaussian to the neighbourhood likewise. They choose the number of steps by data set:
nothing holds the walk back, so that many steps suit large classes only; the default here is three. The second
half of the paper, points added between the given ones to densify the space, is left out. An unseen query has
edges to its k - 1 nearest, nobody to it: its row is p_q P^t (P')^t.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field
from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.rerank.diffusion.shared.affinity import gaussian_rows
from foldwalk.rerank.diffusion.shared.by_rows import WalkByRows
from foldwalk.rerank.params import Params, neighborhood, uncut
from foldwalk.rerank.registry import register
from foldwalk.walk import scale_rows
from foldwalk.walk.series import two_sided_series


class LCDPParams(Params):
    k: int = neighborhood(10, "nearest to which the walk may step, the item itself counted", low=2)
    steps: int = Field(3, ge=0, le=1000, description="steps of the iteration")
    keep: int = Field(300, ge=1, le=5000, description="entries to which a row is cut at each step")
    dense: bool = uncut()


@register
class LCDP(WalkByRows):
    name = "lcdp"
    family = "diffusion"
    paper = "Yang et al., Locally constrained diffusion process, CVPR 2009"
    summary = "walkers from both items step among near neighbours only; alike are items where they meet"
    Parameters = LCDPParams
    takes_distances = True

    def _edges(self, found: Neighbors, itself: bool) -> sparse.csr_array:
        return scale_rows(gaussian_rows(found, self.params.k, self.reach, itself))

    def _walk(self, starts: sparse.csr_array) -> sparse.csr_array:
        last_only = np.eye(self.params.steps + 1)[-1]
        return two_sided_series(self.transitions, self.transitions.T.tocsr(), starts, last_only, self.keep)
