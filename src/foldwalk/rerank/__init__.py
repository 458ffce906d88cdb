"""Re-rankers: one file per method, one interface for all."""

from foldwalk.rerank.base import Reranker
from foldwalk.rerank.diffusion.regional import RegionalDFS
from foldwalk.rerank.metric_fusion import fuse_by_diffusion, fuse_distances
from foldwalk.rerank.registry import MethodCard, create, describe, names
from foldwalk.rerank.saving import load, save

__all__ = [
    "MethodCard",
    "RegionalDFS",
    "Reranker",
    "create",
    "describe",
    "fuse_by_diffusion",
    "fuse_distances",
    "load",
    "names",
    "save",
]
