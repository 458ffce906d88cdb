"""Graph consistency for metric learning (CGML).

B. Chen, P. Li, Z. Yan, B. Wang and L. Zhang, "Deep metric learning with graph consistency", AAAI 2021. The
numbers of equations in this folder are those of this paper.
"""

from foldwalk.learn.cgml.binomial import BinomialDevianceLoss
from foldwalk.learn.cgml.consistency import GraphConsistencyLoss, graph_consistency
from foldwalk.learn.cgml.halves import HalvesSampler, aligned_halves

__all__ = [
    "BinomialDevianceLoss",
    "GraphConsistencyLoss",
    "HalvesSampler",
    "aligned_halves",
    "graph_consistency",
]
