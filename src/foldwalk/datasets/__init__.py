"""Public data sets, in the layout their authors publish, and synthetic ones that are always there."""

from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.registry import describe, load, names
from foldwalk.datasets.sets.synthetic import synthetic
from foldwalk.datasets.sources import DatasetCard

__all__ = ["Dataset", "DatasetCard", "describe", "load", "names", "synthetic"]
