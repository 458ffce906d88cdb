"""Fine-tuning the last blocks of lite0 on CUB's pictures: the start, CGML, EDMS, MoM without labels.

    python -m benchmarks.metric_learning.finetune --root DATA
    python -m benchmarks.metric_learning.finetune --root DATA --choose

The first run computes the frozen blocks' output for all pictures and keeps it (some 1.5 GB in the cache).
With --choose, half of the training classes are held out and the choices are tried on them; without it, the
chosen ones are trained on all training classes and tested once. --go-on keeps rows that are there already and
are still configured alike; with --seeds it adds those that are missing.
"""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import numpy as np
import torch

from benchmarks.metric_learning.distil import distilled, full_size_features
from foldwalk import datasets
from foldwalk.learn.trainer.config import Config
from foldwalk.learn.trainer.evaluation import evaluate_embedding, split_classes
from foldwalk.learn.trainer.inputs import Inputs
from foldwalk.learn.trainer.lite0 import LastBlocks
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.making import make_model
from harness import RESULTS
from metric_learning import (
    FIGURES,
    Rows,
    arguments,
    begin,
    configure,
    markdown,
    once,
    plain,
    with_seed,
    write,
)

Sections = dict[str, dict[str, Any]]
MODEL: dict[str, Any] = {"kind": "last_blocks"}
TRAINING: dict[str, Any] = {"epochs": 3, "learning_rate": 3e-5, "head_rate": 33.0}  # --choose
BATCH = {"classes": 16, "per_class": 4}
HELD_OUT = 0.5
# Rows that begin like this begin with distil.py.
FIRST = "photographs' features, 3 epochs"
FASTER = f"{FIRST}, rate 1e-4"
FASTER_SECTIONS: Sections = {"training": {"learning_rate": 1e-4, "head_rate": 10.0}}
HEAD: Sections = {
    "model": {"kind": "linear"},
    "training": {"epochs": 8, "learning_rate": 1e-3, "head_rate": 1.0},
}


def _rate(rate: float) -> Sections:
    return {"training": {"epochs": 2, "learning_rate": rate, "head_rate": round(1e-3 / rate)}}


def _mined_head(positive_k: int) -> Sections:
    training = {"epochs": 2, "learning_rate": 3e-4, "head_rate": 1.0}
    mom = {"miner": {"positive_k": positive_k}, "tuples": 84}
    return {"model": {"kind": "linear"}, "training": training, "mom": mom}


CHOICES: dict[str, tuple[str, Sections]] = {
    **{
        f"CGML, rate {rate}, head 1e-3": ("cgml", _rate(float(rate)))
        for rate in ("1e-4", "3e-4", "1e-5", "3e-5")
    },
    "CGML, the head alone": ("cgml", HEAD),
    "CGML, 6 epochs": ("cgml", {"training": {"epochs": 6}}),
    FIRST: ("cgml", {"training": {"epochs": 0}}),
    FASTER: ("cgml", {"training": {"epochs": 0, "learning_rate": 1e-4, "head_rate": 10.0}}),
    f"{FIRST}, then CGML, 3 epochs": ("cgml", {}),
    f"{FIRST}, then CGML, the head alone": ("cgml", HEAD),
    f"{FASTER}, then CGML, the head alone": ("cgml", HEAD),
    **{f"MoM, the head alone, positive_k {k}": ("mom", _mined_head(k)) for k in (10, 20)},
}
# A tuple of MoM is three pictures; 1,000 anchors make an epoch as long as that of the others.
MOM: Sections = {
    "training": {"epochs": 3, "learning_rate": 1e-5, "head_rate": 30.0},
    "mom": {"miner": {"positive_k": 10, "anchors": 1000, "anchor_choice": "random"}, "tuples": 42},
}
ROWS: dict[str, tuple[str, Sections]] = {
    "CGML (Binomial), the head alone": ("cgml", HEAD),
    "CGML (Binomial)": ("cgml", {}),
    # Twice the steps of the choice: six epochs of half of the data are three of all.
    "CGML (Binomial), 6 epochs": ("cgml", {"training": {"epochs": 6}}),
    "MoM, without labels": ("mom", MOM),
    "EDMS (RW, P*)": ("edms", {"edms": {"batch": 64}}),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.set_defaults(seeds=1)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--go-on", action="store_true", help="keep the rows of the result file")
    parser.add_argument("--only", nargs="+", help="titles of rows to run")
    options = parser.parse_args()
    held_out = HELD_OUT if options.choose else 0.0
    name = "metric_learning_choice_finetune_cub" if options.choose else "metric_learning_finetune"
    rows, facts = _found(name) if options.go_on else ({}, {})
    _, data = begin(options, held_out, model=MODEL)
    if not rows:
        rows["features of full-size pictures"] = _full_size(options, held_out)
        rows["features of 112-pixel pictures"] = plain(data)
    todo = {"the same, whitened: the start": ("cgml", {"training": {"epochs": 0}})} | (
        CHOICES if options.choose else ROWS
    )
    starts: dict[str, LastBlocks] = {}
    for title, (method, changes) in todo.items():
        if options.only and title not in options.only:
            continue
        config = configured(held_out, changes)
        if not _alike(facts.get(title, {}).get("config", {}), _told(method, config)):
            rows = {key: row for key, row in rows.items() if key.partition(", with mirror")[0] != title}
        for seed in range(len(rows.get(title, {}).get("R@1", [])), options.seeds):
            seeded = with_seed(config, seed)
            start = None
            if title.startswith(FIRST):
                first = with_seed(configured(held_out, FASTER_SECTIONS if FASTER in title else {}), seed)
                key = first.model_dump_json()
                if key not in starts:
                    targets = full_size_features(first, options.root)
                    starts[key] = distilled(first, data[0], targets)
                start = copy.deepcopy(starts[key])
            found, took = fine_tune(method, seeded, data, mirrored=not options.choose, start=start)
            facts[title] = took | {"config": _told(method, config)}
            for suffix, figures in found.items():
                row = rows.setdefault(title + suffix, {})
                for key, value in figures.items():
                    row.setdefault(key, []).append(value)
                print(title + suffix, {key: round(100 * x, 1) for key, x in figures.items()}, flush=True)
            write(name, rows, facts=facts)
    print(markdown(rows))


def configured(held_out: float, changes: Sections) -> Config:
    sections: Sections = {"model": MODEL, "training": TRAINING, "cgml": BATCH}
    merged = {key: sections.get(key, {}) | changes.get(key, {}) for key in sections | changes}
    return configure("cub", held_out, **merged)


def _told(method: str, config: Config) -> dict[str, Any]:
    return config.model_dump(include={"model", "training", method})


def _alike(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether all that was told before is told now; what has been added since is at its default."""
    return all(now[section][key] == value for section in before for key, value in before[section].items())


def fine_tune(
    method: str,
    config: Config,
    data: tuple[Inputs, Inputs],
    mirrored: bool,
    start: LastBlocks | None = None,
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """The figures of pictures alone, and of the mean with their mirror images; what an epoch took."""
    train, test = data
    if config.model.kind == "linear":
        if start is not None:
            data = _seen(start, train), _seen(start, test)
        train, test = (Inputs(part.features, part.labels, part.features) for part in data)
        start, mirrored = None, False
    recipe = config.chosen(method).recipe(config, train)
    settings = config.training
    trainer = Trainer(start or make_model(config, train), train.inputs, recipe, settings)
    began, processor = time.perf_counter(), time.process_time()
    trainer.fit()
    epochs = max(1, config.training.epochs)
    took = {
        "seconds per epoch": round((time.perf_counter() - began) / epochs, 1),
        "processor seconds per epoch": round((time.process_time() - processor) / epochs, 1),
        "method": method,
    }
    embedding = trainer.embed(test.inputs[:, 0] if test.inputs.ndim == 5 else test.inputs, batch=64)
    found = {"": evaluate_embedding(embedding, test.labels)}
    if mirrored:
        embedding = embedding + trainer.embed(test.inputs[:, 1], batch=64)
        found[", with mirror image"] = evaluate_embedding(embedding, test.labels)
    return {suffix: {key: row[key] for key in FIGURES} for suffix, row in found.items()}, took


@torch.no_grad()
def _seen(model: LastBlocks, part: Inputs) -> Inputs:
    """The part with the features that the model's blocks have learnt."""
    found = [
        model.features(torch.from_numpy(np.asarray(part.inputs[i : i + 64, 0], dtype=np.float32))).numpy()
        for i in range(0, len(part.inputs), 64)
    ]
    return Inputs(part.inputs, part.labels, np.concatenate(found))


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
