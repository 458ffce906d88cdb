"""Ensembles of five whose learners differ by more than meta-classes: loss, root or share of the features.

    python benchmarks/metric_learning_ensembles.py --root DATA --choose   # on held-out training classes
    python benchmarks/metric_learning_ensembles.py --root DATA            # the test classes

All 1280 features, no classes thrown together unless said. Half of the classes give half of the steps an
epoch: --choose trains twice the epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foldwalk.learn.edms.ensemble import Learner
from foldwalk.learn.trainer import Settings
from metric_learning import Rows, arguments, begin, markdown, measured_before, plain, summary, write
from metric_learning_choice import HELD_OUT
from metric_learning_edms import MEMBERS, train_ensembles

EPOCHS = 8
FEATURES = 1280


@dataclass(frozen=True)
class Kind:
    """`grouped`: two classes to a meta-class, as in the table of EDMS."""

    power: float = 1.0
    share: float = 1.0
    loss: str = "binomial"
    grouped: bool = False

    def learner(self, classes: int, settings: Settings) -> Learner:
        groups = classes // 2 if self.grouped else classes
        return Learner(
            meta_classes=groups,
            dim=min(512, round(self.share * FEATURES)),
            batch=200,
            settings=settings,
            loss=self.loss,
            power=self.power,
            share=self.share,
        )


KINDS = {
    "features as they are": Kind(),
    "root": Kind(power=0.5),
    "root, half of the features": Kind(power=0.5, share=0.5),
    "root, a third of the features": Kind(power=0.5, share=0.33),
    "root, half of the features, two classes in one": Kind(power=0.5, share=0.5, grouped=True),
    "root, half of the features, multi-similarity": Kind(power=0.5, share=0.5, loss="multi_similarity"),
}
FINAL = ("root, half of the features", "root", "features as they are")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--choose", action="store_true", help="compare all kinds on held-out training classes"
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS))
    options = parser.parse_args()
    base, data = begin(options, HELD_OUT if options.choose else 0.0, axes=0)
    seeds = 1 if options.choose else options.seeds
    name = "metric_learning_choice_ensembles_cub" if options.choose else "metric_learning_ensembles_cub"
    rows: Rows = measured_before(name, options.resume)["rows"]
    rows = rows or {"plain search": plain(data, clustering=not options.choose)}
    classes = int(data[0].labels.max()) + 1
    epochs = EPOCHS * 2 if options.choose else EPOCHS
    training: dict[str, Any] = base.training.model_dump() | {"epochs": epochs}
    for title in options.kinds or (KINDS if options.choose else FINAL):
        learner = KINDS[title].learner(classes, Settings(**training))
        alone, together = train_ensembles(learner, data, seeds, clustering=not options.choose)
        rows[f"{title}, one"], rows[f"{title}, ensemble of {MEMBERS}"] = alone, together
        print(f"{title}: R@1 {summary(alone['R@1'])}, ensemble {summary(together['R@1'])}", flush=True)
        write(name, rows, training=training, kinds={key: vars(kind) for key, kind in KINDS.items()})
    print(markdown(rows))


if __name__ == "__main__":
    main()
