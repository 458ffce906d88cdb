"""The parameters of CAS, with the defaults of the authors' program; names as in our table of readings."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

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
    graphs: str = Field(
        "",
        description="sizes, itself counted, of several graphs to diffuse over; nothing: one, of trusted_k",
        json_schema_extra={
            "range": "nothing or different sizes from 2 to 100000 as in 10,15,20,25, "
            "with solver ten_steps and similarity bidirectional"
        },
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

    @field_validator("graphs", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """A single number and a list of them are taken as well."""
        sizes = value if isinstance(value, (list, tuple)) else [value]
        return ",".join(map(str, sizes))

    @field_validator("graphs")
    @classmethod
    def _check_graphs(cls, value: str, info: ValidationInfo) -> str:
        if not value:
            return value
        by_one_graph = {"solver": "ten_steps", "similarity": "bidirectional"}
        if any(info.data.get(name) != default for name, default in by_one_graph.items()):
            raise ValueError("several graphs are diffused over by ten_steps from both sides")
        sizes = [int(size) if size.strip().isdecimal() else 0 for size in value.split(",")]
        if not all(2 <= size <= 100_000 for size in sizes) or len(set(sizes)) < len(sizes):
            raise ValueError("not a list of sizes")
        return value

    @property
    def graph_sizes(self) -> tuple[int, ...]:
        """The sizes of `graphs`, or that of the one graph, all itself counted."""
        return tuple(int(size) for size in self.graphs.split(",")) if self.graphs else (self.trusted_k,)
