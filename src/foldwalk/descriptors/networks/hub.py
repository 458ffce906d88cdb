"""Image models of Hugging Face's transformers, from the hub or a folder: `hf:OWNER/NAME`, `hf:./folder`.

Weights are read from safetensors alone, and code that comes with a model is never run. A folder is read where
it lies; only a name of the hub downloads anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foldwalk.core.errors import MissingData
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.networks import register
from foldwalk.descriptors.networks.kind import Kind

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network


@register
class Hub(Kind):
    name = "hf"
    summary = "any image model of Hugging Face's transformers, from the hub or a folder"
    named = "hf:OWNER/NAME or hf:./folder"
    example = "hf:facebook/dinov2-small"
    extra = "hub"
    remark = "Its licence stands on the model's page; facebook/dinov2-small, for one, is under Apache-2.0."

    @classmethod
    def lasting(cls, own: str) -> str:
        folder = folder_of(own)
        return own if folder is None else str(folder.absolute())

    @classmethod
    def load(cls, name: str, own: str) -> Network:
        for package in ("torch", "transformers"):
            need(package, cls.extra, f"The network {name}")
        from foldwalk.descriptors.networks.shared import hub_loading

        return hub_loading.load(name, folder_of(own) or own)


def folder_of(own: str) -> Path | None:
    """The folder a name stands for; None for a name of the hub."""
    path = Path(own).expanduser()
    if path.is_dir():
        return path
    if own.startswith((".", "/", "~")):
        raise MissingData(f"{path} is not a folder: give one with config.json and model.safetensors.")
    return None
