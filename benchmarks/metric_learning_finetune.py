"""Fine-tuning the last blocks of lite0 on CUB's pictures: the start, CGML, EDMS, MoM without labels.

    python benchmarks/metric_learning_finetune.py --root DATA

The first run computes the frozen blocks' output for all pictures and keeps it (some 450 MB in the cache). The
head learns at the rate found for heads on features, the blocks at a tenth of it; nothing was tuned. Beside
them stand the same network's features of full-size pictures, which show what the small ones cost.
"""

from __future__ import annotations

import time
from typing import Any

from foldwalk import datasets
from foldwalk.learn.trainer import evaluate_embedding
from foldwalk.learn.trainer.config import Config
from metric_learning import (
    Rows,
    arguments,
    begin,
    markdown,
    once,
    over_seeds,
    plain,
    train_once,
    with_seed,
    write,
)
from metric_learning_mom import POSITIVE_K

TRAINING: dict[str, Any] = {"epochs": 4, "learning_rate": 1e-4, "head_rate": 10.0}
ROWS: dict[str, tuple[Any, dict[str, dict[str, Any]]]] = {
    "CGML (Binomial)": ("cgml", {}),
    "EDMS (RW, P*)": ("edms", {}),
    "MoM, without labels": (
        "mom",
        {
            "training": {"epochs": 8, "learning_rate": 3e-5},
            "mom": {"miner": {"positive_k": POSITIVE_K, "anchors": 1000}},
        },
    ),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", nargs="+", choices=["mom", "cgml", "edms"], default=["mom", "cgml", "edms"])
    parser.add_argument("--first-block", type=int, default=12)
    parser.set_defaults(seeds=1)
    options = parser.parse_args()
    model = {"kind": "last_blocks", "first_block": options.first_block}
    config, data = begin(options, model=model, training=TRAINING)
    full_size = datasets.load("cub_last100", root=options.root, kind="features")
    rows: Rows = {
        "features of full-size pictures": once(evaluate_embedding(full_size.gallery, data[1].labels, True)),
        "features of 112-pixel pictures": plain(data),
    }
    start = config.model_copy(update={"training": config.training.model_copy(update={"epochs": 0})})
    rows["the same, whitened: the start"] = once(train_once("cgml", start, data))
    seconds = {}
    for title, (method, changes) in ROWS.items():
        if method not in options.only:
            continue
        values = config.model_dump()
        for section, replaced in changes.items():
            values[section] = values[section] | replaced
        changed = Config(**values)
        began = time.perf_counter()
        rows[title] = over_seeds(
            lambda seed, m=method, c=changed: train_once(m, with_seed(c, seed), data),
            range(options.seeds),
            title,
        )
        seconds[title] = (time.perf_counter() - began) / options.seeds
        write("metric_learning_finetune", rows, seconds=seconds, model=model, rows_of=ROWS, training=TRAINING)
    print(markdown(rows))


if __name__ == "__main__":
    main()
