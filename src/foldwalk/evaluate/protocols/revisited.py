"""Revisited Oxford and Paris: three settings, from easy to hard.

Radenovic et al., "Revisiting Oxford and Paris: Large-Scale Image Retrieval Benchmarking", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.core.ranking import Ranking
from foldwalk.core.types import Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import precision_at
from foldwalk.evaluate.protocols.base import Protocol
from foldwalk.evaluate.protocols.oxford import Oxford, check_ids

PRECISION_AT = (1, 5, 10)
KINDS = ("easy", "hard", "junk")
# setting: what is relevant, what is ignored
SETTINGS = {
    "easy": (("easy",), ("junk", "hard")),
    "medium": (("easy", "hard"), ("junk",)),
    "hard": (("hard",), ("junk", "easy")),
}


class Revisited(Protocol):
    """mAP and mP@1, 5, 10 in the settings easy, medium and hard: "mAP_easy", ..., "mP@10_hard".

    `ground_truth` holds, for each query, a mapping with lists of gallery ids under "easy", "hard" and "junk"
    (other keys, such as the box of the query, are passed over). Ignored images are taken out before ranks are
    counted; a query without positives in a setting is left out of that setting's means.
    """

    name = "Revisited"
    main = "mAP_medium"

    def __init__(self, ground_truth: Sequence[Mapping[str, Any]], *, gallery_size: int | None = None) -> None:
        self.n_queries = len(ground_truth)
        lists = [_lists(entry, q, gallery_size) for q, entry in enumerate(ground_truth)]
        self._settings = {
            setting: _Setting(
                [np.concatenate([entry[kind] for kind in relevant]) for entry in lists],
                [np.concatenate([entry[kind] for kind in ignored]) for entry in lists],
                gallery_size=gallery_size,
            )
            for setting, (relevant, ignored) in SETTINGS.items()
        }

    def judge(self, ranking: Ranking, setting: str = "medium") -> Judgement:
        """Which of the ranked items are relevant, and which are ignored, by the rules of one setting."""
        if setting not in self._settings:
            raise UnknownName(f'there is no setting "{setting}"; choose easy, medium or hard.')
        return self._settings[setting].judge(ranking)

    def per_query(self, ranking: Ranking) -> dict[str, Float64Array]:
        """Each figure of each setting, one value a query."""
        return {
            f"{key}_{setting}": values
            for setting, protocol in self._settings.items()
            for key, values in protocol.per_query(ranking).items()
        }


class _Setting(Oxford):
    name = Revisited.name

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return super()._figures(hits) | {f"mP@{k}": precision_at(hits, k) for k in PRECISION_AT}


def _lists(entry: Mapping[str, Any], query: int, gallery_size: int | None) -> dict[str, IntArray]:
    missing = [kind for kind in KINDS if kind not in entry]
    if missing:
        raise BadInput(f'the ground truth of query {query} has no list "{missing[0]}".')
    return {kind: check_ids(entry[kind], f'"{kind}" of query {query}', gallery_size) for kind in KINDS}
