"""The side of texts of a model that compares them with pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Words(ABC):
    """Texts to vectors that lie where the model's own vectors of pictures do."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        found: torch.device = next(self.model.parameters()).device
        return found

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Tensor:
        """One vector for each text, (n, d), not normalised."""
