"""The parameters of ManifoldMiner, and what a small collection makes of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foldwalk.learn.mining.graph import STEPS
from foldwalk.rerank.params import Params, neighborhood


class MinerParams(Params):
    graph_k: int = neighborhood(30, "neighbours among which mutual ones are joined (eq. 1)")
    gamma: float = Field(3.0, gt=0, le=10, description="power of the similarity that an edge weighs")
    alpha: float = Field(0.99, gt=0, lt=1, description="how far the walk goes before it restarts")
    positive_k: int = neighborhood(50, "neighbours compared for P+ (eq. 5)")
    negative_k: int = neighborhood(100, "neighbours compared for P- (eq. 6); the paper's large set: 10,000")
    keep_positives: int = Field(50, ge=1, le=100_000, description="positives kept, the surest first")
    keep_negatives: int = Field(50, ge=1, le=100_000, description="negatives kept, the hardest first")
    positives: Literal["manifold", "euclidean", "cyclic", "labels"] = Field(
        "manifold", description="P+, a baseline, or the oracle"
    )
    negatives: Literal["manifold", "euclidean", "labels"] = Field(
        "manifold", description="P-, a baseline, or the oracle"
    )
    euclidean_k: int = neighborhood(5, "nearest that the Euclidean baseline calls positive")
    cyclic_k: int = neighborhood(4, "nearest of the directed graph whose cycles the baseline looks for")
    cycle: int = Field(4, ge=2, le=8, description="longest cycle of that baseline")
    anchors: int = Field(0, ge=0, description="how many anchors; 0: every item")
    anchor_choice: Literal["modes", "random"] = Field("modes", description="which, if not every item")
    steps: int = Field(STEPS, ge=1, le=10_000, description="most iterations of conjugate gradients")
    tolerance: float = Field(1e-10, ge=0, lt=1, description="residual at which they stop")

    def within(self, items: int) -> MinerParams:
        """As the authors' program has it: no neighbourhood is larger than half of the collection.

        Two neighbourhoods of nearly everything have nothing that only one of them holds.
        """
        half = max(1, items // 2)
        wide = ("graph_k", "positive_k", "negative_k")
        return self.model_copy(update={name: min(getattr(self, name), half) for name in wide})
