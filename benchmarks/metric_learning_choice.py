"""Which parameters: tried on half of the training classes, held out; the test classes are never looked at.

    python benchmarks/metric_learning_choice.py --root DATA --what mom

Prints one line per choice, for two seeds, and writes them all to results/.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from metric_learning import arguments, begin, configure, finish, over_seeds, plain, train_once, with_seed

Sections = dict[str, dict[str, Any]]


def mom() -> Iterator[tuple[str, Sections]]:
    for rate, epochs, weighted in itertools.product((1e-4, 3e-4, 1e-3), (5, 15), (True,)):
        for miner in ({}, {"positive_k": 30}, {"graph_k": 15}, {"positives": "euclidean"}):
            yield (
                f"rate {rate:g}, {epochs} epochs, {miner}",
                {
                    "training": {"learning_rate": rate, "epochs": epochs},
                    "mom": {"miner": miner, "weighted": weighted},
                },
            )


def labelled() -> Iterator[tuple[str, Sections]]:
    for loss, rate, epochs in itertools.product(
        ("binomial", "n_pair", "triplet", "multi_similarity"), (3e-4, 1e-3, 3e-3), (5, 15)
    ):
        options = {"scale": 16.0} if loss == "n_pair" else {}
        yield (
            f"{loss}, rate {rate:g}, {epochs} epochs",
            {
                "training": {"learning_rate": rate, "epochs": epochs},
                "cgml": {"loss": loss, "options": options, "weight": 0.0},
            },
        )


def cgml() -> Iterator[tuple[str, Sections]]:
    for loss, weight in itertools.product(("triplet", "n_pair", "binomial"), (0.0, 0.001, 0.002, 0.01, 0.05)):
        options = {"scale": 16.0} if loss == "n_pair" else {}
        yield (f"{loss}, weight {weight:g}", {"cgml": {"loss": loss, "options": options, "weight": weight}})


def edms() -> Iterator[tuple[str, Sections]]:
    for variant, scales in (
        ("npair", (8.0, 16.0, 32.0)),
        ("hard", (8.0, 16.0, 32.0)),
        ("intrinsic_hard", (100.0, 400.0, 1600.0)),
        ("full", (1000.0, 4000.0, 16000.0)),
        ("walk", (100.0, 400.0, 1600.0)),
    ):
        for scale, similarity in itertools.product(scales, ("paper", "author")):
            if similarity == "author" and variant in ("npair", "hard"):
                continue
            yield (
                f"{variant}, scale {scale:g}, {similarity}",
                {
                    "model": {"dim": 128},
                    "edms": {
                        "variant": variant,
                        "scale": scale,
                        "similarity": similarity,
                        "meta_classes": 25,
                    },
                },
            )


WHAT = {"mom": mom, "labelled": labelled, "cgml": cgml, "edms": edms}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.set_defaults(seeds=2, held_out=0.5)
    options = parser.parse_args()
    _, data = begin(options, training={"clustering": False})
    rows = {"features as they are": {name: [value] for name, value in plain(data, clustering=False).items()}}
    print(rows, flush=True)
    method = "cgml" if options.what == "labelled" else options.what
    for title, sections in WHAT[options.what]():
        sections = sections | {"training": {"clustering": False} | sections.get("training", {})}
        config = configure(options.dataset, options.held_out, **sections)
        rows[title] = over_seeds(
            lambda seed, c=config: train_once(method, with_seed(c, seed), data), range(options.seeds), title
        )
    finish(f"metric_learning_choice_{options.what}", rows)


if __name__ == "__main__":
    main()
