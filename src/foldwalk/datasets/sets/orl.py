"""ORL (AT&T) faces. Raw pixels are the pictures as they are, 92 x 112 = 10,304 grey values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foldwalk.core.types import AnyArray
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.evaluate import LeaveOneOut, Protocol


class ORL(ClassSource):
    name = "orl"
    title = "ORL (AT&T) faces"
    what = "400 grey portraits of 40 people, ten each, 92 x 112"
    source = "the Olivetti Research Laboratory's face database (also spread as att_faces)"
    reference = (
        "Samaria, Harter: Parameterisation of a stochastic model for human face identification, WACV 1994"
    )
    folders = ("orl", "att_faces", "orl_faces")
    holds = ("s*/*.pgm",)
    pixel_size = (92, 112)

    def pictures(self, folder: Path) -> Pictures:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.glob("s*/*.pgm"))
        return Pictures(names, [name.split("/")[0] for name in names], folder)

    def protocol(self, labels: Sequence[str] | AnyArray) -> Protocol:
        return LeaveOneOut(labels, bullseye=15, query_counted=True)


SOURCES = (ORL(),)
