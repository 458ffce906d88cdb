"""A torch model with its own preprocessing; what timm, torchvision and open_clip have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from foldwalk.core.errors import FoldwalkError, MissingData
from foldwalk.core.types import Float32Array
from foldwalk.descriptors.backbones.base import Backbone, need

AT_ONCE = 16


class TorchBackbone(Backbone):
    """`transform` turns a picture into a tensor, `forward` a batch of tensors into vectors.

    A class of this kind stands for a library: its models are named by the library and their own name.
    """

    extra = "vision"

    def __init__(
        self, name: str, model: Any, transform: Callable[[Image.Image], Any], forward: Callable[[Any], Any]
    ) -> None:
        self._torch = need("torch", "vision", f"The backbone {name}")
        self.name = name
        model.eval()
        self._transform, self._forward = transform, forward
        example = self.prepare(Image.new("RGB", (224, 224), "grey"))
        self.dim = int(self._vectors([example]).shape[1])
        self.short_side = 2 * int(max(example.shape[-2:]))
        # The transforms print their steps, so that a changed one changes the identity.
        settings = hashlib.sha256(f"{transform!r}".encode()).hexdigest()[:8]
        self.identity = f"{name} {weights_hash(model)}; preprocessing {settings}"

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        library, _, own = str(model).partition(":")
        return (own,) if own and library == cls.name else None

    def prepare(self, picture: Image.Image) -> Any:
        return self._transform(picture.convert("RGB"))

    def embed_prepared(self, prepared: Sequence[Any]) -> Float32Array:
        parts = [self._vectors(prepared[i : i + AT_ONCE]) for i in range(0, len(prepared), AT_ONCE)]
        return np.concatenate([np.zeros((0, self.dim), dtype=np.float32), *parts])

    def _vectors(self, prepared: Sequence[Any]) -> Float32Array:
        with self._torch.inference_mode():
            found = self._forward(self._torch.stack(list(prepared)))
        return np.asarray(found.float().flatten(1).cpu().numpy(), dtype=np.float32)


def weights_hash(model: Any) -> str:
    """Names the weights by their content."""
    digest = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(values.detach().cpu().float().numpy()).data)
    return digest.hexdigest()[:16]


def loaded(name: str, load: Callable[[], Any]) -> Any:
    """What `load` gives, or one sentence where the library cannot get the model or its weights."""
    try:
        return load()
    except FoldwalkError:
        raise
    except Exception as error:  # every hub fails in its own way
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise MissingData(
            f"{name} cannot be loaded ({why}); check the name, and that its weights can be downloaded."
        ) from None
