"""foldwalk: image search that walks the manifold."""

__version__ = "0.1.0"
