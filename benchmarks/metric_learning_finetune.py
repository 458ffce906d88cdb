"""Fine-tuning the last blocks of lite0 on CUB's pictures: the start, MoM without labels, CGML, EDMS.

    python benchmarks/metric_learning_finetune.py --root DATA

The first run computes the frozen blocks' output for all pictures and keeps it (some 450 MB in the cache).
"""

from __future__ import annotations

import time
from typing import Any

from foldwalk.learn.trainer.config import Config
from metric_learning import arguments, begin, finish, plain, train_once, with_seed

MODEL: dict[str, Any] = {"kind": "last_blocks", "dim": 512, "first_block": 12}
# What metric_learning_choice.py found on held-out training classes.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "MoM, without labels": ("mom", {"training": {"epochs": 4, "learning_rate": 3e-5, "head_rate": 10.0}}),
    "CGML (Binomial)": ("cgml", {"training": {"epochs": 8, "learning_rate": 1e-4, "head_rate": 10.0}}),
    "EDMS (RW, P*)": ("edms", {"training": {"epochs": 6, "learning_rate": 1e-4, "head_rate": 10.0}}),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", choices=["mom", "cgml", "edms"])
    parser.set_defaults(seeds=1)
    options = parser.parse_args()
    config, data = begin(options, model=MODEL)
    rows = {"features as they are": {name: [value] for name, value in plain(data).items()}}
    start = config.model_copy(update={"training": config.training.model_copy(update={"epochs": 0})})
    rows["starting network, whitened"] = {n: [v] for n, v in train_once("cgml", start, data).items()}
    seconds = {}
    for title, (method, changes) in ROWS.items():
        if options.only not in (None, method):
            continue
        values = config.model_dump()
        for section, replaced in changes.items():
            values[section] = values[section] | replaced
        began = time.perf_counter()
        runs = [train_once(method, with_seed(Config(**values), s), data) for s in range(options.seeds)]  # type: ignore[arg-type]
        seconds[title] = (time.perf_counter() - began) / options.seeds
        rows[title] = {name: [run[name] for run in runs] for name in runs[0]}
        print(title, rows[title], f"{seconds[title]:.0f} s", flush=True)
    finish("metric_learning_finetune", rows, seconds=seconds)


if __name__ == "__main__":
    main()
