"""Pictures to vectors: safe decoding, backbones, pooling, whitening."""

from foldwalk.descriptors.backbones import (
    DEFAULT,
    FOR_INDEXES,
    Backbone,
    BackboneCard,
    backbone,
    is_known,
    lasting_name,
    names,
)
from foldwalk.descriptors.decode import PICTURE_SUFFIXES, find_pictures, load_picture, thumbnail
from foldwalk.descriptors.extract import Batch, Described, Skipped, describe, extract
from foldwalk.descriptors.limits import Limits, Unreadable

__all__ = [
    "DEFAULT",
    "FOR_INDEXES",
    "PICTURE_SUFFIXES",
    "Backbone",
    "BackboneCard",
    "Batch",
    "Described",
    "Limits",
    "Skipped",
    "Unreadable",
    "backbone",
    "describe",
    "extract",
    "find_pictures",
    "is_known",
    "lasting_name",
    "load_picture",
    "names",
    "thumbnail",
]
