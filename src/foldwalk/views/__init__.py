"""Views: the same vectors seen in another way, which is learned from the collection without labels.

A walk in one view goes astray where another does not; `views=` of every method takes one or several.
"""

from foldwalk.views.base import View, ViewCard
from foldwalk.views.registry import create, describe, learn, names, restore, state

__all__ = ["View", "ViewCard", "create", "describe", "learn", "names", "restore", "state"]
