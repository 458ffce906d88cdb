"""The parameters of GRAD-Net; numbers are the paper's unless the text beside them says why not."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator

from foldwalk.rerank.params import Params

AUTO = "auto"


def _auto_or_number(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return AUTO if value == AUTO else check(value)


def _neighborhood_or_auto(description: str) -> Any:
    """Like `neighborhood`, with the word auto as the default."""
    return Field(AUTO, ge=1, le=1000, description=description, json_schema_extra={"neighborhood": True})


class GradNetParams(Params):
    k: Annotated[int, WrapValidator(_auto_or_number), PlainSerializer(lambda k: k)] = _neighborhood_or_auto(
        "nearest among which mutual ones are joined; auto: chosen without labels (paper: 15)"
    )
    kernel: Literal["inverse_distance", "gaussian", "cosine"] = Field(
        "inverse_distance", description="weight of an edge: 1 / (1 + d), Gaussian by the median, cosine"
    )
    centre: bool = Field(True, description="take the collection's mean off the vectors (not in the paper)")
    renormalise: bool = Field(False, description="eq. 7 in place of I + S")
    anchors: int = Field(100, ge=0, le=10_000, description="k-means centres of the codes Z; 0: no codes")
    codebooks: int = Field(
        4, ge=1, le=100, description="k-means runs whose codes stand side by side (paper: 1)"
    )
    nearest_anchors: int = Field(3, ge=1, le=100, description="centres that express an item (c of eq. 9)")
    codes_only: bool = Field(False, description="the codes Z without the vectors (ablation)")
    layer_sizes: Literal["1024,256,128", "1024,256,128,128", "1024,256", "512,128,64"] = Field(
        "1024,256,128", description="features of each layer"
    )
    second_order: bool = Field(True, description="the second-order term of eq. 16; without it: a plain GCN")
    concatenate: bool = Field(True, description="eq. 17; without it only the last layer is used")
    dropout: float = Field(0.3, ge=0, lt=1, description="share of features left out while training")
    local_weight: float = Field(1.0, ge=0, le=1e6, description="weight of the local loss; 0 leaves it out")
    global_weight: float = Field(1.0, ge=0, le=1e6, description="weight of the global loss (alpha)")
    beta: float = Field(148.0, gt=0, le=1e9, description="scale inside the global loss (e^5; or 1e5)")
    penalty: float = Field(1e-5, ge=0, le=1, description="weight of the squared parameters (lambda)")
    batch: int = Field(
        0, ge=0, le=10_000_000, description="sextets in a batch (paper: 64); 0: all, above 10,000 items 2,048"
    )
    batches: Literal["clustered", "exact"] = Field(
        "clustered", description="a batch's own edges, or all that it reaches (a connected graph: nearly all)"
    )
    epochs: int = Field(60, ge=0, le=100_000, description="passes over the items (paper: 300)")
    rounds: int = Field(
        1, ge=1, le=10, description="trainings, each on the graph that the one before learned"
    )
    learning_rate: float = Field(1e-3, gt=0, le=1, description="of Adam, halved twice (paper: 3e-4)")
    patience: int = Field(
        0, ge=0, le=100_000, description="epochs without a lower loss after which training stops; 0: never"
    )
    unseen: Literal["forward", "expand"] = Field(
        "forward", description="unseen queries go through the trained network, or are expanded (QFE, eq. 23)"
    )
    expansions: int = Field(1, ge=1, le=2, description="how often an unseen query is expanded")
    dimensions: int = Field(
        256, ge=0, le=100_000, description="of the features, by their principal axes; 0: all there are"
    )
    truncate: int = Field(
        0, ge=0, le=10_000_000, description="nearest of each joining query that enter the graph; 0: all items"
    )
    device: Literal["cpu", "cuda", "mps"] = Field("cpu", description="where the network is trained")

    @property
    def fixed_k(self) -> int | None:
        """k where it is a number, None where it is to be chosen."""
        return None if str(self.k) == AUTO else self.k

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.layer_sizes.split(","))
