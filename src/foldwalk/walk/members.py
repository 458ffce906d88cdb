"""Several ranked lists of each query into one: scores brought to a common range, weighed and added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit, prange

from foldwalk.core.types import AnyArray, Float32Array, Int32Array
from foldwalk.walk.scratch import blank
from foldwalk.walk.select import offer, sort_heap


def fused_lists(
    lists: Sequence[tuple[Int32Array, Float32Array]], weights: Sequence[float], n: int, top: int
) -> tuple[Int32Array, Float32Array]:
    """The `top` best of each query by the weighted sum of z, z = (s - last) / (first - last) in each list.

    Lists (q, length) are best first and end in ids of -1; where all scores of one are equal, z is 1. What is
    in no list, or last in each, has a sum of zero and is left out.
    """
    count, width = lists[0][0].shape[0], max(ids.shape[1] for ids, _ in lists)
    every_id = np.full((len(lists), count, width), -1, np.int32)
    every_score = np.zeros((len(lists), count, width), np.float32)
    for member, (ids, scores) in enumerate(lists):
        every_id[member, :, : ids.shape[1]], every_score[member, :, : ids.shape[1]] = ids, scores
    out_ids, out_scores = np.full((count, top), -1, np.int32), np.zeros((count, top), np.float32)
    sums = blank((count if count < 8 else 8, n), 0, np.float32)
    _fuse(every_id, every_score, np.asarray(weights, np.float32), sums, out_ids, out_scores)
    return out_ids, out_scores


@njit(cache=True, parallel=True)
def _fuse(
    ids: AnyArray,
    scores: AnyArray,
    weights: Float32Array,
    sums: AnyArray,
    out_ids: Int32Array,
    out_scores: Float32Array,
) -> None:
    """`sums`, a row for each chunk of queries, is zero before and after."""
    members, count, width = ids.shape
    chunks = sums.shape[0]
    for chunk in prange(chunks):
        total, touched = sums[chunk], np.empty(members * width, np.int32)
        for q in range(chunk * count // chunks, (chunk + 1) * count // chunks):
            reached = 0
            for member in range(members):
                known = 0
                while known < width and ids[member, q, known] >= 0:
                    known += 1
                if known == 0:
                    continue
                last = scores[member, q, known - 1]
                span = scores[member, q, 0] - last
                for place in range(known):
                    z = (scores[member, q, place] - last) / span if span > 0 else np.float32(1)
                    item = ids[member, q, place]
                    if z > 0 and total[item] == 0:
                        touched[reached] = item
                        reached += 1
                    total[item] += weights[member] * z
            size = 0
            for t in range(reached):
                item = touched[t]
                size = offer(out_scores[q], out_ids[q], size, out_ids.shape[1], total[item], item)
                total[item] = 0
            sort_heap(out_scores[q], out_ids[q], size)
