"""Our answers beside those of the authors' own programs."""

from __future__ import annotations

import numpy as np
import pytest
from reference import SETS, load_reference, overlap

from foldwalk import rerank
from foldwalk.core import Ranking

# method, parameters, the reference's name, mAP of the authors' program on syn1000, orl, grocery
CASES = [
    ("plain", {}, "plain", (65.42, 85.61, 49.34)),
    ("aqe", {"k": 4}, "aqe", (67.45, 87.35, 53.25)),
    ("alpha_qe", {"k": 10}, "alpha_qe_n10", (68.10, 81.07, 51.94)),
    ("alpha_qe", {"k": 10, "dba": True}, "alpha_qe_dba_n10", (65.56, 87.82, 59.89)),
    ("dfs", {"k": 15}, "dfs_k15", (77.62, 81.88, 58.83)),
    ("eir", {"k": 15}, "eir_transductive_k15", (78.92, 87.61, 57.80)),
    ("k_reciprocal", {}, "k_reciprocal", (71.75, 90.89, 62.48)),
    ("k_reciprocal", {}, "k_reciprocal_features", (71.83, 90.84, 62.49)),
]


def unreached_by_id(ranking: Ranking) -> Ranking:
    """The same ranking with what the walk did not reach in order of id, as the authors' programs leave it."""
    ids = ranking.ids.copy()
    for row, scores in zip(ids, ranking.scores, strict=True):
        reached = int((scores > 0).sum())
        row[reached:] = np.sort(row[reached:])
    return Ranking(ids, np.broadcast_to(np.arange(ids.shape[1], 0, -1, dtype=np.float32), ids.shape))


@pytest.mark.parametrize("place", range(len(SETS)), ids=SETS)
@pytest.mark.parametrize("case", CASES, ids=[c[2] for c in CASES])
def test_agrees_with_the_authors_program(case, place, reference_root, data_root):
    name, parameters, theirs, figures = case
    reference = load_reference(SETS[place], reference_root, data_root)
    method = rerank.create(name, **parameters)
    ours = method.rerank(reference.queries, reference.gallery, top=len(reference.gallery))
    assert overlap(ours, reference.answers[theirs]) >= 0.98
    assert reference.mean_average_precision(unreached_by_id(ours)) == pytest.approx(figures[place], abs=0.3)
    # What follows by plain similarity where the authors leave chance must not cost anything.
    assert reference.mean_average_precision(ours) >= figures[place] - 0.3


@pytest.mark.parametrize(("name", "figure"), [("syn1000", 59.15), ("orl", 54.16), ("grocery", 49.65)])
def test_eir_on_unseen_queries_agrees_with_the_authors_program(name, figure, reference_root, data_root):
    reference = load_reference(name, reference_root, data_root)
    fitted = rerank.create("eir", k=50, k_query=10).fit(reference.gallery)
    ours = fitted.rank(reference.queries, top=len(reference.gallery))
    assert overlap(ours, reference.answers["eir_inductive_k50"]) >= 0.98
    assert reference.mean_average_precision(ours) == pytest.approx(figure, abs=0.3)
