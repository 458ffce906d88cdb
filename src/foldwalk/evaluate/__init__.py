"""How good a ranking is: protocols (ground truth and rules), the metrics behind them, clustering."""

from foldwalk.evaluate.clustering import clustering_figures, nmi, pairwise_f1
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.protocols import (
    LeaveOneOut,
    Oxford,
    Protocol,
    QueryGallery,
    ReID,
    Revisited,
    SingleShot,
)

__all__ = [
    "Hits",
    "Judgement",
    "LeaveOneOut",
    "Oxford",
    "Protocol",
    "QueryGallery",
    "ReID",
    "Revisited",
    "SingleShot",
    "clustering_figures",
    "nmi",
    "pairwise_f1",
]
