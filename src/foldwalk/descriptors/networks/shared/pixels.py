"""Bytes of pictures to the numbers a network wants, as a torch module, so that it can be exported."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from foldwalk.descriptors.networks.preprocessing import Preprocessing


class Pixels(nn.Module):
    """Pictures (n, height, width, 3) of 0 to 255 to normalised pixels (n, 3, height, width)."""

    mean: Tensor
    std: Tensor

    def __init__(self, preprocessing: Preprocessing) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(preprocessing.mean), persistent=False)
        self.register_buffer("std", torch.tensor(preprocessing.std), persistent=False)

    def forward(self, pictures: Tensor) -> Tensor:
        return ((pictures.float() - self.mean) / self.std).permute(0, 3, 1, 2).contiguous()
