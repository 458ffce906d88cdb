"""Where a network runs."""

from __future__ import annotations

import torch

from foldwalk.core.errors import BadParameter
from foldwalk.descriptors.backbones.options import check_choice

DEVICES = ("auto", "cpu", "cuda", "mps")


def device_of(name: str) -> torch.device:
    """The device of this name; "auto" is a graphics card, where there is one, else the processor."""
    check_choice("device", name, DEVICES)
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "mps" if there["mps"] else "cpu")
    if not there[name]:
        found = ", ".join(device for device, is_there in there.items() if is_there)
        raise BadParameter(f"device {name} is not available here; there is {found}.")
    return torch.device(name)
