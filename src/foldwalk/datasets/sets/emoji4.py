"""One emoji as four vendors draw it: a class is the emoji, so every class spans four domains.

Pictures are looked for in one folder per vendor, named by code points: apple/1f004.png.
"""

from __future__ import annotations

from pathlib import Path

from foldwalk.datasets.class_sources import ClassFolders, Pictures


class Emoji4(ClassFolders):
    name = "emoji4"
    title = "emoji of four vendors"
    what = "7,428 pictures: 1,857 emoji as apple, facebook, google and twitter draw them"
    source = "the emoji-data project (emoji-datasource packages of the four vendors)"
    reference = "none"
    folders = ("emoji4",)

    def pictures(self, folder: Path) -> Pictures:
        found = super().pictures(folder)
        return Pictures(found.names, [Path(name).stem for name in found.names], folder)


SOURCES = (Emoji4(),)
