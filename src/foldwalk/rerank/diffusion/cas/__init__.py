"""Cluster-aware similarity diffusion: see method.py for the method, the other files for its steps."""

from foldwalk.rerank.diffusion.cas.method import CAS

__all__ = ["CAS"]
