"""Stanford Cars, split as in metric learning: classes 1 to 98 to train on, 99 to 196 to test on.

Read from cars_annos.mat (with car_ims/), or from the development kit (cars_train_annos.mat and
cars_test_annos_withlabels.mat, with cars_train/ and cars_test/).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldwalk.core.errors import BadInput
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.published_files import need_file, need_key, read_mat, safe_name, whole_number


class Cars196(ClassSource):
    name = "cars196"
    title = "Cars196 (Stanford Cars), test classes"
    what = "8,131 pictures of the 98 kinds of cars 99 to 196"
    source = "Stanford, the Cars dataset of Krause et al.: cars_annos.mat and car_ims.tgz, or car_devkit.tgz"
    reference = (
        "Krause et al.: 3D object representations for fine-grained categorization, 3dRR workshop at ICCV 2013"
    )
    folders = ("cars196", "stanford_cars")
    holds = ("cars_annos.mat", "devkit/cars_train_annos.mat")
    classes = range(99, 197)

    def pictures(self, folder: Path) -> Pictures:
        whole = folder / "cars_annos.mat"
        numbered = _annotations(whole, "relative_im_path", "") if whole.is_file() else _from_devkit(folder)
        chosen = sorted((name, number) for name, number in numbered if number in self.classes)
        return Pictures([name for name, _ in chosen], [str(number) for _, number in chosen], folder)


class Cars196Train(Cars196):
    name = "cars196-train"
    title = "Cars196 (Stanford Cars), training classes"
    what = "8,054 pictures of the 98 kinds of cars 1 to 98"
    classes = range(1, 99)


def _from_devkit(folder: Path) -> list[tuple[str, int]]:
    test = "cars_test_annos_withlabels.mat"
    path = need_file([folder / "devkit" / test, folder / test], "the list of the test pictures with labels")
    return [
        *_annotations(folder / "devkit" / "cars_train_annos.mat", "fname", "cars_train/"),
        *_annotations(path, "fname", "cars_test/"),
    ]


def _annotations(path: Path, name_field: str, below: str) -> list[tuple[str, int]]:
    raw = need_key(read_mat(path), "annotations", path)
    entries: list[dict[str, Any]] = [raw] if isinstance(raw, dict) else list(raw)
    if not all(isinstance(entry, dict) and {name_field, "class"} <= set(entry) for entry in entries):
        raise BadInput(f'{path}: each annotation must have "{name_field}" and "class".')
    return [
        (below + safe_name(str(e[name_field]), path), whole_number(str(e["class"]), path)) for e in entries
    ]


SOURCES = (Cars196(), Cars196Train())
