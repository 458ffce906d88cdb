"""What a training is, as a small TOML file; the papers' own come with the package (see configs/).

The sections [data], [model], [augment] and [training] belong to all trainings. Each training has one of its
own, which bears its name; a file may hold those of several.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from foldwalk.core.errors import BadInput, BadParameter, UnknownName
from foldwalk.core.text_files import read_text_file
from foldwalk.learn import trainings
from foldwalk.learn.sections import Section
from foldwalk.learn.trainer.augment import Augment
from foldwalk.learn.trainer.settings import TrainingSettings
from foldwalk.learn.training import ModelTraining

# Pretrained blocks forget at the rate a new head needs.
OF_BLOCKS = {"epochs": 3, "learning_rate": 3e-5, "head_rate": 33.0, "schedule": "cosine"}

LITE0 = "effnet_lite0"
LONGEST = 8_192  # bytes of a file; what is much longer can take minutes to be understood


class Data(Section):
    """The section [data]: names of data sets."""

    train: str = Field("cub_first100", description="to train on")
    test: str = Field(
        "cub_last100",
        description="to test on; empty: half of the groups of classes (the text before /) of `train`",
    )
    held_out: float = Field(
        0.0, ge=0, lt=1, description="share of the training classes to test on instead, to choose by"
    )


class Model(Section):
    """The section [model]: what is trained."""

    kind: Literal["linear", "mlp", "last_blocks", "whole", "conv"] = Field(
        "linear",
        description="a head on frozen features, linear or mlp; last_blocks of the network and a head, or the "
        "whole of it, on pictures; conv, a small network on grey pixels",
    )
    network: str = Field(
        "effnet_lite0", description="whose features a head sees, or whose blocks are trained, by name"
    )
    pooling: Literal["", "gap", "mac", "gem", "rmac", "cls"] = Field(
        "", description="how the network's map becomes a vector; empty: as its makers have it"
    )
    blocks: int = Field(
        1, ge=1, le=100, description="how many last blocks are trained; of the whole: the rest is the trunk"
    )
    dim: int = Field(128, ge=1, le=4096, description="numbers of the embedding")
    hidden: int = Field(512, ge=1, le=8192, description="units between the layers of mlp")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of a head's input left out in training")
    power: float = Field(1.0, gt=0, le=2, description="what a head takes features to first, signs kept")
    share: float = Field(1.0, gt=0, le=1, description="of the features that a head sees")
    init: Literal["whiten", "random"] = Field("whiten", description="where a head begins; an mlp: random")
    shrinkage: float = Field(0.98, ge=0, le=1, description="of the whitening that a head begins with")
    first_block: int = Field(
        11, ge=1, le=15, description="the first of effnet_lite0 that is trained, instead of blocks"
    )
    size: int = Field(
        224,
        ge=32,
        le=1024,
        multiple_of=32,
        description="side of pictures for last_blocks of effnet_lite0, a multiple of 32",
    )
    fit: Literal["crop", "squash"] = Field("crop", description="how they are brought to that size")
    views: int = Field(
        4,
        ge=0,
        le=64,
        description="of each picture that effnet_lite0's frozen blocks see once: itself, its mirror image, "
        "then cuts at random; 0: pictures are read anew in every epoch, as for all other networks",
    )

    @property
    def streams(self) -> bool:
        """Whether pictures are read anew in every epoch, as [augment] says."""
        cached = self.network == LITE0 and self.views > 0
        return self.kind == "whole" or (self.kind == "last_blocks" and not cached)


class Config(Section):
    """Made by `make_config`: beside the common sections it has one for every training, by its name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    data: Data
    model: Model
    training: TrainingSettings
    augment: Augment

    def chosen(self, training: str) -> ModelTraining[Any]:
        """A training by name, with its section."""
        kind = trainings.training_class(training)
        if not issubclass(kind, ModelTraining):
            raise BadInput(f"{training} is not told by a configuration what to train.")
        return kind(getattr(self, training))


def make_config(values: Mapping[str, Any], name: str = "the configuration") -> Config:
    """Sections by name, each a mapping; what is left out has its default. `name` is for messages."""
    known = _sections()
    for section, given in values.items():
        if section not in known:
            raise BadInput(f"{name}: there is no section {section}; there are {', '.join(known)}.")
        if not isinstance(given, Mapping):
            raise BadInput(f"{name}: {section} must be a section, [{section}], but it is {given!r}.")
    told = dict(values)
    if told.get("model", {}).get("kind") in ("last_blocks", "whole"):
        told["training"] = OF_BLOCKS | told.get("training", {})
    made = {}
    for section, kind in known.items():
        try:
            made[section] = kind(**told.get(section, {}))
        except BadParameter as error:
            raise BadInput(f"{name}: {section}.{error}") from None
    return Config(**made)


def over(under: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings of sections in one; where both say something, the one above counts."""
    both = dict(under)
    for name, value in above.items():
        known = both.get(name)
        nested = isinstance(known, Mapping) and isinstance(value, Mapping)
        both[name] = over(known, value) if nested else value  # type: ignore[arg-type]
    return both


def _sections() -> dict[str, type[BaseModel]]:
    """The class of every section a file may hold."""
    kinds = {name: trainings.training_class(name) for name in trainings.names()}
    own = {name: kind.Parameters for name, kind in kinds.items() if issubclass(kind, ModelTraining)}
    return {"data": Data, "model": Model, "training": TrainingSettings, "augment": Augment, **own}


def shipped() -> list[str]:
    """The names of the configurations that come with the package."""
    folder = resources.files("foldwalk.learn") / "configs"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def read_config(source: str | Path) -> Config:
    """A configuration from a TOML file, or one that comes with the package, by name."""
    return make_config(read_sections(source), str(source))


def read_sections(source: str | Path) -> dict[str, Any]:
    """What such a file says, not yet checked."""
    name = str(source)
    if name in shipped():
        text = (resources.files("foldwalk.learn") / "configs" / f"{name}.toml").read_text("utf-8")
    elif name.endswith(".toml") or _is_file(name):
        text = read_text_file(Path(name), longest=LONGEST)
    else:
        raise UnknownName(
            f"there is no configuration {name!r}; give a .toml file or one of {', '.join(shipped())}."
        )
    return _parse(text, name)


def parse_config(text: str, name: str = "the configuration") -> Config:
    return make_config(_parse(text, name), name)


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{name} is not TOML: {error}.") from None
    except RecursionError:
        raise BadInput(f"{name} is not TOML that can be read: it is nested too deep.") from None


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
