"""What every stage shares: checked vectors, neighbours, graphs, rankings, errors, progress, seeds."""

from foldwalk.core.errors import (
    BadInput,
    BadParameter,
    FoldwalkError,
    Forked,
    MissingData,
    MissingExtra,
    NotFitted,
    TooFewNeighbors,
    UnknownName,
)
from foldwalk.core.graph import Graph
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.ranking import Ranking
from foldwalk.core.vectors import Vectors

__all__ = [
    "BadInput",
    "BadParameter",
    "FoldwalkError",
    "Forked",
    "Graph",
    "MissingData",
    "MissingExtra",
    "Neighbors",
    "NotFitted",
    "Ranking",
    "TooFewNeighbors",
    "UnknownName",
    "Vectors",
]
