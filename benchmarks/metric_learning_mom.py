"""Table 1 of Mining on Manifolds: which positives, which negatives; and cyclic match of its table 2.

python benchmarks/metric_learning_mom.py --root DATA
"""

from __future__ import annotations

from typing import Any

from foldwalk.learn.mining import ManifoldMiner
from metric_learning import arguments, begin, configure, finish, over_seeds, plain, train_once, with_seed

# What metric_learning_choice.py found on held-out training classes.
TRAINING: dict[str, Any] = {"epochs": 10, "learning_rate": 3e-4}
LOSS: dict[str, Any] = {"margin": 0.5, "tuples": 42}
ROWS: dict[str, dict[str, Any]] = {
    "NN5, others": {"positives": "euclidean", "negatives": "euclidean"},
    "P+, others": {"positives": "manifold", "negatives": "euclidean"},
    "NN5, P-": {"positives": "euclidean", "negatives": "manifold"},
    "P+, P-": {"positives": "manifold", "negatives": "manifold"},
    "P+, P- weighted": {"positives": "manifold", "negatives": "manifold"},
    "cyclic match, others": {"positives": "cyclic", "negatives": "euclidean"},
}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    _, data = begin(options)
    start = plain(data)
    rows = {"features as they are": {name: [value] for name, value in start.items()}}
    pools = {}
    for title, miner in ROWS.items():
        weighted = title.endswith("weighted")
        hardest = 10 if miner["negatives"] == "manifold" else 0
        mom = LOSS | {"miner": miner, "weighted": weighted, "hardest": hardest}
        config = configure(options.dataset, options.held_out, training=TRAINING, mom=mom)
        rows[title] = over_seeds(
            lambda seed, c=config: train_once("mom", with_seed(c, seed), data), range(options.seeds), title
        )
        pools[title] = ManifoldMiner(**miner).fit(data[0].features).report(data[0].labels).as_dict()
    finish(f"metric_learning_mom_{options.dataset}", rows, pools=pools, training=TRAINING, loss=LOSS)


if __name__ == "__main__":
    main()
