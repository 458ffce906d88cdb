"""Grocery Store: the test pictures, with their fine classes."""

from __future__ import annotations

from pathlib import Path

from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import read_table, safe_name


class Grocery(ClassSource):
    name = "grocery"
    title = "Grocery Store, test pictures"
    what = "2,485 phone photographs of 81 kinds of fruit, vegetables and packages in shops"
    source = "the GroceryStoreDataset project of Marcus Klasson on GitHub"
    reference = "Klasson, Zhang, Kjellstroem: A hierarchical grocery store image dataset, WACV 2019"
    folders = ("grocery", "GroceryStoreDataset/dataset")
    holds = ("test.txt",)

    def pictures(self, folder: Path) -> Pictures:
        path = folder / "test.txt"  # path, class, coarse class
        rows = read_table(path, 3, separator=",")
        return Pictures([safe_name(row[0], path) for row in rows], [row[1] for row in rows], folder)


SOURCES = (Grocery(),)
