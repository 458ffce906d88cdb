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


class HardProxies(nn.Module):
    """Proxies (K, d) of `meta_classes`, one number 0 to K - 1 per training item.

    `refresh(embeddings)` before every epoch. `steps=0` leaves the proxies where their pictures are: P instead
    of P*. The paper's rate is 1e-3, with which a proxy hardly moves.
    """

    proxies: Tensor
    _codes: Tensor

    def __init__(
        self, meta_classes: npt.ArrayLike, steps: int = 100, learning_rate: float = 0.1, seed: int = 0
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
        self.pictures = _one_of_each(codes, self.count, seed)
        self.register_buffer("_codes", torch.from_numpy(codes.astype(np.int64)), persistent=False)
        self.register_buffer("proxies", torch.zeros(self.count, 0))

    def __len__(self) -> int:
        return self.count

    @torch.no_grad()
    def refresh(self, embeddings: Tensor) -> Tensor:
        """New proxies from the embeddings of all training items (n, d); returns them."""
        if len(embeddings) != len(self._codes):
            raise BadInput(f"there are {len(embeddings)} embeddings for {len(self._codes)} training items.")
        x = functional.normalize(embeddings)
        start = x[torch.from_numpy(self.pictures)]
        own = torch.zeros(len(x), self.count, dtype=torch.bool)
        own[torch.arange(len(x)), self._codes] = True
        own[torch.from_numpy(self.pictures)] = False
        p = start
        for _ in range(self.steps):
            p = functional.normalize(p - self.learning_rate * proxy_gradient(p, start, x, own))
        self.proxies = p
        return p

    def current(self, like: Tensor) -> Tensor:
        """The proxies in the precision and on the device of `like`."""
        if not self.proxies.shape[1]:
            raise NotFitted("the proxies are not set yet: call refresh(embeddings) before the first batch.")
        return self.proxies.to(like)


def proxy_objective(p: Tensor, start: Tensor, x: Tensor, own: Tensor) -> Tensor:
    """Eq. 7 for each proxy, (K,); own[n, k] says whether x_n pushes proxy k away."""
    logits = (x @ p.T - (p * start).sum(1)).masked_fill(~own, -torch.inf)
    return torch.logsumexp(torch.cat([logits, logits.new_zeros(1, len(p))]), dim=0)


def proxy_gradient(p: Tensor, start: Tensor, x: Tensor, own: Tensor) -> Tensor:
    """Its gradient, (K, d): sum_n w_n (x_n - p_k), w the softmax of the exponents beside a zero."""
    logits = (x @ p.T - (p * start).sum(1)).masked_fill(~own, -torch.inf)
    weights = torch.softmax(torch.cat([logits, logits.new_zeros(1, len(p))]), dim=0)[:-1]
    return weights.T @ x - weights.sum(0)[:, None] * start


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
