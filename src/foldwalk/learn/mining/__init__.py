"""Mining on Manifolds: training examples from a collection without labels."""

from foldwalk.learn.mining.miner import ManifoldMiner, MinerParams
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
