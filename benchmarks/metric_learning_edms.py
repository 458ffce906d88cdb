"""Table 2 of EDMS: six variants and DREML, a single learner and an ensemble of five.

python benchmarks/metric_learning_edms.py --root DATA
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foldwalk.learn.edms.ensemble import Learner, MetaClassEnsemble
from foldwalk.learn.edms.variants import ROWS
from foldwalk.learn.trainer import Settings, evaluate_embedding
from metric_learning import arguments, begin, configure, finish, plain, summary, train_once, with_seed

MEMBERS = 5
# What metric_learning_choice.py found on held-out training classes.
TRAINING: dict[str, Any] = {"epochs": 10, "learning_rate": 1e-3}
META_CLASSES = 50
DIM = 128


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    _, (train, test) = begin(options)
    rows = {"features as they are": {n: [v] for n, v in plain((train, test)).items()}}
    if options.dataset != "cub":
        for name, row in ROWS.items():
            rows[row.title] = _single(options, name, (train, test))
        finish(f"metric_learning_edms_{options.dataset}", rows)
        return
    for name, row in ROWS.items():
        dim = META_CLASSES if name == "dreml" else DIM
        init = "random" if name == "dreml" else "whiten"
        settings = Settings(**TRAINING, schedule="cosine", evaluate_every=0)
        learner = Learner(variant=name, meta_classes=META_CLASSES, dim=dim, init=init, settings=settings)
        single: list[dict[str, float]] = []
        together: list[dict[str, float]] = []
        for seed in range(options.seeds):
            # Learners of two seeds share nothing: a seed's members count from 100 times the seed.
            ensemble = MetaClassEnsemble(MEMBERS, replace(learner), seed=100 * seed)
            ensemble.fit(train.features, train.labels)
            single.append(evaluate_embedding(ensemble.transform(test.features, 1), test.labels))
            together.append(evaluate_embedding(ensemble.transform(test.features), test.labels))
        for title, runs in ((row.title, single), (f"{row.title}, ensemble of {MEMBERS}", together)):
            rows[title] = {figure: [run[figure] for run in runs] for figure in runs[0]}
            print(
                f"{title}: R@1 {summary(rows[title]['R@1'])}, MAP@R {summary(rows[title]['MAP@R'])}",
                flush=True,
            )
    finish(
        f"metric_learning_edms_{options.dataset}", rows, training=TRAINING, meta_classes=META_CLASSES, dim=DIM
    )


def _single(options: Any, name: str, data: Any) -> dict[str, list[float]]:
    """One learner that is no head on features (the small network)."""
    classes = len(np.unique(data[0].labels))
    edms = {"variant": name, "meta_classes": min(META_CLASSES, classes)}
    model = {"dim": edms["meta_classes"]} if name == "dreml" else {}
    config = configure(options.dataset, options.held_out, edms=edms, model=model)
    runs = [train_once("edms", with_seed(config, seed), data) for seed in range(options.seeds)]
    print(f"{name}: R@1 {summary([run['R@1'] for run in runs])}", flush=True)
    return {figure: [run[figure] for run in runs] for figure in runs[0]}


if __name__ == "__main__":
    main()
