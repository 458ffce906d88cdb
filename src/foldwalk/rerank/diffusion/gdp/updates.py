"""One step of a diffusion, three ways (Donoser and Bischof 2013, section 2.3), T being the transition matrix:

    walk     A <- alpha T A + (1 - alpha) I
    tensor   A <- T A T'
    game     A <- the rows of (A T) * A' scaled to sum one, * entry by entry

Matrices are sparse, their rows cut to `keep` entries. Only the order within a row counts, so a matrix is
divided by its largest entry wherever it would outgrow float32; `scale` remembers by how much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from foldwalk.core.progress import task
from foldwalk.walk import multiply_capped, top_of_sparse_rows

BLOCK = 2048
# The authors stop when the first 2 k of successive rankings share hardly more items than one step before.
HARDLY_MORE = 0.3


@dataclass
class Diffusion:
    """The state of one run: `similarity` times `scale` is A."""

    transitions: sparse.csr_array
    similarity: sparse.csr_array
    update: str
    alpha: float
    keep: int
    scale: float = 1.0
    back: sparse.csr_array = field(init=False)

    def __post_init__(self) -> None:
        self.back = self.transitions.T.tocsr()

    def run(self, steps: int, watched: int) -> None:
        """At most `steps` steps; fewer when the first `watched` of all rankings settle (0: never)."""
        first, shared = top_of_sparse_rows(self.similarity, watched), -np.inf
        with task("diffusion", steps) as advance:
            for _ in range(steps):
                self.step()
                advance(1)
                if watched:
                    before, shared_before = first, shared
                    first = top_of_sparse_rows(self.similarity, watched)
                    shared = _shared(before, first)
                    if shared - shared_before < HARDLY_MORE:
                        break

    def step(self) -> None:
        if self.update == "walk":
            walked = multiply_capped(self.transitions, self.similarity, self.keep)
            restart = (1 - self.alpha) / self.scale
            identity = sparse.eye_array(walked.shape[0], format="csr", dtype=np.float32)
            after = walked * np.float32(self.alpha) + identity * np.float32(restart)
        elif self.update == "tensor":
            after = multiply_capped(self.transitions, self.similarity, self.keep)
            after = multiply_capped(after, self.back, self.keep)
        else:
            self.similarity = self._play()
            return
        largest = float(after.data.max(initial=0))
        largest = largest if largest > 0 else 1.0
        after.data /= np.float32(largest)
        self.similarity, self.scale = sparse.csr_array(after), self.scale * largest

    def _play(self) -> sparse.csr_array:
        """(A T) * A', only where A' has an entry; rows that hardly sum to anything stay small."""
        turned = self.similarity.T.tocsr()
        blocks = [
            (self.similarity[first : first + BLOCK] @ self.transitions).multiply(
                turned[first : first + BLOCK]
            )
            for first in range(0, turned.shape[0], BLOCK)
        ]
        played = sparse.csr_array(sparse.vstack(blocks, format="csr"), dtype=np.float32)
        sums = np.asarray(played.sum(axis=1, dtype=np.float64)).ravel()
        floor = 1 / len(sums)
        played.data = (played.data / np.repeat(np.maximum(sums, floor), np.diff(played.indptr))).astype(
            np.float32
        )
        return played


def _shared(one: sparse.csr_array, other: sparse.csr_array) -> float:
    """How many columns the rows of two matrices share, on average."""
    common = one.astype(bool).multiply(other.astype(bool))
    return float(common.sum()) / int(one.shape[0])
