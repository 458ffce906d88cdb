"""How long and how fast a model learns."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from foldwalk.learn.sections import Section


class TrainingSettings(Section):
    """The section [training]: optimiser, schedule, evaluation."""

    epochs: int = Field(30, ge=0, description="passes over the training items")
    optimiser: Literal["sgd", "adam", "adamw"] = Field("adam", description="by which weights are changed")
    learning_rate: float = Field(1e-4, gt=0, description="at the beginning")
    momentum: float = Field(0.9, ge=0, lt=1, description="of sgd")
    weight_decay: float = Field(0.0, ge=0, description="share of the weights taken off in each step")
    schedule: Literal["constant", "step", "cosine"] = Field(
        "constant", description="step: the rate times `factor` every `every` epochs; cosine: down to nothing"
    )
    every: int = Field(10, ge=1, description="epochs between the steps of the schedule")
    factor: float = Field(0.1, gt=0, le=1, description="what a step multiplies the rate by")
    head_rate: float = Field(1.0, gt=0, description="times the rate for a head, or a model that is one")
    trunk_rate: float = Field(
        1.0,
        gt=0,
        description="times the rate for what comes before the last blocks of a whole network",
    )
    loss_rate: float = Field(100.0, gt=0, description="times the rate for what a loss learns (proxies)")
    clip: float = Field(0.0, ge=0, description="longest gradient; 0: any")
    evaluate_every: int = Field(
        1, ge=0, description="epochs between evaluations, before the first as well; 0: after the last only"
    )
    clustering: bool = Field(True, description="evaluate NMI and F1 of k-means too")
    accumulate: int = Field(
        1, ge=1, description="batches whose mean gradient makes one step; each has its own loss"
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", description="where the model is trained; auto: on a GPU where there is one"
    )
    readers: int = Field(2, ge=0, le=256, description="processes that read pictures; 0: the training's own")
    precision: Literal["no", "fp16", "bf16"] = Field(
        "no", description="of the model's own arithmetic; no: 32 bits; losses and weights always have 32"
    )
    seed: int = Field(0, ge=0, lt=2**32, description="of everything that is drawn")
