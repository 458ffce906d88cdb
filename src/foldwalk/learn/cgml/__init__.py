"""Graph consistency for metric learning (CGML)."""

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
