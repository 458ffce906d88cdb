"""Table 1 of Mining on Manifolds: which positives, which negatives; cyclic match of its table 2; its oracles.

python -m benchmarks.metric_learning.mom --root DATA
"""

from __future__ import annotations

from typing import Any

from metric_learning import (
    Rows,
    arguments,
    begin,
    configure,
    markdown,
    measured_before,
    once,
    over_seeds,
    plain,
    pool_report,
    train_once,
    with_seed,
    write,
)
from metric_learning_choices import MOM_CONV, MOM_CONV_EPOCHS

POSITIVE_K = 20  # choice.py --what mom; the paper's 50 are less sure
TRAINING: dict[str, dict[str, Any]] = {
    "cub": {"learning_rate": 3e-4},  # --what mom
    "omniglot": {"learning_rate": 1e-3, "epochs": MOM_CONV_EPOCHS},  # --what mom_conv
}
MOM: dict[str, dict[str, Any]] = {
    "cub": {"miner": {"positive_k": POSITIVE_K}},
    "omniglot": MOM_CONV | {"miner": MOM_CONV["miner"] | {"positive_k": 5}},
}
ROWS: dict[str, dict[str, Any]] = {
    "NN5, others": {"positives": "euclidean", "negatives": "euclidean"},
    "P+, others": {"positives": "manifold", "negatives": "euclidean"},
    "NN5, P-": {"positives": "euclidean", "negatives": "manifold"},
    "P+, P-": {"positives": "manifold", "negatives": "manifold"},
    "P+, P-, +W": {"positives": "manifold", "negatives": "manifold"},
    "cyclic match, others": {"positives": "cyclic", "negatives": "euclidean"},
    "labels as positives, P-": {"positives": "labels", "negatives": "manifold"},
    "P+, labels as negatives, +W": {"positives": "manifold", "negatives": "labels"},
}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    base, data = begin(options)
    name = f"metric_learning_mom_{options.dataset}"
    before = measured_before(name, options.resume)
    rows: Rows = {"features as they are": plain(data)}
    pools = before.get("pools", {})
    start = configure(options.dataset, training={"epochs": 0})
    model = "head" if base.model.kind == "linear" else "network"
    rows[f"the {model} before training"] = once(train_once("cgml", start, data))
    training = TRAINING[options.dataset]
    for title, miner in ROWS.items():
        # Random negatives have no hard ones among them that are safe: the whole pool is drawn from.
        hardest = 0 if miner["negatives"] == "euclidean" else 10
        given = MOM[options.dataset]
        miner = given["miner"] | miner
        mom = given | {"miner": miner, "weighted": title.endswith("+W"), "hardest": hardest}
        config = configure(options.dataset, training=training, mom=mom)
        rows[title] = over_seeds(
            lambda seed, c=config: train_once("mom", with_seed(c, seed), data),
            range(options.seeds),
            title,
            before["rows"].get(title),
        )
        pools[title] = pool_report(config, data[0]) or pools[title]
        write(name, rows, pools=pools, training=training, mom=base.mom.model_dump())
    print(markdown(rows))


if __name__ == "__main__":
    main()
