"""The system of a diffusion with its items numbered along the graph.

An item's neighbours then stand close together in memory: what one step of the solver reads is in the caches
still, and a step costs the same per item however many there are. Numbering costs less than one such step.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from foldwalk.core.types import AnyArray
from foldwalk.walk.conjugate import solve_diffusion

NUMBER_ABOVE = 20_000  # items: all right-hand sides of fewer are in the caches anyway


class NumberedSystem:
    """(I - alpha S) X = B for one symmetric S and many B, both in the items' own order."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.matrix, self.order = matrix, None
        if matrix.shape[0] > NUMBER_ABOVE:
            self.order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
            self.matrix = sparse.csr_array(matrix[self.order][:, self.order])
            self.matrix.sort_indices()

    def solve(
        self, right_hand_sides: AnyArray, alpha: float, tolerance: float = 1e-6, max_iterations: int = 20
    ) -> AnyArray:
        """As `solve_diffusion` does."""
        if self.order is None:
            return solve_diffusion(self.matrix, right_hand_sides, alpha, tolerance, max_iterations)
        solved = solve_diffusion(self.matrix, right_hand_sides[self.order], alpha, tolerance, max_iterations)
        answer = np.empty_like(solved)
        answer[self.order] = solved
        return answer
