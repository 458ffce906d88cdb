"""Models that turn pictures into vectors, one per file, behind `backbone(name)`."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadParameter, UnknownName
from foldwalk.descriptors.backbones.base import Backbone

__all__ = ["DEFAULT", "Backbone", "backbone", "names"]

DEFAULT = "effnet_lite0"
HERE = __name__
# Name: module and class. They are imported when asked for, since each needs packages of its own.
BUILT_IN = {"effnet_lite0": ("effnet_lite0", "EffnetLite0"), "pixels": ("pixels", "Pixels")}
LIBRARIES = {
    "timm": ("timm_model", "TimmBackbone"),
    "torchvision": ("torchvision_model", "TorchvisionBackbone"),
    "open_clip": ("open_clip_model", "OpenClipBackbone"),
}


def names() -> list[str]:
    """The backbones that go by a name alone; `timm:NAME` and its like come on top."""
    return list(BUILT_IN)


def backbone(model: str | Path | Callable[..., Any] | Backbone = DEFAULT, **options: Any) -> Backbone:
    """A backbone by name, `library:NAME`, path of an ONNX file, or from a function of pictures.

    >>> backbone("pixels", size=(8, 8)).dim
    64
    """
    if isinstance(model, Backbone):
        if options:
            raise BadParameter(f"{model.name} is made already: hand in options when it is created.")
        return model
    if callable(model):
        return _make("function", "FunctionBackbone", (model,), options)
    if isinstance(model, Path) or str(model).endswith(".onnx"):
        return _make("onnx_model", "OnnxBackbone", (model,), options)
    library, _, name = str(model).partition(":")
    if name and library in LIBRARIES:
        return _make(*LIBRARIES[library], (name,), options)
    if model in BUILT_IN:
        return _make(*BUILT_IN[model], (), options)
    near = difflib.get_close_matches(str(model), BUILT_IN, n=1)
    hint = f"did you mean {near[0]}?" if near else _all_forms()
    raise UnknownName(f"there is no backbone {model!r}; {hint}")


def _all_forms() -> str:
    libraries = ", ".join(f"{library}:NAME" for library in LIBRARIES)
    return f"there are {', '.join(BUILT_IN)}, {libraries} and the paths of ONNX files."


def _make(module: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Backbone:
    kind = getattr(importlib.import_module(f"{HERE}.{module}"), name)
    allowed = list(kind.__init__.__kwdefaults__ or ())
    for option in options:
        if option not in allowed:
            raise BadParameter(f"{name} has no option {option!r}; there are {', '.join(allowed) or 'none'}.")
    made: Backbone = kind(*arguments, **options)
    return made
