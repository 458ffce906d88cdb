"""COIL-20: objects on a turntable. Raw pixels are the pictures brought from 128 x 128 to 32 x 32."""

from __future__ import annotations

from pathlib import Path

from foldwalk.datasets.class_sources import ClassSource, Pictures


class COIL20(ClassSource):
    name = "coil20"
    title = "COIL-20"
    what = "1,440 grey pictures of 20 objects, 72 views each, 5 degrees apart, 128 x 128"
    source = "Columbia University, coil-20-proc.zip"
    reference = "Nene, Nayar, Murase: Columbia Object Image Library (COIL-20), CUCS-005-96, 1996"
    folders = ("coil20", "coil-20-proc")
    holds = ("obj*__*.png",)
    pixel_size = (32, 32)

    def pictures(self, folder: Path) -> Pictures:
        names = sorted(path.name for path in folder.glob("obj*__*.png"))
        return Pictures(names, [name.split("__")[0] for name in names], folder)


SOURCES = (COIL20(),)
