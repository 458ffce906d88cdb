"""The parameters of CAS, with the defaults of the authors' program; names as in our table of readings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foldwalk.rerank.params import Params, neighborhood


class CASParams(Params):
    cluster_k: int = neighborhood(20, "nearest among which mutual ones form the local cluster (k1)")
    trusted_k: int = neighborhood(5, "nearest, itself counted, whose mutual ones are the core (k2)", low=2)
    transition_k: int = neighborhood(25, "nearest, itself counted, to which the two-step walk goes", low=2)
    expand_k: int = neighborhood(6, "nearest, itself counted, averaged in eq. 16")
    markov_k: int = neighborhood(25, "entries kept per row of the transition matrix of eq. 17")
    trusted_weight: float = Field(2.0, ge=1, le=100, description="weight of the core (kappa and lambda)")
    mu: float = Field(0.23, gt=0, le=100, description="pull towards the start; alpha = 1 / (1 + mu)")
    sigma: float = Field(0.3, gt=0, le=100, description="width of the affinity exp(-d / sigma^2)")
    beta: float = Field(0.0, ge=0, le=1e6, description="pull towards the unsmoothed row (eq. 13)")
    omega: float = Field(0.3, ge=0, le=1, description="weight of the plain distance (eq. 18)")
    geodesic: bool = Field(True, description="take distances along the graph before the fusion")
    geodesic_k: int = neighborhood(25, "nearest, itself counted, along which distances are taken", low=2)
    solver: Literal["ten_steps", "resolvent", "iterate", "cg", "lyapunov"] = Field(
        "ten_steps", description="how eq. 12 is solved; the last three hold n x n arrays"
    )
    similarity: Literal["bidirectional", "one_sided", "original"] = Field(
        "bidirectional", description="the diffused similarity (ablation: table 5)"
    )
    clusters: Literal["reciprocal", "neighbors"] = Field(
        "reciprocal", description="local clusters: expanded mutual neighbours, or plain ones (table 5)"
    )
    smoothing: Literal["guided", "none", "average"] = Field(
        "guided", description="eq. 15, nothing, or a mean over the nearest instead (figure 3)"
    )
    reliability: Literal["diagonal", "block"] = Field(
        "diagonal", description="r of eq. 13: mean of the core's diagonal (program) or block (paper)"
    )
    distance: Literal["jensen_shannon", "cosine", "jaccard", "euclidean", "similarity"] = Field(
        "jensen_shannon", description="distance of the final rows (table 6)"
    )
    fuse_with: Literal["euclidean", "diffusion"] = Field(
        "euclidean", description="what is fused in eq. 18: the plain distance, or one by F without geodesic"
    )
    first: int = Field(
        0, ge=0, le=10_000_000, description="re-rank only so many of plain search, query by query; 0: all"
    )
    cap: int = Field(
        0, ge=0, le=100_000, description="entries kept per row of the diffusion; 0: 3 cluster_k, at least 64"
    )
