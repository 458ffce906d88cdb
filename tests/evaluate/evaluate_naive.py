"""Every metric once more, as a plain loop over one query's answers, written from its definition.

`answers` are the ids a ranking returns, without the ignored ones; `relevant` is the set of right ids.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foldwalk.core import Ranking


def ranking(ids: object) -> Ranking:
    rows = np.asarray(ids)
    return Ranking(rows, np.zeros(rows.shape))


def random_ranking(rng: np.random.Generator, queries: int, gallery: int, top: int) -> Ranking:
    return ranking(np.stack([rng.permutation(gallery)[:top] for _ in range(queries)]))


def without(ids: Iterable[int], ignored: set[int]) -> list[int]:
    return [int(i) for i in ids if int(i) not in ignored]


def rectangle_ap(answers: list[int], relevant: set[int]) -> float:
    found, total = 0, 0.0
    for rank, answer in enumerate(answers, start=1):
        if answer in relevant:
            found += 1
            total += found / rank
    return total / len(relevant)


def trapezoid_ap(answers: list[int], relevant: set[int]) -> float:
    """The area below the line through all (recall, precision) points, which starts at (0, 1)."""
    recalls, precisions = [0.0], [1.0]
    for rank in range(1, len(answers) + 1):
        found = len(relevant.intersection(answers[:rank]))
        recalls.append(found / len(relevant))
        precisions.append(found / rank)
    return float(np.trapezoid(precisions, recalls))


def ap_at_r(answers: list[int], relevant: set[int]) -> float:
    return rectangle_ap(answers[: len(relevant)], relevant)


def r_precision(answers: list[int], relevant: set[int]) -> float:
    return sum(answer in relevant for answer in answers[: len(relevant)]) / len(relevant)


def recall(answers: list[int], relevant: set[int], k: int) -> float:
    return float(any(answer in relevant for answer in answers[:k]))


def last_rank(answers: list[int], relevant: set[int]) -> float:
    ranks = [rank for rank, answer in enumerate(answers, start=1) if answer in relevant]
    return max(ranks) if len(ranks) == len(relevant) else float("inf")


def precision(answers: list[int], relevant: set[int], k: int) -> float:
    depth = int(min(k, last_rank(answers, relevant)))
    return sum(answer in relevant for answer in answers[:depth]) / depth


def inp(answers: list[int], relevant: set[int]) -> float:
    return len(relevant) / last_rank(answers, relevant)
