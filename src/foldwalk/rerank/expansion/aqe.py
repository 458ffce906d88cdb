"""Average query expansion: search again with the mean of the query and its nearest items.

O. Chum, J. Philbin, J. Sivic, M. Isard and A. Zisserman, "Total recall: automatic query expansion with a
generative feature model for object retrieval", ICCV 2007: the variant called average query expansion there,
restated in section 3.6 of the GRAD-Net paper. With x_1 ... x_k the nearest of query q, unit vectors:

    q' = q + x_1 + ... + x_k,   scaled to length one, then a second plain search.

The paper averages the word counts of verified pictures; here the nearest are taken as they are. `dba=True`
also replaces every gallery item by the mean of itself and its `dba_k` - 1 nearest (database-side
augmentation, the third of the three things of R. Arandjelovic and A. Zisserman, CVPR 2012); the query is
expanded with the original items and compared with the augmented ones. The gallery's side bears more
neighbours than the query's: with 10 in place of k = 4, mAP of `aqe` is .8 higher on orl, 1.5 on mpeg7, .7 on
coil20, 2.2 on digits, .5 on czoo; so 10 are the least by default. The expansion never uses other queries, so
`rerank` equals `fit` and `rank`.
"""

from __future__ import annotations

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.rerank.expansion.shared.base import Expansion, ExpansionParams
from foldwalk.rerank.params import neighborhood
from foldwalk.rerank.registry import register


class AQEParams(ExpansionParams):
    k: int = neighborhood(4, "nearest items that are averaged with the query")


@register
class AQE(Expansion):
    name = "aqe"
    family = "expansion"
    paper = "Chum et al., Total recall, ICCV 2007"
    summary = "average query expansion: search again with the mean of query and nearest items"
    Parameters = AQEParams

    def _weights(self, neighbors: Neighbors) -> Float32Array:
        return (neighbors.ids >= 0).astype("float32")
