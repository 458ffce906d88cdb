"""Protocols: for labels, lists of images, the revisited lists, identities under cameras; one file each."""

from foldwalk.evaluate.protocols.base import Protocol
from foldwalk.evaluate.protocols.labelled import LeaveOneOut, QueryGallery
from foldwalk.evaluate.protocols.oxford import Oxford
from foldwalk.evaluate.protocols.reid import ReID
from foldwalk.evaluate.protocols.revisited import Revisited
from foldwalk.evaluate.protocols.single_shot import SingleShot

__all__ = ["LeaveOneOut", "Oxford", "Protocol", "QueryGallery", "ReID", "Revisited", "SingleShot"]
