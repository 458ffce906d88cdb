"""What learned re-rankers share: torch when it is there, and a plain training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from foldwalk.core.errors import MissingExtra
from foldwalk.core.progress import task


def need_torch(purpose: str) -> Any:
    """The torch module, imported when it is first needed."""
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra("torch", "learn", purpose) from None
    return torch


def train(
    name: str, parameters: Iterable[Any], loss: Callable[[int], Any], steps: int, learning_rate: float
) -> None:
    """`steps` steps of Adam with a rate that falls to zero along a cosine; `loss(step)` draws its own batch.

    The number of steps is fixed: what was reached is never judged by labels.
    """
    torch = need_torch(name)
    adam = torch.optim.Adam(parameters, lr=learning_rate)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(adam, max(steps, 1))
    with task(name, steps) as advance:
        for step in range(steps):
            adam.zero_grad()
            loss(step).backward()
            adam.step()
            rate.step()
            advance(1)
