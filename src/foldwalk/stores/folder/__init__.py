"""A collection in a folder: a SQLite catalogue, vectors in one growing file, what is derived from them."""

from foldwalk.stores.folder.store import FolderStore

__all__ = ["FolderStore"]
