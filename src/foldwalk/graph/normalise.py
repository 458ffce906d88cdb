"""Affinities to transition matrices. Isolated items keep empty rows: nothing walks out of them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from foldwalk.core.errors import BadInput
from foldwalk.core.graph import Graph
from foldwalk.core.types import Float64Array

Normalisation = Literal["none", "row", "column", "symmetric", "pagerank"]


def degrees(graph: Graph) -> Float64Array:
    """The sum of each item's edge weights."""
    return np.asarray(graph.matrix.sum(axis=1, dtype=np.float64)).ravel()


def normalise(graph: Graph, how: Normalisation = "symmetric", restart: float = 0.15) -> Graph:
    """Scale the affinity matrix W, D being the diagonal of its row sums.

    "row": D^-1 W, each row a distribution. "column": W D^-1, with the column sums. "symmetric":
    D^-1/2 W D^-1/2, whose eigenvalues lie in [-1, 1] when W is symmetric. "pagerank":
    (1 - restart) D^-1 W + restart I, a walk that stays where it is with probability `restart`
    (the personalised PageRank matrix of Donoser and Bischof 2013).
    """
    matrix = graph.matrix
    if how == "none":
        return graph
    if how == "row":
        scaled = _diagonal(_inverse(degrees(graph))) @ matrix
    elif how == "column":
        column_sums = matrix.T @ np.ones(len(graph))  # float64, unlike matrix.sum(axis=0)
        scaled = matrix @ _diagonal(_inverse(column_sums))
    elif how == "symmetric":
        root = _diagonal(np.sqrt(_inverse(degrees(graph))))
        scaled = root @ matrix @ root
    elif how == "pagerank":
        walk = _diagonal(_inverse(degrees(graph))) @ matrix
        scaled = walk * (1 - restart) + restart * sparse.eye_array(len(graph))
    else:
        raise BadInput(f"normalisation must be none, row, column, symmetric or pagerank, not {how!r}.")
    result = sparse.csr_array(scaled, dtype=np.float32)
    result.sort_indices()
    return graph.then(result, how)


def _inverse(values: Float64Array) -> Float64Array:
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def _diagonal(values: Float64Array) -> sparse.dia_array:
    return sparse.diags_array(values)
