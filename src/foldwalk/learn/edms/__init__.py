"""Ensemble deep manifold similarity learning with hard proxies (EDMS).

N. Aziere and S. Todorovic, "Ensemble deep manifold similarity learning using hard proxies", CVPR 2019. The
numbers of equations, sections and tables in this folder are those of this paper. The ensemble itself, which
trains, is in foldwalk.learn.edms.ensemble.
"""

from foldwalk.learn.edms.losses import BatchManifoldLoss, ManifoldProxyLoss, ProxyNPairLoss
from foldwalk.learn.edms.metaclasses import random_meta_classes
from foldwalk.learn.edms.proxies import HardProxies
from foldwalk.learn.edms.walk import batch_walk

__all__ = [
    "BatchManifoldLoss",
    "HardProxies",
    "ManifoldProxyLoss",
    "ProxyNPairLoss",
    "batch_walk",
    "random_meta_classes",
]
