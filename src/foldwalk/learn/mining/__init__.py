"""Mining on Manifolds: training examples from a collection without labels.

A. Iscen, G. Tolias, Y. Avrithis and O. Chum, "Mining on Manifolds: metric learning without labels", CVPR
2018. The numbers of equations, sections and tables in this folder are those of this paper.
"""

from foldwalk.learn.mining.miner import ManifoldMiner
from foldwalk.learn.mining.parameters import MinerParams
from foldwalk.learn.mining.pools import Pools
from foldwalk.learn.mining.report import PoolReport
from foldwalk.learn.mining.tuples import Tuples, draw_tuples, hardest_negatives

__all__ = [
    "ManifoldMiner",
    "MinerParams",
    "PoolReport",
    "Pools",
    "Tuples",
    "draw_tuples",
    "hardest_negatives",
]
