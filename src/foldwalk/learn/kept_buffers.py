"""Buffers whose length is known only when they are filled, or when a state is loaded."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn


def load_any_length(module: nn.Module, name: str, axis: int = 0) -> None:
    """Let `module.load_state_dict` take the buffer `name` in whatever length along `axis` it was kept."""
    module.register_load_state_dict_pre_hook(partial(_make_room, name=name, axis=axis))  # type: ignore[no-untyped-call]


def _make_room(owner: nn.Module, state: dict[str, Any], prefix: str, *_: Any, name: str, axis: int) -> None:
    kept, own = state.get(prefix + name), getattr(owner, name)
    if not isinstance(kept, Tensor) or kept.ndim != own.ndim:
        return  # torch says what is wrong
    if all(kept.shape[i] == own.shape[i] for i in range(own.ndim) if i != axis):
        setattr(owner, name, own.new_empty(kept.shape, dtype=kept.dtype))
