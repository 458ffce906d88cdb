"""Subgraph similarity refiner: the graph of a query and its nearest items is improved before it is read.

X. Shen, Y. Xiao, S. X. Hu, O. Sbai and M. Aubry, "Re-ranking for image retrieval and transductive few-shot
classification", NeurIPS 2021 (in brief: section 2 of the CAS paper). The similarities of the query and its k
nearest items form a graph of m = k + 1 members. Seen from each member i, its rows and columns are sorted by
their similarity to i; a perceptron reads the sorted graph and says how much to add to row i. In every round

    S <- S + (the m updates, one a row),    then S <- (S + S^T) / 2,

and the query's row of the last S ranks the items. The perceptron is the same for all members and rounds.

Readings and deviations: the authors' program carries the updates back to the vectors (step `refine_feat`),
with one perceptron for the query and one for the items; here one perceptron updates the similarities
themselves. The paper trains with labels on another collection, towards the graph that the labels induce. Here
the network is trained on the gallery itself, on pairs that its graph agrees on (see `shortlists.py`, also for
given labels), each friend against the strangers of the query's row. m = 33 and two rounds are ours: a graph
is read m times, so a query costs m^3. Similarities are counted from the mean of all pairs. The last layer of
the perceptron starts at zero: untrained, it is plain search. Once trained, the score is mixed with plain
similarity as far as held-out pairs ask for it. What is not on the list follows by plain similarity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from foldwalk.core.types import Float32Array, Int32Array
from foldwalk.rerank.learned.shared.shortlists import ShortlistNetwork, ShortlistParams
from foldwalk.rerank.learned.shared.training import need_torch
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class SSRParams(ShortlistParams):
    k: int = neighborhood(32, "nearest items that are re-ranked", high=200)
    rounds: int = Field(2, ge=1, le=20, description="rounds of refinement")
    hidden: int = Field(128, ge=1, le=10_000, description="width of the perceptron")


@register
class SSR(ShortlistNetwork):
    name = "ssr"
    family = "learned"
    paper = "Shen et al., Re-ranking for image retrieval and ... few-shot classification, NeurIPS 2021"
    summary = "the similarity graph of a query and its nearest items, refined by a network"
    Parameters = SSRParams

    def _network(self) -> Any:
        from foldwalk.rerank.learned.shared.subgraph import SubgraphRefiner

        return SubgraphRefiner(self.params.k + 1, self.params.hidden, self.params.rounds)

    def _graphs(self, queries: Float32Array, ids: Int32Array) -> Float32Array:
        """Similarities among each query and its list; absent members are as far as can be, at -1."""
        listed = np.concatenate([queries[:, None], self.items_of(ids)], axis=1)
        known = np.pad(ids >= 0, ((0, 0), (1, 0)), constant_values=True)
        pairs = known[:, :, None] & known[:, None, :]
        return np.where(pairs, self.similarity(listed, listed, pairs), np.float32(-1))

    def _scores(self, queries: Float32Array, ids: Int32Array) -> Any:
        torch = need_torch(self.name)
        refined = self.network(torch.from_numpy(self._graphs(queries, ids)))
        return torch.tanh(refined[:, 0, 1:])
