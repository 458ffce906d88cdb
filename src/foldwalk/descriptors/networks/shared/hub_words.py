"""The side of texts of a model of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from foldwalk.core.errors import BadInput, one_line
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks.shared.words import Words

FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")


class HubWords(Words):
    """The tokenizer is read from where the model came when the first text is described."""

    def __init__(self, model: Any, place: Path | str) -> None:
        super().__init__(model)
        self._place = place
        self._tokenizer: Any = None

    def encode(self, texts: Sequence[str]) -> Tensor:
        if self._tokenizer is None:
            self._tokenizer = self._load()
        longest = self.model.config.text_config.max_position_embeddings
        tokens = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        )
        given = {name: tokens[name].to(self.device) for name in self._inputs(tokens)}
        found = self.model.get_text_features(**given)
        vectors: Tensor = getattr(found, "pooler_output", found)
        return vectors

    def _inputs(self, tokens: Any) -> list[str]:
        return [name for name in ("input_ids", "attention_mask") if name in tokens]

    def _load(self) -> Any:
        library = need("transformers", "hub", "Searching by text")
        try:
            if isinstance(self._place, Path) and not any((self._place / file).is_file() for file in FILES):
                raise FileNotFoundError("no tokenizer.json")  # an empty one would be made up
            return library.AutoTokenizer.from_pretrained(
                str(self._place), trust_remote_code=False, local_files_only=isinstance(self._place, Path)
            )
        except Exception as error:  # odd settings and broken files lead to errors of any kind
            raise BadInput(
                f"{self._place} has no tokenizer that can be used ({one_line(error)}): "
                f"save the model's tokenizer beside it."
            ) from None
