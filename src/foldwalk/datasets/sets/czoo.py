"""C-Zoo: faces of chimpanzees in a zoo, as a feature file or in one folder per animal."""

from __future__ import annotations

from foldwalk.datasets.class_sources import ClassFolders


class CZoo(ClassFolders):
    name = "czoo"
    title = "C-Zoo chimpanzee faces"
    what = "2,109 faces of 24 chimpanzees"
    source = "the chimpanzee_faces project of the Computer Vision Group Jena"
    reference = "Freytag et al.: Chimpanzee faces in the wild, GCPR 2016"
    folders = ("czoo",)


SOURCES = (CZoo(),)
