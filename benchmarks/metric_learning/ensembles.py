"""Ensembles of five whose learners differ by more than meta-classes: loss, root or share of the features.

    python -m benchmarks.metric_learning.ensembles --root DATA --choose   # on held-out training classes
    python -m benchmarks.metric_learning.ensembles --root DATA --choose --both-halves   # closer choices
    python -m benchmarks.metric_learning.ensembles --root DATA            # the test classes

All 1280 features, no classes thrown together unless said. Half of the classes give half of the steps an
epoch: --choose trains twice the epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.metric_learning.edms import MEMBERS, train_ensembles
from foldwalk.learn.edms.ensemble import Learner
from foldwalk.learn.trainer.settings import TrainingSettings
from metric_learning import Rows, arguments, begin, markdown, measured_before, plain, summary, write
from metric_learning_choice import HELD_OUT, swapped

EPOCHS = 8
FEATURES = 1280


@dataclass(frozen=True)
class Kind:
    """`grouped`: two classes to a meta-class, as in the table of EDMS. Learners take `losses` in turn."""

    power: float = 1.0
    share: float = 1.0
    losses: tuple[str, ...] = ("binomial",)
    grouped: bool = False

    def learners(self, classes: int, settings: TrainingSettings) -> list[Learner]:
        groups = classes // 2 if self.grouped else classes
        return [
            Learner(
                meta_classes=groups,
                dim=min(512, round(self.share * FEATURES)),
                batch=200,
                settings=settings,
                loss=loss,
                power=self.power,
                share=self.share,
            )
            for loss in self.losses
        ]


KINDS = {
    "features as they are": Kind(),
    "root": Kind(power=0.5),
    "root, half of the features": Kind(power=0.5, share=0.5),
    "root, a third of the features": Kind(power=0.5, share=0.33),
    "root, half of the features, two classes in one": Kind(power=0.5, share=0.5, grouped=True),
    "root, half of the features, multi-similarity": Kind(power=0.5, share=0.5, losses=("multi_similarity",)),
}
HALF = "root, half of the features"
BOTH = f"{HALF}, binomial and multi-similarity in turn"
# Compared on both halves of the training classes: one half alone is too few to tell them apart.
CLOSER = {
    HALF: KINDS[HALF],
    f"{HALF}, multi-similarity": KINDS[f"{HALF}, multi-similarity"],
    BOTH: Kind(power=0.5, share=0.5, losses=("binomial", "multi_similarity")),
    f"{HALF}, these two and SoftTriple": Kind(
        power=0.5,
        share=0.5,
        losses=("binomial", "multi_similarity", "SoftTripleLoss", "multi_similarity", "binomial"),
    ),
    f"{HALF}, binomial and SoftTriple in turn": Kind(
        power=0.5, share=0.5, losses=("binomial", "SoftTripleLoss")
    ),
    "root, 60 % of the features": Kind(power=0.5, share=0.6),
}
FINAL = (HALF, BOTH)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--choose", action="store_true", help="compare all kinds on held-out training classes"
    )
    parser.add_argument("--both-halves", action="store_true", help="then train on those held out as well")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS | CLOSER))
    options = parser.parse_args()
    base, data = begin(options, HELD_OUT if options.choose else 0.0, axes=0)
    seeds = 1 if options.choose else options.seeds
    halves = [data, swapped(*data)] if options.both_halves else [data]
    name = "metric_learning_choice_ensembles" if options.choose else "metric_learning_ensembles"
    name += "_halves_cub" if options.both_halves else "_cub"
    rows: Rows = measured_before(name, options.resume)["rows"]
    if not rows:
        rows = {"plain search": _joined([plain(half, clustering=not options.choose) for half in halves])}
    classes = int(data[0].labels.max()) + 1
    epochs = EPOCHS * 2 if options.choose else EPOCHS
    training: dict[str, Any] = base.training.model_dump() | {"epochs": epochs}
    kinds = KINDS | CLOSER
    for title in options.kinds or ((CLOSER if options.both_halves else KINDS) if options.choose else FINAL):
        learners = kinds[title].learners(classes, TrainingSettings(**training))
        found = [train_ensembles(learners, half, seeds, clustering=not options.choose) for half in halves]
        alone, together = (_joined(list(runs)) for runs in zip(*found, strict=True))
        rows[f"{title}, one"], rows[f"{title}, ensemble of {MEMBERS}"] = alone, together
        print(f"{title}: R@1 {summary(alone['R@1'])}, ensemble {summary(together['R@1'])}", flush=True)
        write(name, rows, training=training, kinds={key: vars(kind) for key, kind in kinds.items()})
    print(markdown(rows))


def _joined(runs: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    return {figure: [value for run in runs for value in run[figure]] for figure in runs[0]}


if __name__ == "__main__":
    main()
