"""The parameters of CAS, with the defaults of the authors' program; names as in our table of readings."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator

from foldwalk.core.errors import BadParameter
from foldwalk.rerank.params import Params, Preset, neighborhood

WEIGHTS = {"trusted_weight": 2.0, "mu": 0.23, "sigma": 0.3, "beta": 0.0, "omega": 0.3}
LANDMARKS = {
    "cluster_k": 60,
    "trusted_k": 6,
    "graph_k": 5,
    "transition_k": 70,
    "expand_k": 7,
    "markov_k": 80,
    "geodesic_k": 100,
    **WEIGHTS,
}
PERSONS = {
    "cluster_k": 20,
    "trusted_k": 5,
    "graph_k": 4,
    "transition_k": 25,
    "expand_k": 6,
    "markov_k": 25,
    "geodesic_k": 100,
    **WEIGHTS,
}


class CASParams(Params):
    presets: ClassVar[dict[str, Preset]] = {
        "roxford": Preset("as the authors run it on revisited Oxford with R-GeM vectors", LANDMARKS),
        "rparis": Preset(
            "revisited Paris: no numbers of its own are known, so these are roxford's", LANDMARKS
        ),
        "mac": Preset(
            "MAC and R-MAC vectors of either: the graph has 2 (trusted_k - 1) neighbours, the core stays; "
            "no other number of theirs is published, the rest is roxford's",
            LANDMARKS | {"graph_k": 10},
        ),
        "reid": Preset(
            "persons: neither paper nor program says which numbers; these are the program's defaults", PERSONS
        ),
    }

    cluster_k: int = neighborhood(20, "nearest among which mutual ones form the local cluster (k1)")
    trusted_k: int = neighborhood(5, "nearest, itself counted, whose mutual ones are the core (k2)", low=2)
    graph_k: int = neighborhood(
        0, "nearest others that the graph of the diffusion joins to each item; 0: trusted_k - 1", low=0
    )
    transition_k: int = neighborhood(25, "nearest, itself counted, to which the two-step walk goes", low=2)
    expand_k: int = neighborhood(6, "nearest, itself counted, averaged in eq. 16")
    markov_k: int = neighborhood(25, "entries kept per row of the transition matrix of eq. 17")
    trusted_weight: float = Field(2.0, ge=1, le=100, description="weight of the core (kappa and lambda)")
    mu: float = Field(0.23, gt=0, le=100, description="pull towards the start; alpha = 1 / (1 + mu)")
    sigma: float = Field(0.3, gt=0, le=100, description="width of the affinity exp(-d / sigma^2)")
    beta: float = Field(0.0, ge=0, le=1e6, description="pull towards the unsmoothed row (eq. 13)")
    omega: float = Field(0.3, ge=0, le=1, description="weight of the plain distance (eq. 18)")
    geodesic: bool = Field(True, description="take distances of rows along the graph before the fusion")
    geodesic_k: int = neighborhood(25, "nearest, itself counted, along which distances are taken", low=2)
    solver: Literal["ten_steps", "resolvent", "iterate", "cg", "lyapunov"] = Field(
        "ten_steps", description="how eq. 12 is solved; the last three hold n x n arrays"
    )
    similarity: Literal["bidirectional", "smoothed", "original"] = Field(
        "bidirectional",
        description="F of table 5: bidirectional diffusion (BSD), the smoothed matrix of S F S (SSM), or the "
        "original affinities (OSM)",
    )
    graphs: str = Field(
        "",
        description="sizes, itself counted, of several graphs to diffuse over; nothing: one, of graph_k",
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
        "euclidean",
        description="what is fused in eq. 18: the plain distance, or one minus F over its largest",
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

    @classmethod
    def make(cls, method: str, values: dict[str, Any]) -> Self:
        made = super().make(method, values)
        if made.similarity == "original" and made.fuse_with == "diffusion":
            raise BadParameter(
                f"{method}: fuse_with='diffusion' takes what was diffused, but with similarity='original' "
                f"nothing is: leave out one of the two."
            )
        return made

    @property
    def graph_sizes(self) -> tuple[int, ...]:
        """How many others each graph joins to an item: those of `graphs`, or the one graph."""
        if self.graphs:
            return tuple(int(size) - 1 for size in self.graphs.split(","))
        return (self.graph_k or self.trusted_k - 1,)

    @property
    def rows_kept(self) -> int:
        """How many entries of each row of F are kept while it is diffused."""
        return self.cap or max(64, 3 * self.cluster_k)
