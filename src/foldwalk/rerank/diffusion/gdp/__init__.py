"""The generic diffusion process, in one folder: its matrices, its updates, the method."""

from foldwalk.rerank.diffusion.gdp.method import GDP

__all__ = ["GDP"]
