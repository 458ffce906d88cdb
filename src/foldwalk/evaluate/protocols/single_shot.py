"""Single-shot re-identification: of every identity one picture, drawn at random, again and again.

Li et al., "DeepReID: Deep Filter Pairing Neural Network for Person Re-Identification", CVPR 2014, the first
protocol of CUHK03: 100 identities to test on, and of each one picture of the other camera in the gallery.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from foldwalk.core.errors import BadInput
from foldwalk.core.ranking import Ranking
from foldwalk.core.seeds import check_seed, generator
from foldwalk.core.types import BoolArray, Float64Array, IntArray
from foldwalk.evaluate.judgement import Hits, Judgement
from foldwalk.evaluate.metrics import recall_at
from foldwalk.evaluate.protocols.base import Protocol
from foldwalk.evaluate.protocols.reid import JUNK, ReID

CMC_AT = (1, 5, 10, 20)


class SingleShot(Protocol):
    """CMC@1, CMC@5, CMC@10, CMC@20, the mean of so many `repetitions`.

    A repetition draws, for the queries of each camera, one gallery picture of each identity, taken by another
    camera; all other pictures are ignored, junk and distractors too. With `identities` it draws so many
    identities first, 100 in CUHK03, and only their queries take part. The seed settles what is drawn. A
    query's figure is the mean over the repetitions in which it takes part.

    What is judged is a ranking of the whole gallery. A re-ranking has so seen every picture of it.
    """

    name = "ReID, single shot"
    main = "CMC@1"

    def __init__(
        self,
        query_ids: npt.ArrayLike,
        query_cameras: npt.ArrayLike,
        gallery_ids: npt.ArrayLike,
        gallery_cameras: npt.ArrayLike,
        *,
        repetitions: int = 10,
        identities: int | None = None,
        seed: int = 0,
        junk: Sequence[int] = JUNK,
        distractors: Sequence[int] = (),
    ) -> None:
        if repetitions < 1:
            raise BadInput(f"repetitions must be at least 1, but it is {repetitions}.")
        check_seed(seed)
        self._shots = [
            _Shot(query_ids, query_cameras, gallery_ids, gallery_cameras, junk=junk, distractors=distractors)
            for _ in range(repetitions)
        ]
        for number, shot in enumerate(self._shots):
            shot.draw(generator(seed, f"single shot {number}"), identities)
        self.n_queries = self._shots[0].n_queries

    def judge(self, ranking: Ranking, repetition: int = 0) -> Judgement:
        """Which answers are right and which do not count in one repetition, the first being 0."""
        if not 0 <= repetition < len(self._shots):
            raise BadInput(f"there is no repetition {repetition}: there are {len(self._shots)}, from 0 on.")
        return self._shots[repetition].judge(ranking)

    def per_query(self, ranking: Ranking) -> dict[str, Float64Array]:
        shots = [shot.per_query(ranking) for shot in self._shots]
        took_part = np.sum([~np.isnan(shot[self.main]) for shot in shots], axis=0)
        means = {}
        for key in shots[0]:
            total = np.sum([np.nan_to_num(shot[key]) for shot in shots], axis=0)
            means[key] = np.where(took_part > 0, total / np.maximum(took_part, 1), np.nan)
        return means


class _Shot(ReID):
    """One repetition."""

    name = SingleShot.name
    main = SingleShot.main
    _shown: BoolArray  # (camera of the query, gallery item): whether it was drawn
    _shown_ids: BoolArray  # (camera of the query, identity): whether one of it was drawn

    def draw(self, random: np.random.Generator, identities: int | None) -> None:
        known = np.unique(self.gallery_ids[self.gallery_ids >= 0])
        if identities is not None:
            if not 1 <= identities <= len(known):
                raise BadInput(f"identities must be from 1 to the {len(known)} there are, not {identities}.")
            known = random.choice(known, identities, replace=False)
        drawable = np.isin(self.gallery_ids, known)
        cameras = 1 + max(int(self.query_cameras.max()), int(self.gallery_cameras.max()))
        codes = 1 + max(int(self.query_ids.max()), int(self.gallery_ids.max()))
        self._shown = np.zeros((cameras, len(self.gallery_ids)), np.bool_)
        self._shown_ids = np.zeros((cameras, codes), np.bool_)
        for camera in np.unique(self.query_cameras):
            others = random.permutation(np.flatnonzero(drawable & (self.gallery_cameras != camera)))
            found, first = np.unique(self.gallery_ids[others], return_index=True)
            self._shown[camera, others[first]] = True
            self._shown_ids[camera, found] = True

    def _judge_rows(self, ids: IntArray, rows: slice) -> Judgement:
        cameras, people = self.query_cameras[rows], self.query_ids[rows]
        shown = self._shown[cameras[:, None], ids]
        relevant = shown & (self.gallery_ids[ids] == people[:, None])
        return Judgement(relevant, ~shown, self._shown_ids[cameras, people].astype(np.int64))

    def _figures(self, hits: Hits) -> dict[str, Float64Array]:
        return {f"CMC@{k}": recall_at(hits, k) for k in CMC_AT}
