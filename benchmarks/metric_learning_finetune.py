"""Fine-tuning the last blocks of lite0 on CUB's pictures: the start, CGML, EDMS, MoM without labels.

    python benchmarks/metric_learning_finetune.py --root DATA
    python benchmarks/metric_learning_finetune.py --root DATA --choose

The first run computes the frozen blocks' output for all pictures and keeps it (some 1.5 GB in the cache).
With --choose, half of the training classes are held out and the choices are tried on them; without it, the
chosen ones are trained on all training classes and tested once. Rows in the result file are not run again.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from foldwalk import datasets
from foldwalk.learn.trainer import evaluate_embedding
from foldwalk.learn.trainer.config import Config, Method
from foldwalk.learn.trainer.evaluation import split_classes
from foldwalk.learn.trainer.job import Inputs, make_model, make_recipe
from foldwalk.learn.trainer.loop import Settings, Trainer
from harness import RESULTS
from metric_learning import FIGURES, Rows, arguments, begin, configure, markdown, once, plain, write
from metric_learning_mom import POSITIVE_K

Sections = dict[str, dict[str, Any]]
MODEL: dict[str, Any] = {"kind": "last_blocks"}
TRAINING: dict[str, Any] = {"epochs": 2, "learning_rate": 1e-4, "head_rate": 10.0}
BATCH = {"classes": 16, "per_class": 4}
MINER = {"positive_k": POSITIVE_K, "anchors": 1000}
HELD_OUT = 0.5
CHOICES: dict[str, tuple[Method, Sections]] = {
    "CGML, rate 1e-4": ("cgml", {}),
    "CGML, rate 3e-4": ("cgml", {"training": {"learning_rate": 3e-4, "head_rate": 3.0}}),
}
ROWS: dict[str, tuple[Method, Sections]] = {
    "CGML (Binomial)": ("cgml", {}),
    "EDMS (RW, P*)": ("edms", {}),
    "MoM, without labels": (
        "mom",
        {"training": {"learning_rate": 3e-5}, "mom": {"miner": MINER}},
    ),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--only", nargs="+", help="titles of rows to run")
    options = parser.parse_args()
    held_out = HELD_OUT if options.choose else 0.0
    name = "metric_learning_choice_finetune_cub" if options.choose else "metric_learning_finetune"
    rows, facts = _found(name)
    _, data = begin(options, held_out, model=MODEL)
    if not rows:
        rows["features of full-size pictures"] = _full_size(options, held_out)
        rows["features of 112-pixel pictures"] = plain(data)
    todo = {"the same, whitened: the start": ("cgml", {"training": {"epochs": 0}})} | (
        CHOICES if options.choose else ROWS
    )
    for title, (method, changes) in todo.items():
        if title in rows or (options.only and title not in options.only):
            continue
        config = configured(held_out, changes)
        found, facts[title] = fine_tune(method, config, data, mirrored=not options.choose)
        for suffix, figures in found.items():
            rows[title + suffix] = once(figures)
            print(title + suffix, {key: round(100 * value, 1) for key, value in figures.items()}, flush=True)
        write(name, rows, facts=facts)
    print(markdown(rows))


def configured(held_out: float, changes: Sections) -> Config:
    sections: Sections = {"model": MODEL, "training": TRAINING, "cgml": BATCH}
    merged = {key: sections.get(key, {}) | changes.get(key, {}) for key in sections | changes}
    return configure("cub", held_out, **merged)


def fine_tune(
    method: Method, config: Config, data: tuple[Inputs, Inputs], mirrored: bool
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """The figures of pictures alone, and of the mean with their mirror images; what an epoch took."""
    train, test = data
    recipe = make_recipe(method, config, train)
    settings = Settings(**config.training.model_dump())
    trainer = Trainer(make_model(config, train), train.inputs, recipe, settings)
    began, processor = time.perf_counter(), time.process_time()
    trainer.fit()
    epochs = max(1, config.training.epochs)
    took = {
        "seconds per epoch": round((time.perf_counter() - began) / epochs, 1),
        "processor seconds per epoch": round((time.process_time() - processor) / epochs, 1),
        "method": method,
        "config": config.model_dump(include={"model", "training", method}),
    }
    embedding = trainer.embed(test.inputs[:, 0], batch=64)
    found = {"": evaluate_embedding(embedding, test.labels)}
    if mirrored:
        embedding = embedding + trainer.embed(test.inputs[:, 1], batch=64)
        found[", with mirror image"] = evaluate_embedding(embedding, test.labels)
    return {suffix: {key: row[key] for key in FIGURES} for suffix, row in found.items()}, took


def _full_size(options: Any, held_out: float) -> dict[str, list[float]]:
    """What the same network makes of the photographs themselves: what small pictures cost."""
    name = "cub_first100" if held_out else "cub_last100"
    found = datasets.load(name, root=options.root, kind="features")
    assert found.gallery is not None
    labels = np.asarray(found.labels)
    chosen = split_classes(labels, held_out)[1] if held_out else np.arange(len(labels))
    return once(evaluate_embedding(found.gallery[chosen], labels[chosen]))


def _found(name: str) -> tuple[Rows, dict[str, Any]]:
    """Rows of an earlier run."""
    target = RESULTS / f"{name}.json"
    found = json.loads(target.read_text("utf-8")) if target.is_file() else {}
    return found.get("rows", {}), found.get("facts", {})


if __name__ == "__main__":
    main()
