"""Both sides of a CLIP model of open_clip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from foldwalk.descriptors.networks.shared.library_loading import loaded
from foldwalk.descriptors.networks.shared.picture_module import PictureModule, Seen
from foldwalk.descriptors.networks.shared.tokens import on_map
from foldwalk.descriptors.networks.shared.words import Words


class OpenClipMaps(PictureModule):
    """The picture's side. Where it does not hand out its tokens, the vector is a map of one place."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.visual = model.visual
        self.gives_tokens = hasattr(self.visual, "output_tokens")
        if self.gives_tokens:
            self.visual.output_tokens = True

    def forward(self, pixels: Tensor) -> Seen:
        found = self.visual(pixels)
        if not self.gives_tokens:
            return Seen(found[:, :, None, None], found)
        own, tokens = found
        return Seen(on_map(tokens, pixels, self.visual.patch_size)[0], own)


class OpenClipWords(Words):
    """The side of texts."""

    def __init__(self, model: Any, tokenizer: Callable[[], Any], name: str) -> None:
        super().__init__(model)
        self._make, self._name = tokenizer, name
        self._tokenizer: Any = None

    def encode(self, texts: Sequence[str]) -> Tensor:
        self._tokenizer = self._tokenizer or loaded(self._name, self._make)
        vectors: Tensor = self.model.encode_text(self._tokenizer(list(texts)).to(self.device))
        return vectors
