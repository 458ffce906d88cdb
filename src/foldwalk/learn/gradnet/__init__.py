"""GRAD-Net: features learned on the neighbour graph, without labels. The method is told in `model.py`."""

from foldwalk.learn.gradnet.model import GradNet
from foldwalk.learn.gradnet.parameters import GradNetParams

__all__ = ["GradNet", "GradNetParams"]
