"""Rank by a diffusion that starts at sparse rows: solved in blocks of queries, cut to the top at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.core.types import IntArray
from foldwalk.rerank.order import Reached
from foldwalk.walk import NumberedSystem, columns_per_block, solve_dense


def ranked_by_diffusion(
    system: NumberedSystem,
    starts: sparse.csr_array,
    params: Any,
    top: int,
    candidates: int,
    own: IntArray | None,
) -> Reached:
    """The best of starts (I - alpha S)^-1 for each row of `starts`.

    `params` has alpha, tolerance, max_iterations and, where there is a choice, solver.
    """
    count, n = starts.shape
    block = columns_per_block(n)
    reached = []
    with task("diffusion", count) as advance:
        for first in range(0, count, block):
            part = starts[first : first + block]
            right = np.ascontiguousarray(part.toarray().T, dtype=np.float32)
            if getattr(params, "solver", "cg") == "closed":
                scores = solve_dense(system.matrix, right, params.alpha)
            else:
                scores = system.solve(right, params.alpha, params.tolerance, params.max_iterations)
            left_out = None if own is None else own[first : first + block]
            rows = np.ascontiguousarray(scores.T)
            reached.append(Reached.from_dense(rows, top, candidates, left_out))
            advance(part.shape[0])
    return Reached.join(reached)
