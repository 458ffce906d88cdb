"""What describes the pictures of an index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from foldwalk import descriptors
from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.descriptors import Backbone
from foldwalk.stores import Facts


def backbone_name(backbone: Any) -> str | None:
    """What the store notes of a backbone; an unknown name is refused before anything is made."""
    if backbone is None:
        return None
    named = Path(backbone) if isinstance(backbone, os.PathLike) else backbone
    noted = descriptors.lasting_name(named) if isinstance(named, (str, Path)) else None
    return descriptors.backbone(named).name if noted is None else noted


def load_backbone(given: Any, facts: Facts) -> Backbone:
    """The backbone of an index, refused if its vectors could not be compared with those that are there."""
    wanted = given if given is not None else facts.backbone
    if wanted is None:
        raise BadInput("this index was made of vectors without a backbone; search it by vector or by key.")
    try:
        backbone = descriptors.backbone(wanted)
    except UnknownName:
        raise BadInput(
            f"this index was made with the backbone {wanted!r}, which has to be handed in: "
            f"Index.open(path, backbone=...)."
        ) from None
    if facts.identity is not None and backbone.identity != facts.identity:
        raise BadInput(
            f"this index was described by {facts.identity}, but the backbone is {backbone.identity}; "
            f"use the same, or make a new index."
        )
    return backbone
