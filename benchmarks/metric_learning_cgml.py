"""CGML against its base loss for triplet, N-pair and binomial (tables 2 and 3 of the paper).

python benchmarks/metric_learning_cgml.py --root DATA
"""

from __future__ import annotations

from typing import Any

from metric_learning import arguments, begin, configure, finish, over_seeds, plain, train_once, with_seed

# What metric_learning_choice.py found on held-out training classes.
TRAINING: dict[str, Any] = {"epochs": 10, "learning_rate": 1e-3}
OPTIONS: dict[str, dict[str, Any]] = {"triplet": {"margin": 0.1}, "n_pair": {"scale": 16.0}, "binomial": {}}
TITLES = {"triplet": "Triplet", "n_pair": "N-pair", "binomial": "Binomial"}
WEIGHTS = {"triplet": 0.001, "n_pair": 0.002, "binomial": 0.002}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--unbounded", action="store_true", help="eq. 1 in place of eq. 3")
    options = parser.parse_args()
    _, data = begin(options)
    rows = {"features as they are": {name: [value] for name, value in plain(data).items()}}
    for loss, title in TITLES.items():
        base = {"loss": loss, "options": OPTIONS[loss]}
        for weight, name in ((0.0, title), (WEIGHTS[loss], f"CGML ({title})")):
            cgml = base | {"weight": weight, "bound": not options.unbounded}
            config = configure(options.dataset, options.held_out, training=TRAINING, cgml=cgml)
            rows[name] = over_seeds(
                lambda seed, c=config: train_once("cgml", with_seed(c, seed), data),
                range(options.seeds),
                name,
            )
    finish(f"metric_learning_cgml_{options.dataset}", rows, training=TRAINING, weights=WEIGHTS)


if __name__ == "__main__":
    main()
