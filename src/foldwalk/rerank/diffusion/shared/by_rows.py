"""What the matrix iterations share: a row of their result is walked when it is asked for.

Each of them ends in  result = T G T' + (a diagonal)  or  T G + (a diagonal): row i is a walk that starts with
the edges of i. An unseen query has edges, too, though nobody has an edge to it; its row is the same walk.
"""

from __future__ import annotations

from abc import abstractmethod

from scipy import sparse

from foldwalk.core.neighbors import Neighbors
from foldwalk.core.progress import task
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.core.vectors import Vectors
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.shared.affinity import reach_of
from foldwalk.rerank.order import Reached

BLOCK = 4096


class WalkByRows(Reranker):
    """A method with edges of every item (`transitions`) that answers with a walk from them."""

    answers_from_rows = True
    transitions: sparse.csr_array
    reach: Float64Array
    keep: int

    @abstractmethod
    def _walk(self, starts: sparse.csr_array) -> sparse.csr_array:
        """The rows of the result that belong to these rows of edges."""

    @abstractmethod
    def _edges(self, found: Neighbors, itself: bool) -> sparse.csr_array:
        """Normalised edges to the nearest items and, for items of the graph, to the item itself."""

    def _wanted(self, _: int) -> int:
        return int(self.params.k) - 1

    def _prepare(self) -> None:
        self.keep = self.limit("keep")
        neighbors = self.neighbors()
        self.reach = reach_of(neighbors, self.params.k)
        self.transitions = self._edges(neighbors, itself=True)

    def _walk_new(self, queries: Vectors, top: int) -> Reached:
        found = self.search(queries, self._wanted(len(self.vectors)))
        rows = self._walk(self._edges(found, itself=False))
        return Reached.from_sparse(rows, top, self.candidates, None)

    def _walk_rows(self, rows: IntArray, top: int) -> Reached:
        reached = []
        with task("diffusion", len(rows)) as advance:
            for first in range(0, len(rows), BLOCK):
                part = rows[first : first + BLOCK]
                walked = self._walk(sparse.csr_array(self.transitions[part]))
                reached.append(Reached.from_sparse(walked, top, self.candidates, part))
                advance(len(part))
        return Reached.join(reached)
