"""The handwritten digits that come with scikit-learn, so they are always there. Grey values are 15 times the
published counts 0..16, so that they can be looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from foldwalk.core.errors import BadInput
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.sources import Kind


class Digits(ClassSource):
    name = "digits"
    title = "handwritten digits of scikit-learn"
    what = "1,797 grey pictures of the ten digits, 8 x 8"
    source = "scikit-learn, which foldwalk brings with it"
    reference = "Alpaydin, Kaynak: Optical recognition of handwritten digits, UCI repository, 1998"
    pixel_size = (8, 8)

    always_there = True

    def load(self, root: Path | None, kind: Kind) -> Dataset:  # noqa: ARG002
        if kind == "features":
            raise BadInput('digits come as raw pixels; load "digits" or "digits:pixels".')
        return self.from_pictures(self.pictures(Path()), kind)

    def pictures(self, folder: Path) -> Pictures:  # noqa: ARG002
        digits = load_digits()
        arrays = (15 * digits.images).astype(np.uint8)
        return Pictures([str(i) for i in range(len(arrays))], digits.target.astype(np.int64), arrays=arrays)


SOURCES = (Digits(),)
