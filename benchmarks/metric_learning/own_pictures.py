"""What `foldwalk train mom` and `cgml` gain on a folder of pictures, for plain search and for the walk.

    python -m benchmarks.metric_learning.own_pictures PICTURES

A folder for each class; a quarter of the classes is held out and measured on, one thread, three seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

TRAININGS, SEEDS, METHODS = ("mom", "cgml"), range(3), ("plain", "auto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    folder = parser.parse_args().pictures
    import torch

    from foldwalk.index.tuning.labels import folder_of
    from foldwalk.learn.trainer.own import embedded, run_own
    from foldwalk.learn.trainer.sources import describe_material, folder_material

    torch.set_num_threads(1)
    found = describe_material(folder_material(folder))
    found = replace(found, labels=[folder_of(key) for key in found.keys])
    for training in TRAININGS:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as out:
                done = run_own(training, {"training": {"seed": seed}}, found, Path(out))
            test = done.test
            learned = embedded(done.trained.model, test.features)
            for called, figures, vectors in (
                ("before", done.before, test.features),
                ("after", done.after, learned),
            ):
                told = {name: figures[name] for name in ("R@1", "MAP@R")} | precisions(vectors, test.classes)
                shown = ", ".join(f"{name} {100 * value:.1f}" for name, value in told.items())
                print(f"{training} {seed} {called}: {shown}")


def precisions(vectors, labels) -> dict[str, float]:
    """mAP, every item a query for the others."""
    from foldwalk import rerank
    from foldwalk.evaluate import LeaveOneOut

    protocol, last = LeaveOneOut(labels), len(vectors) - 1
    rankings = {name: rerank.create(name).fit(vectors).rank_self(top=last) for name in METHODS}
    return {f"mAP {name}": protocol.evaluate(ranking)["mAP"] for name, ranking in rankings.items()}


if __name__ == "__main__":
    main()
