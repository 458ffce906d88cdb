"""Lions, known by face, nose and coat, as a feature file or in one folder per animal."""

from __future__ import annotations

from foldwalk.datasets.class_sources import ClassFolders


class Lion(ClassFolders):
    name = "lion"
    title = "LionData"
    what = "740 pictures of 94 lions"
    source = "the wildlife_reidentification project of Dlamini and van Zyl"
    reference = (
        "Dlamini, van Zyl: Automated identification of individuals in wildlife population using Siamese "
        "neural networks, ISCMI 2020"
    )
    folders = ("lion",)


SOURCES = (Lion(),)
