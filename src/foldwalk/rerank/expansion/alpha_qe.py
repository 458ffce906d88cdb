"""alpha query expansion: the nearest items are averaged with weights that grow with their similarity.

F. Radenovic, G. Tolias and O. Chum, "Fine-tuning CNN image retrieval with no human annotation", TPAMI 2019,
section 3.5. With s_i the similarity of query q and its i-th nearest item x_i:

    q' = q + sum_i max(s_i, 0)^alpha x_i,   scaled to length one, then a second plain search.

alpha = 0 is average query expansion. The authors take some fifty items of large classes; 10 holds on small
ones too. `dba=True` as in `aqe.py`.
"""

from __future__ import annotations

from pydantic import Field

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.graph.kernels import cosine_power
from foldwalk.rerank.expansion.shared.base import Expansion, ExpansionParams
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class AlphaQEParams(ExpansionParams):
    k: int = neighborhood(10, "nearest items that are averaged with the query")
    alpha: float = Field(3.0, ge=0, le=100, description="power of the similarity that weighs an item")


@register
class AlphaQE(Expansion):
    name = "alpha_qe"
    family = "expansion"
    paper = "Radenovic et al., Fine-tuning CNN image retrieval with no human annotation, TPAMI 2019"
    summary = "query expansion with weights similarity^alpha"
    Parameters = AlphaQEParams

    def _weights(self, neighbors: Neighbors) -> Float32Array:
        return (neighbors.ids >= 0) * cosine_power(neighbors, self.params.alpha)
