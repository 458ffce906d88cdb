"""What is trained: a head on frozen features, or a small convolutional network on grey pictures.

Every model turns a batch of inputs into embeddings (n, dim), not normalised, and says by `spec` how it can be
made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.core.seeds import generator
from foldwalk.core.types import Float32Array
from foldwalk.descriptors.whitening import PcaWhitening

Init = Literal["whiten", "random"]


@dataclass(frozen=True)
class HeadSpec:
    """`kind` linear, or mlp with one layer of `hidden` units; `dropout` of the input's numbers.

    Features are taken to `power` first, their signs kept: 0.5, a root, makes a few large ones count less.
    `share` of them are seen, a random choice by the seed: heads of an ensemble differ more.
    """

    kind: Literal["linear", "mlp"] = "linear"
    inputs: int = 1280
    dim: int = 128
    hidden: int = 512
    dropout: float = 0.0
    power: float = 1.0
    share: float = 1.0

    @property
    def seen(self) -> int:
        """How many of the features the head sees."""
        return max(1, round(self.share * self.inputs))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Head(nn.Module):
    """Takes features to a power, scales them to length one, then projects them."""

    chosen: Tensor | None

    def __init__(self, spec: HeadSpec) -> None:
        super().__init__()
        if spec.kind not in ("linear", "mlp"):
            raise BadParameter(f"a head is linear or mlp, not {spec.kind!r}.")
        if min(spec.inputs, spec.dim, spec.hidden) < 1 or not 0 <= spec.dropout < 1:
            raise BadParameter("a head needs sizes of at least 1 and a dropout from 0 to below 1.")
        if spec.power <= 0 or not 0 < spec.share <= 1:
            raise BadParameter("a head needs a power above 0 and a share above 0, up to 1.")
        self.spec = spec
        self.register_buffer("chosen", torch.arange(spec.seen) if spec.share < 1 else None)
        layers: list[nn.Module] = [nn.Dropout(spec.dropout)]
        if spec.kind == "mlp":
            layers += [nn.Linear(spec.seen, spec.hidden), nn.ReLU(), nn.Linear(spec.hidden, spec.dim)]
        else:
            layers.append(nn.Linear(spec.seen, spec.dim))
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Tensor) -> Tensor:
        projected: Tensor = self.layers(functional.normalize(self.look(features)))
        return projected

    def look(self, features: Tensor) -> Tensor:
        """The features this head sees, each to the power."""
        own = features if self.chosen is None else features[:, self.chosen]
        return own if self.spec.power == 1 else own.sign() * own.abs().pow(self.spec.power)


def make_head(
    spec: HeadSpec, features: Float32Array, init: Init = "whiten", shrinkage: float = 0.98, seed: int = 0
) -> Head:
    """A head before training. "whiten" begins where PCA whitening of the features ends (linear heads).

    With a shrinkage of 1 all axes count alike: it needs as many dimensions as the features have.
    """
    with seeded(seed, "head"):
        head = Head(spec)
    if head.chosen is not None:
        some = generator(seed, "features of a head").choice(spec.inputs, spec.seen, replace=False)
        head.chosen.copy_(torch.from_numpy(np.sort(some)))
    if init == "random":
        return head
    if init != "whiten" or spec.kind != "linear":
        raise BadParameter(f"a {spec.kind} head cannot begin with {init!r}; choose random.")
    if shrinkage >= 1 and spec.dim < spec.seen:
        raise BadParameter("a shrinkage of 1 leaves no axes to choose from: keep it below 1.")
    if spec.dim > spec.seen:
        raise BadParameter(f"whitening gives at most {spec.seen} dimensions, but {spec.dim} were asked for.")
    seen = head.look(torch.from_numpy(np.asarray(features, dtype=np.float32))).numpy()
    whitening = PcaWhitening(spec.dim, shrinkage).fit(seen)
    linear = head.layers[-1]
    assert isinstance(linear, nn.Linear)
    # Columns of a common size: otherwise the rate would mean another thing for every data set.
    projection = whitening.projection / np.linalg.norm(whitening.projection, axis=0).mean()
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(projection.T)))
        linear.bias.copy_(torch.from_numpy(-(whitening.mean @ projection)))
    return head


class JoinedHeads(nn.Module):
    """Unit vectors of all heads one after the other, each times the root of its weight."""

    def __init__(self, heads: Sequence[Head], weights: Sequence[float]) -> None:
        super().__init__()
        self.heads, self.roots = nn.ModuleList(heads), [weight**0.5 for weight in weights]
        self.inputs = heads[0].spec.inputs

    def forward(self, features: Tensor) -> Tensor:
        parts = [functional.normalize(h(features)) * r for h, r in zip(self.heads, self.roots, strict=True)]
        return torch.cat(parts, dim=1)


class SmallConvNet(nn.Module):
    """Four blocks of convolution, normalisation, ReLU and pooling for grey pictures (n, 1, side, side)."""

    def __init__(self, dim: int = 64, width: int = 32) -> None:
        super().__init__()
        self.dim, self.width = dim, width
        blocks: list[nn.Module] = []
        for inputs, outputs in zip(
            (1, width, width, 2 * width), (width, width, 2 * width, 2 * width), strict=True
        ):
            blocks += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            blocks.append(nn.MaxPool2d(2, ceil_mode=True))
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Linear(2 * width, dim)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast

    def forward(self, pictures: Tensor) -> Tensor:
        if pictures.ndim != 4 or pictures.shape[1] != 1:
            raise BadInput(
                f"the small network takes grey pictures (n, 1, h, w), not {tuple(pictures.shape)}."
            )
        maps = self.blocks(pictures.contiguous(memory_format=torch.channels_last))
        embedded: Tensor = self.last(maps.mean(dim=(2, 3)))
        return embedded


def make_conv_net(dim: int, seed: int = 0) -> SmallConvNet:
    with seeded(seed, "conv net"):
        return SmallConvNet(dim)


@contextmanager
def seeded(seed: int, purpose: str) -> Iterator[None]:
    """torch's own random numbers for one purpose; the global state is as before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(seed, purpose).integers(2**62)))
        yield
