"""CUB-200-2011, split as in metric learning: classes 1 to 100 to train on, 101 to 200 to test on.

Read from the published lists (images.txt, image_class_labels.txt), or from plain class folders named
"001.Black_footed_Albatross" and so on. The published train_test_split.txt belongs to classification and is
not used by this split.
"""

from __future__ import annotations

from pathlib import Path

from foldwalk.core.errors import BadInput
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import picture_names, read_table, safe_name, whole_number


class CUB200(ClassSource):
    name = "cub200"
    title = "CUB-200-2011, test classes"
    what = "5,924 pictures of the 100 kinds of birds 101 to 200"
    source = "Caltech, CUB_200_2011.tgz"
    reference = "Wah et al.: The Caltech-UCSD Birds-200-2011 dataset, CNS-TR-2011-001"
    folders = ("cub200", "CUB_200_2011", "cub200_112")
    holds = ("images.txt", "[012]??.*/*.jpg")
    also_features_of: tuple[str, ...] = ("cub_last100",)
    classes = range(101, 201)

    def pictures(self, folder: Path) -> Pictures:
        if (folder / "images.txt").is_file():
            numbered, below = _from_lists(folder), folder / "images"
        else:
            numbered, below = _from_class_folders(folder), folder
        chosen = sorted(name for name, number in numbered if number in self.classes)
        return Pictures(chosen, [name.split("/")[0] for name in chosen], below)


class CUBLast(CUB200):
    name = "cub_last100"
    also_features_of = ("cub200",)


class CUBFirst(CUB200):
    name = "cub_first100"
    title = "CUB-200-2011, training classes"
    what = "5,864 pictures of the 100 kinds of birds 1 to 100"
    also_features_of = ()
    classes = range(1, 101)


def _from_lists(folder: Path) -> list[tuple[str, int]]:
    images, labels = folder / "images.txt", folder / "image_class_labels.txt"
    classes = {image: whole_number(number, labels) for image, number in read_table(labels, 2)}
    names = [(image, safe_name(name, images)) for image, name in read_table(images, 2)]
    unknown = next((name for image, name in names if image not in classes), None)
    if unknown is not None:
        raise BadInput(f"{labels} has no class for {unknown}.")
    return [(name, classes[image]) for image, name in names]


def _from_class_folders(folder: Path) -> list[tuple[str, int]]:
    names = [name for name in picture_names(folder) if name.count("/") == 1]
    return [(name, whole_number(name.partition(".")[0], folder)) for name in names]


SOURCES = (CUB200(), CUBLast(), CUBFirst())
