"""CGML against its base loss for triplet, N-pair and binomial (tables 2 and 3 of the paper).

python -m benchmarks.metric_learning.cgml --root DATA
"""

from __future__ import annotations

from metric_learning import (
    Rows,
    arguments,
    begin,
    configure,
    markdown,
    measured_before,
    over_seeds,
    plain,
    train_once,
    with_seed,
    write,
)
from metric_learning_choices import LOSSES

TITLES = {"triplet": "Triplet", "n_pair": "N-pair", "binomial": "Binomial"}
WEIGHTS = {
    # choice.py --what cgml_steps --both-halves
    "cub": {"triplet": 0.02, "n_pair": 0.05, "binomial": 0.005},
    # choice.py --what cgml_conv --both-halves
    "omniglot": {"triplet": 0.0002, "n_pair": 0.02, "binomial": 0.02},
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--unbounded", action="store_true", help="eq. 1 in place of eq. 3")
    options = parser.parse_args()
    _, data = begin(options)
    rows: Rows = {"features as they are": plain(data)}
    name = f"metric_learning_cgml_{options.dataset}" + ("_eq1" if options.unbounded else "")
    before = measured_before(name, options.resume)
    weights = WEIGHTS[options.dataset]
    for loss, title in TITLES.items():
        for weight, row in ((0.0, title), (weights[loss], f"CGML ({title})")):
            same = not weight or before.get("weights", {}).get(loss) == weight
            cgml = {
                "loss": loss,
                "options": LOSSES[loss],
                "weight": weight,
                "bound": not options.unbounded,
            }
            config = configure(options.dataset, cgml=cgml)
            rows[row] = over_seeds(
                lambda seed, c=config: train_once("cgml", with_seed(c, seed), data),
                range(options.seeds),
                row,
                before["rows"].get(row) if same else None,
            )
            write(name, rows, config=configure(options.dataset).model_dump(), weights=weights, losses=LOSSES)
    print(markdown(rows))


if __name__ == "__main__":
    main()
