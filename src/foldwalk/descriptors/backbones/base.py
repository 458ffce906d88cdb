"""What every backbone is: pictures in, one vector each out."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

from PIL import Image

from foldwalk.core.errors import BadInput, MissingExtra
from foldwalk.core.types import Float32Array

WITH_WORDS = (
    "to search by text, index with a CLIP model: "
    "foldwalk index photos/ --backbone hf:openai/clip-vit-base-patch32."
)


class Backbone(ABC):
    """Turns pictures into vectors, not normalised.

    `identity` names weights, preprocessing and pooling: vectors of equal identity may be compared.
    `short_side` is what `load_picture` should be given, so that one file always gives the same vector.
    One that `knows_words` describes texts, too. What a class says of itself, from `summary` on, is for its
    card; the keyword arguments of its constructor are its options.
    """

    name: str
    dim: int
    identity: str
    short_side: int | None = None
    knows_words: bool = False

    summary: ClassVar[str]
    named: ClassVar[str]
    example: ClassVar[str]
    dimensions: ClassVar[str] = "those of the model"
    extra: ClassVar[str] = ""
    remark: ClassVar[str] = ""

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        """What to make it with, where `model` is how a user names this backbone; None where it is not."""
        return () if model == cls.name else None

    @classmethod
    def lasting(cls, model: object) -> str:
        """A name that was claimed, as it can be noted: what names a file names it from anywhere."""
        return str(model)

    def embed(self, pictures: Sequence[Image.Image]) -> Float32Array:
        """One vector per picture, (n, dim)."""
        return self.embed_prepared([self.prepare(picture) for picture in pictures])

    @abstractmethod
    def prepare(self, picture: Image.Image) -> Any:
        """What is left of a picture when it has the size the model wants; may run in any thread."""

    @abstractmethod
    def embed_prepared(self, prepared: Sequence[Any]) -> Float32Array:
        """One vector for each of what `prepare` gave, (n, dim)."""

    def embed_text(self, texts: Sequence[str]) -> Float32Array:  # noqa: ARG002
        """One vector per text, (n, dim), to be compared with those of pictures."""
        raise BadInput(f"{self.name} does not know words; {WITH_WORDS}")

    def __repr__(self) -> str:
        return f"<{self.identity}>"


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say what is missing and how to get it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        missing = (error.name or package).partition(".")[0]
        raise MissingExtra(missing, extra, purpose) from None
    except Exception as error:  # a package built for another torch fails in its own ways
        why = " ".join(str(error).split())
        raise MissingExtra(
            f"{package} in working order (importing it failed: {why})", extra, purpose
        ) from None


def cores() -> int:
    """The processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
