"""Neighbour lists to affinity graphs."""

from foldwalk.graph.anchors import AnchorGraph, anchor_graph, local_anchor_embedding
from foldwalk.graph.build import as_rows, knn_affinity
from foldwalk.graph.kernels import cosine_power, gaussian, inverse_distance, reach, relative_exponential
from foldwalk.graph.normalise import degrees, normalise
from foldwalk.graph.numbering import Numbering
from foldwalk.graph.reciprocal import expand_sets, mutuality, radius, reciprocal_sets

__all__ = [
    "AnchorGraph",
    "Numbering",
    "anchor_graph",
    "as_rows",
    "cosine_power",
    "degrees",
    "expand_sets",
    "gaussian",
    "inverse_distance",
    "knn_affinity",
    "local_anchor_embedding",
    "mutuality",
    "normalise",
    "radius",
    "reach",
    "reciprocal_sets",
    "relative_exponential",
]
