"""What a training is, as a small TOML file; the papers' own come with the package (see configs/)."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from foldwalk.core.errors import BadInput, MissingData, UnknownName

Method = Literal["mom", "edms", "cgml", "pml"]
# Pretrained blocks forget at the rate a new head needs.
OF_LAST_BLOCKS = {"epochs": 3, "learning_rate": 3e-5, "head_rate": 33.0, "schedule": "cosine"}


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Data(Section):
    """Names of data sets. Without `test`, half of the groups of classes (an alphabet of Omniglot, the text
    before "/") are tested on. `held_out` is the share of training classes, or of such groups, to test on
    instead, to choose parameters by."""

    train: str = "cub_first100"
    test: str = "cub_last100"
    held_out: float = Field(0.0, ge=0, lt=1)


class Model(Section):
    """linear, mlp: a head on frozen features; last_blocks: of effnet_lite0; conv: a small network.

    `power` is what a head takes features to first, `share` how many of them it sees. `size` and `fit` are how
    last_blocks sees pictures, `views` how many of each it trains on: the picture, its mirror image, then cuts
    at random."""

    kind: Literal["linear", "mlp", "last_blocks", "conv"] = "linear"
    dim: int = Field(128, ge=1, le=4096)
    hidden: int = Field(512, ge=1, le=8192)
    dropout: float = Field(0.0, ge=0, lt=1)
    power: float = Field(1.0, gt=0, le=2)
    share: float = Field(1.0, gt=0, le=1)
    init: Literal["whiten", "random"] = "whiten"
    shrinkage: float = Field(0.98, ge=0, le=1)
    first_block: int = Field(11, ge=1, le=15)
    size: int = Field(224, ge=32, le=1024, multiple_of=32)
    fit: Literal["crop", "squash"] = "crop"
    views: int = Field(4, ge=1, le=64)


class Training(Section):
    """Handed to the trainer's Settings; last_blocks has defaults of its own."""

    epochs: int = Field(30, ge=0)
    optimiser: Literal["sgd", "adam", "adamw"] = "adam"
    learning_rate: float = Field(1e-4, gt=0)
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    schedule: Literal["constant", "step", "cosine"] = "constant"
    every: int = Field(10, ge=1)
    factor: float = Field(0.1, gt=0, le=1)
    head_rate: float = Field(1.0, gt=0)
    loss_rate: float = Field(100.0, gt=0)
    clip: float = Field(0.0, ge=0)
    evaluate_every: int = Field(1, ge=0)
    clustering: bool = True
    seed: int = Field(0, ge=0, lt=2**32)


class Mom(Section):
    """`miner` holds parameters of ManifoldMiner."""

    miner: dict[str, Any] = {}
    loss: Literal["triplet", "contrastive"] = "triplet"
    margin: float = Field(0.5, gt=0)
    weighted: bool = True
    hardest: int = Field(10, ge=0)
    iterate: int = Field(0, ge=0)
    tuples: int = Field(42, ge=1)


class Edms(Section):
    """`loss`, if named, takes the variant's place."""

    variant: str = "full"
    loss: str = ""
    meta_classes: int = Field(50, ge=2)
    members: int = Field(1, ge=1)
    workers: int = Field(1, ge=1)
    batch: int = Field(128, ge=2)
    alpha: float = Field(0.8, gt=0, lt=1)
    similarity: Literal["paper", "author"] = "paper"
    scale: float | None = Field(None, gt=0)
    steps: int = Field(100, ge=0)
    proxy_rate: float = Field(1e-3, gt=0)


class Pml(Section):
    """`options` are those of the loss's class."""

    loss: str = "binomial"
    options: dict[str, Any] = {}
    classes: int = Field(13, ge=2)
    per_class: int = Field(10, ge=2)


class Cgml(Pml):
    weight: float = Field(0.002, ge=0)
    bound: bool = True
    sigma: float | Literal["median"] = 1.0


class Config(Section):
    data: Data = Data()
    model: Model = Model()
    training: Training = Training()
    mom: Mom = Mom()
    edms: Edms = Edms()
    cgml: Cgml = Cgml()
    pml: Pml = Pml()

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_kind(cls, values: dict[str, Any]) -> dict[str, Any]:
        model, training = values.get("model"), values.get("training", {})
        if isinstance(model, dict) and model.get("kind") == "last_blocks" and isinstance(training, dict):
            return values | {"training": OF_LAST_BLOCKS | training}
        return values


def shipped() -> list[str]:
    """The names of the configurations that come with the package."""
    folder = resources.files("foldwalk.learn") / "configs"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def read_config(source: str | Path) -> Config:
    """A configuration from a TOML file, or one that comes with the package, by name."""
    name = str(source)
    if name in shipped():
        text = (resources.files("foldwalk.learn") / "configs" / f"{name}.toml").read_text("utf-8")
    elif Path(name).is_file():
        text = Path(name).read_text("utf-8", errors="replace")
    elif name.endswith(".toml"):
        raise MissingData(f"{name} does not exist.")
    else:
        raise UnknownName(
            f"there is no configuration {name!r}; give a .toml file or one of {', '.join(shipped())}."
        )
    return parse_config(text, name)


def parse_config(text: str, name: str = "the configuration") -> Config:
    try:
        return Config(**tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{name} is not TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(f"{name}: {where}: {first['msg'][0].lower()}{first['msg'][1:]}.") from None
