"""Table 2 of EDMS: six variants and DREML, learners one by one and as ensembles of five.

    python -m benchmarks.metric_learning.edms --root DATA            # the table
    python -m benchmarks.metric_learning.edms --root DATA --choose   # its rate, on held-out training classes
    python -m benchmarks.metric_learning.edms --root DATA --diagonal # when it becomes zero, on the same

On Omniglot, whose learners are small networks and no heads, one ensemble of all seeds' networks. Their logit
scales are those of the heads: choice.py --what edms_conv chose the same.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from foldwalk.learn.edms.ensemble import Learner, MetaClassEnsemble
from foldwalk.learn.edms.variants import ROWS
from foldwalk.learn.trainer.config import Config
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from metric_learning import (
    FIGURES,
    Rows,
    arguments,
    begin,
    configure,
    make_trainer,
    markdown,
    measured_before,
    once,
    over_seeds,
    plain,
    summary,
    with_seed,
    write,
)
from metric_learning_choice import HELD_OUT

MEMBERS = 5
META_CLASSES = 50  # the paper's best
RATE = 1e-3  # --choose
DIM = 512  # as in the other tables; the paper's networks have 128


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--variants", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--choose", action="store_true", help="compare rates on held-out training classes")
    parser.add_argument(
        "--diagonal", action="store_true", help="compare when the diagonal becomes zero there"
    )
    options = parser.parse_args()
    diagonal(options) if options.diagonal else choose(options) if options.choose else table(options)


def table(options: Any) -> None:
    base, data = begin(options)
    name = f"metric_learning_edms_{options.dataset}" + (f"_{options.dim}" if options.dim != DIM else "")
    rows: Rows = measured_before(name, options.resume)["rows"] or {"features as they are": plain(data)}
    for variant in options.variants:
        row = ROWS[variant]
        if row.title in rows:
            continue
        if options.dataset == "cub":
            single, together = _ensembles(variant, base, options, data, META_CLASSES, RATE)
        else:
            single, together = _networks(variant, options, data)
        members = MEMBERS if options.dataset == "cub" else options.seeds
        rows[row.title], rows[f"{row.title}, ensemble of {members}"] = single, together
        print(f"{row.title}: R@1 {summary(single['R@1'])}, ensemble {summary(together['R@1'])}", flush=True)
        write(name, rows, config=base.model_dump(), meta_classes=META_CLASSES, dim=options.dim)
    print(markdown(rows))


def choose(options: Any) -> None:
    """Which rate, for one learner and for ensembles: half of the classes, so half of the meta-classes."""
    base, data = begin(options, HELD_OUT)
    rows: Rows = {"features as they are": plain(data, clustering=False)}
    for variant, rate in itertools.product(options.variants, (3e-4, 1e-3)):
        found = _ensembles(variant, base, options, data, META_CLASSES // 2, rate)
        for title, row in zip(("one", f"ensemble of {MEMBERS}"), found, strict=True):
            rows[f"{ROWS[variant].title}, rate {rate:g}, {title}"] = row
        write("metric_learning_choice_edms_ensemble_cub", rows)
    print(markdown(rows))


def diagonal(options: Any) -> None:
    """Before or after normalising (eq. 9), for one learner and for ensembles of each variant that walks."""
    base, data = begin(options, HELD_OUT)
    rows: Rows = {"features as they are": plain(data, clustering=False)}
    walking = [variant for variant in options.variants if ROWS[variant].walk]
    for variant, when in itertools.product(walking, ("before", "after")):
        found = _ensembles(variant, base, options, data, META_CLASSES // 2, RATE, diagonal=when)
        for title, row in zip(("one", f"ensemble of {MEMBERS}"), found, strict=True):
            rows[f"{ROWS[variant].title}, {when}, {title}"] = row
        print(f"{variant}, {when}: MAP@R {', '.join(summary(row['MAP@R']) for row in found)}", flush=True)
        write("metric_learning_choice_edms_diagonal_cub", rows)
    print(markdown(rows))


def _ensembles(
    variant: str, base: Config, options: Any, data: Any, meta_classes: int, rate: float, **further: Any
) -> list[dict[str, list[float]]]:
    one_hot = variant == "dreml"
    learner = Learner(
        variant=variant,
        meta_classes=meta_classes,
        dim=meta_classes if one_hot else options.dim,
        init="random" if one_hot else "whiten",
        settings=base.training.model_copy(update={"learning_rate": rate}),
        **further,
    )
    choosing = options.choose or options.diagonal
    return train_ensembles(learner, data, options.seeds, clustering=not choosing)


def train_ensembles(
    learner: Learner | list[Learner], data: Any, seeds: int, clustering: bool
) -> list[dict[str, list[float]]]:
    """Figures of each learner of each seed, and of each seed's ensemble."""
    train, test = data
    alone: list[dict[str, float]] = []
    together: list[dict[str, float]] = []
    for seed in range(seeds):
        # Learners of two seeds share nothing: a seed's members count from 100 times the seed.
        ensemble = MetaClassEnsemble(MEMBERS, learner, seed=100 * seed).fit(train.features, train.labels)
        for head in ensemble.heads_:
            with torch.no_grad():
                embedded = head(torch.from_numpy(test.features)).numpy()
            alone.append(evaluate_embedding(embedded, test.labels, clustering=False))
        joined = ensemble.transform(test.features)
        together.append(evaluate_embedding(joined, test.labels, clustering))
    return [{figure: [run[figure] for run in runs] for figure in runs[0]} for runs in (alone, together)]


def _networks(variant: str, options: Any, data: Any) -> list[dict[str, list[float]]]:
    """Figures of each seed's network, and of all of them together."""
    train, test = data
    groups = min(META_CLASSES, len(np.unique(train.labels)))
    model = {"dim": groups} if variant == "dreml" else {}
    edms = {"variant": variant, "meta_classes": groups}
    config = configure(options.dataset, edms=edms, model=model)
    embedded: list[Any] = []

    def run(seed: int) -> dict[str, float]:
        trainer = make_trainer("edms", with_seed(config, seed), data)
        last = trainer.fit()[-1]
        embedded.append(trainer.embed(test.inputs))
        return {key: value for key, value in last.items() if key in FIGURES}

    alone = over_seeds(run, range(options.seeds), variant)
    return [alone, once(evaluate_embedding(np.concatenate(embedded, axis=1), test.labels))]


if __name__ == "__main__":
    main()
