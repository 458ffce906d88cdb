"""Protocols: one file each for labels, lists of images, the revisited lists, and identities under cameras."""

from foldwalk.evaluate.protocols.base import Protocol
from foldwalk.evaluate.protocols.labelled import LeaveOneOut, QueryGallery
from foldwalk.evaluate.protocols.oxford import Oxford
from foldwalk.evaluate.protocols.reid import ReID
from foldwalk.evaluate.protocols.revisited import Revisited

__all__ = ["LeaveOneOut", "Oxford", "Protocol", "QueryGallery", "ReID", "Revisited"]
