"""MPEG-7 shapes. Raw pixels are the silhouettes brought, whatever their proportions, to 64 x 64."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foldwalk.core.types import AnyArray
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import picture_names
from foldwalk.evaluate import LeaveOneOut, Protocol


class MPEG7(ClassSource):
    name = "mpeg7"
    title = "MPEG-7 CE-Shape-1 part B"
    what = "1,400 silhouettes of 70 kinds of things, 20 each"
    source = "the MPEG-7 Core Experiment CE-Shape-1 (part B)"
    reference = "Latecki, Lakaemper, Eckhardt: Shape descriptors for non-rigid shapes, CVPR 2000"
    folders = ("mpeg7", "MPEG7dataset", "original")
    holds = ("*-1.png", "*-1.gif")
    pixel_size = (64, 64)

    def pictures(self, folder: Path) -> Pictures:
        names = [name for name in picture_names(folder) if "/" not in name and "-" in name]
        return Pictures(names, [name.rpartition("-")[0].lower() for name in names], folder)

    def protocol(self, labels: Sequence[str] | AnyArray) -> Protocol:
        return LeaveOneOut(labels, bullseye=40, query_counted=True)


SOURCES = (MPEG7(),)
