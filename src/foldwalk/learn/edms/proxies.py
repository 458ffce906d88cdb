"""Hard proxies: one vector that stands for each meta-class, moved away from what it stands for (section 4.2).

    p_k* = argmin_p log(1 + sum_{x_n in D_k, n not the proxy's picture} exp(p x_n - p p_k))        (eq. 7)

by gradient descent from p_k, the embedding of one picture of the meta-class that stays the same throughout.
As printed the minimum lies at infinity: here p stays on the unit sphere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput, BadParameter, NotFitted
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.learn.kept_buffers import load_any_length
from foldwalk.learn.loss_inputs import at_least_single


class HardProxies(nn.Module):
    """Proxies (K, d) of `meta_classes`, one number 0 to K - 1 per training item.

    `refresh(embeddings)` before every epoch. `steps=0` leaves the proxies where their pictures are: P instead
    of P*. The paper's rate moves a proxy by a few degrees at most, and should: the minimum of eq. 7 is the
    direction from the class to its picture, noise that nothing can be learnt from.
    """

    proxies: Tensor
    pictures: Tensor
    others: Tensor

    def __init__(
        self, meta_classes: npt.ArrayLike, steps: int = 100, learning_rate: float = 1e-3, seed: int = 0
    ) -> None:
        super().__init__()
        if steps < 0 or learning_rate <= 0:
            raise BadParameter(f"steps ({steps}) must be 0 or more, learning_rate ({learning_rate}) above 0.")
        codes = np.asarray(meta_classes)
        if codes.ndim != 1 or codes.dtype.kind not in "iu" or not len(codes):
            raise BadInput("meta_classes must be whole numbers, one per training item.")
        self.count = int(codes.max()) + 1
        sizes = np.bincount(codes, minlength=self.count)
        if codes.min() < 0 or not sizes.all():
            raise BadInput(f"meta_classes must use every number from 0 to {self.count - 1}.")
        self.steps, self.learning_rate = steps, learning_rate
        self.items = len(codes)
        pictures = _one_of_each(codes, self.count, seed)
        self.register_buffer("pictures", torch.from_numpy(pictures), persistent=False)
        self.register_buffer("others", torch.from_numpy(_others(codes, pictures)), persistent=False)
        self.register_buffer("proxies", torch.zeros(self.count, 0))
        load_any_length(self, "proxies", axis=1)

    def __len__(self) -> int:
        return self.count

    @torch.no_grad()
    def refresh(self, embeddings: Tensor) -> Tensor:
        """New proxies from the embeddings of all training items (n, d); returns them."""
        if len(embeddings) != self.items:
            raise BadInput(f"there are {len(embeddings)} embeddings for {self.items} training items.")
        x = functional.normalize(at_least_single(embeddings))
        others = self.others.to(x.device)
        start, members, present = x[self.pictures.to(x.device)], x[others], others >= 0
        p = start
        for _ in range(self.steps):
            p = functional.normalize(p - self.learning_rate * proxy_gradient(p, start, members, present))
        self.proxies = p.to(embeddings.dtype)
        return self.proxies

    def current(self, like: Tensor) -> Tensor:
        """The proxies in the precision and on the device of `like`."""
        if not self.proxies.shape[1]:
            raise NotFitted("the proxies are not set yet: call refresh(embeddings) before the first batch.")
        return self.proxies.to(like)


def proxy_objective(p: Tensor, start: Tensor, members: Tensor, present: Tensor) -> Tensor:
    """Eq. 7 for each proxy, (K,); members (K, M, d) push their proxy away where `present`, (K, M)."""
    return torch.logsumexp(_exponents(p, start, members, present), dim=1)


def proxy_gradient(p: Tensor, start: Tensor, members: Tensor, present: Tensor) -> Tensor:
    """Its gradient, (K, d): sum_n w_n (x_n - p_k), w the softmax of the exponents beside a zero."""
    weights = torch.softmax(_exponents(p, start, members, present), dim=1)[:, :-1]
    return torch.einsum("km,kmd->kd", weights, members) - weights.sum(1)[:, None] * start


def _exponents(p: Tensor, start: Tensor, members: Tensor, present: Tensor) -> Tensor:
    """p x_n - p p_k, and a column of zeros for the 1 of eq. 7."""
    exponents = torch.einsum("kmd,kd->km", members, p) - (p * start).sum(1)[:, None]
    return torch.cat([exponents.masked_fill(~present, -torch.inf), p.new_zeros(len(p), 1)], dim=1)


class OneHotProxies(HardProxies):
    """Corners of the unit cube, as in DREML (Xuan, Souvenir and Pless 2018); embeddings have K dimensions."""

    def refresh(self, embeddings: Tensor) -> Tensor:
        if embeddings.shape[1] != self.count:
            raise BadParameter(
                f"{self.count} one-hot proxies need as many dimensions, but the embeddings have "
                f"{embeddings.shape[1]}."
            )
        self.proxies = torch.eye(self.count, dtype=embeddings.dtype, device=embeddings.device)
        return self.proxies


def _one_of_each(codes: IntArray, count: int, seed: int) -> IntArray:
    rng = generator(seed, "proxy pictures")
    return np.array([rng.choice(np.flatnonzero(codes == k)) for k in range(count)])


def _others(codes: IntArray, pictures: IntArray) -> IntArray:
    """The items of each meta-class but its proxy's picture, (K, M); rows end in -1."""
    rows = [np.setdiff1d(np.flatnonzero(codes == k), picture) for k, picture in enumerate(pictures)]
    others = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for row, items in zip(others, rows, strict=True):
        row[: len(items)] = items
    return others
