"""Random meta-classes: classes thrown together, another way for each learner (section 4.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadParameter
from foldwalk.core.labels import check_labels
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray


def random_meta_classes(labels: npt.ArrayLike, count: int, seed: int = 0) -> IntArray:
    """The meta-class of each item, 0 to count - 1, of as many classes each as can be.

    Whole classes are grouped: a class cut in two would make its own pictures negatives of each other.

    >>> random_meta_classes(["a", "b", "a", "c"], 2).tolist()
    [0, 0, 0, 1]
    """
    codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
    classes = int(codes.max()) + 1
    if not 2 <= count <= classes:
        raise BadParameter(f"there must be 2 to {classes} meta-classes (one per class), not {count}.")
    place = generator(seed, "meta-classes").permutation(classes)
    return np.asarray((place % count)[codes], dtype=np.int64)
