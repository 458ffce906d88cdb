"""Public data sets, in the layout their authors publish, and synthetic ones that are always there."""

from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.registry import describe, load, names
from foldwalk.datasets.sets.synthetic import synthetic
from foldwalk.datasets.sources import Card

__all__ = ["Card", "Dataset", "describe", "load", "names", "synthetic"]
