"""What learns: graph networks, miners, proxies, losses, trainings. Each name is imported when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from foldwalk.core.errors import MissingExtra

if TYPE_CHECKING:
    from foldwalk.learn import trainings
    from foldwalk.learn.cgml import BinomialDevianceLoss, GraphConsistencyLoss
    from foldwalk.learn.edms import HardProxies, ManifoldProxyLoss
    from foldwalk.learn.edms.ensemble import MetaClassEnsemble
    from foldwalk.learn.mining import ManifoldMiner
    from foldwalk.learn.trainer.loop import Trainer
    from foldwalk.rerank.learned.gradnet import GradNet

# Where each public name lives; packages of this folder add their own line.
_HOMES = {
    "BinomialDevianceLoss": "foldwalk.learn.cgml",
    "GradNet": "foldwalk.rerank.learned.gradnet",
    "GraphConsistencyLoss": "foldwalk.learn.cgml",
    "HardProxies": "foldwalk.learn.edms",
    "ManifoldMiner": "foldwalk.learn.mining",
    "ManifoldProxyLoss": "foldwalk.learn.edms",
    "MetaClassEnsemble": "foldwalk.learn.edms.ensemble",
    "Trainer": "foldwalk.learn.trainer.loop",
}
_PACKAGES = ("torch", "accelerate", "pytorch_metric_learning", "safetensors")

__all__ = [
    "BinomialDevianceLoss",
    "GradNet",
    "GraphConsistencyLoss",
    "HardProxies",
    "ManifoldMiner",
    "ManifoldProxyLoss",
    "MetaClassEnsemble",
    "Trainer",
    "trainings",
]


def __getattr__(name: str) -> Any:
    if name == "trainings":
        return importlib.import_module("foldwalk.learn.trainings")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _PACKAGES:
            raise
        raise MissingExtra(missing, "learn", f"foldwalk.learn.{name}") from None


def __dir__() -> list[str]:
    return sorted(__all__)
