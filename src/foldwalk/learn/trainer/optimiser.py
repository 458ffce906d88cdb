"""What changes the weights: the optimiser with a rate for each part of a model, and its schedule."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from foldwalk.learn.trainer.models import Head
from foldwalk.learn.trainer.network_model import NetworkModel
from foldwalk.learn.trainer.settings import TrainingSettings


def make_optimiser(model: nn.Module, loss: nn.Module, s: TrainingSettings) -> torch.optim.Optimizer:
    """The rate for a model's blocks; trunk_rate times as much for its trunk, head_rate for its head.

    A model may be nothing but a head. What a loss learns has loss_rate.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    heads = {id(p) for name, p in named if isinstance(model, Head) or name.startswith("head.")}
    trunk = {id(p) for p in model.trunk} if isinstance(model, NetworkModel) else set()
    parts = [
        (1.0, [p for _, p in named if id(p) not in heads | trunk]),
        (s.trunk_rate, [p for _, p in named if id(p) in trunk]),
        (s.head_rate, [p for _, p in named if id(p) in heads]),
        (s.loss_rate, list(loss.parameters())),
    ]
    groups: list[dict[str, Any]] = [
        {"params": learned, "lr": s.learning_rate * times} for times, learned in parts if learned
    ]
    if s.optimiser == "sgd":
        return torch.optim.SGD(groups, s.learning_rate, s.momentum, weight_decay=s.weight_decay)
    kind = torch.optim.Adam if s.optimiser == "adam" else torch.optim.AdamW
    return kind(groups, s.learning_rate, weight_decay=s.weight_decay)


def make_schedule(
    optimiser: torch.optim.Optimizer, s: TrainingSettings
) -> torch.optim.lr_scheduler.LRScheduler:
    """How the rates fall from epoch to epoch."""
    if s.schedule == "step":
        return torch.optim.lr_scheduler.StepLR(optimiser, s.every, s.factor)
    if s.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(1, s.epochs))
    return torch.optim.lr_scheduler.ConstantLR(optimiser, factor=1.0, total_iters=0)
