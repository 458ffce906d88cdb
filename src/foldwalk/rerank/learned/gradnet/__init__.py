"""GRAD-Net: features learned on the neighbour graph, without labels. The method is told in `model.py`."""

from foldwalk.rerank.learned.gradnet.method import GradNetMethod
from foldwalk.rerank.learned.gradnet.model import GradNet
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams

__all__ = ["GradNet", "GradNetMethod", "GradNetParams"]
