"""What a person needs to judge pools by: sizes, hardness, and with labels how pure they are (section 5.1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.labels import check_labels
from foldwalk.core.types import Float32Array, Int32Array
from foldwalk.core.vectors import Vectors
from foldwalk.learn.mining.cosines import listed_cosines
from foldwalk.learn.mining.pools import Pools


@dataclass(frozen=True)
class PoolReport:
    """`usable` anchors have both a positive and a negative.

    Sizes and similarities are means over all examples; similarity is the cosine of anchor and example in the
    features mined from: low for hard positives, high for hard negatives. Precision is the share of positives
    that have the anchor's label, and of negatives that have another; None without labels.
    """

    items: int
    anchors: int
    usable: int
    positives: float
    negatives: float
    positive_similarity: float
    negative_similarity: float
    positive_precision: float | None
    negative_precision: float | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        usable = f"{self.usable} with both pools, {self.seconds:.1f} s"
        lines = [f"{self.anchors} anchors of {self.items} items, {usable}"]
        for name in ("positive", "negative"):
            line = f"  {name}s: {getattr(self, f'{name}s'):.1f} each, "
            line += f"mean similarity {getattr(self, f'{name}_similarity'):.3f}"
            precision = getattr(self, f"{name}_precision")
            lines.append(line + (f", {100 * precision:.1f} % right" if precision is not None else ""))
        return "\n".join(lines)


def report_pools(pools: Pools, unit: Vectors, labels: npt.ArrayLike | None, seconds: float) -> PoolReport:
    """`unit` are the features mined from, scaled to length one."""
    codes = None
    if labels is not None:
        codes = np.unique(check_labels(labels, "labels"), return_inverse=True)[1]
        if len(codes) != pools.items:
            raise BadInput(f"there are {len(codes)} labels for {pools.items} items; pass one per item.")
    positive, negative = pools.positive_counts, pools.negative_counts
    same_positive = _same_label(pools, pools.positives, codes)
    same_negative = _same_label(pools, pools.negatives, codes)
    return PoolReport(
        pools.items,
        len(pools),
        int(pools.usable.sum()),
        float(positive.mean()) if len(pools) else 0.0,
        float(negative.mean()) if len(pools) else 0.0,
        _mean_cosine(pools, pools.positives, unit.values),
        _mean_cosine(pools, pools.negatives, unit.values),
        same_positive,
        None if same_negative is None else 1 - same_negative,
        seconds,
    )


def _same_label(pools: Pools, ids: Int32Array, codes: npt.NDArray[Any] | None) -> float | None:
    present = ids >= 0
    if codes is None or not present.any():
        return None
    return float((codes[ids] == codes[pools.anchors][:, None])[present].mean())


def _mean_cosine(pools: Pools, ids: Int32Array, unit: Float32Array) -> float:
    count = int((ids >= 0).sum())
    total = listed_cosines(unit, pools.anchors, ids).sum(dtype=np.float64)
    return float(total) / count if count else 0.0
