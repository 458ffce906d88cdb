"""The torch module of a network: normalised pixels to what it sees, in parts that can be frozen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from torch import Tensor, nn

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.options import check_choice
from foldwalk.descriptors.networks.shared.blocks import parts_of

KEEP = ("head", "last_blocks", "all")
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


class Seen(NamedTuple):
    """The last map of local features (n, channels, h, w), and the model's own vector (n, d), if it has one.

    That vector is the class token of a transformer, CLIP's vector that is compared with texts, or what the
    model pools by itself.
    """

    map: Tensor
    cls: Tensor | None


class PictureModule(nn.Module, ABC):
    """Normalised pixels (n, 3, h, w) to `Seen`. What is frozen stays in evaluation mode under `train`.

    `awake` are the parts that are trained, None for all of them; `still` are norms that are left as they are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.awake: list[nn.Module] | None = None
        self.still: list[nn.Module] = []

    @abstractmethod
    def forward(self, pixels: Tensor) -> Seen:
        """What is seen of pixels that are normalised as the network wants them."""

    @property
    def blocks(self) -> list[nn.Module]:
        """Its parts in order: the stem, the blocks, and what follows them, which may be nothing."""
        return parts_of(self)

    def freeze(self, keep: str = "last_blocks", count: int = 1, norms: bool = False) -> list[dict[str, Any]]:
        """Let only a part be trained, and give its parameters for an optimiser: a group for each block.

        "head" trains nothing here, "last_blocks" the last `count` blocks and what follows them, "all" all of
        it. Batch normalisation is left as it is, unless `norms`: a small batch tells little of a mean.
        """
        check_choice("keep", keep, KEEP)
        blocks = self.blocks
        first = _first_trained(len(blocks), keep, count)
        self.awake = None if keep == "all" else blocks[first:]
        self.still = [] if norms else [part for part in self.modules() if isinstance(part, NORMS)]
        self.requires_grad_(keep == "all")
        for part in self.awake or []:
            part.requires_grad_(True)
        for part in self.still:
            part.requires_grad_(False)
        self.train(self.training)
        return _groups(self, blocks)

    def train(self, mode: bool = True) -> Self:
        super().train(mode and self.awake is None)
        for part in self.awake or []:
            part.train(mode)
        for part in self.still:
            part.eval()
        self.training = mode
        return self


def _first_trained(parts: int, keep: str, count: int) -> int:
    """The number of the first part that is trained; stem and last part are no blocks."""
    if keep != "last_blocks":
        return 0 if keep == "all" else parts
    most = parts - 2
    if type(count) is not int or not 1 <= count <= most:
        raise BadParameter(f"the network has {most} blocks: count must be from 1 to {most}, not {count!r}.")
    return parts - 1 - count


def _groups(module: nn.Module, blocks: Sequence[nn.Module]) -> list[dict[str, Any]]:
    """The parameters that are trained by the number of their block; those outside of blocks go first."""
    number_of = {id(p): number for number, block in enumerate(blocks) for p in block.parameters()}
    groups: list[list[nn.Parameter]] = [[] for _ in blocks]
    for parameter in module.parameters():
        if parameter.requires_grad:
            groups[number_of.get(id(parameter), 0)].append(parameter)
    return [{"params": found, "block": number} for number, found in enumerate(groups) if found]
