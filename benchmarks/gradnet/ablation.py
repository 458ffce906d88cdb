"""Table 4 of GRAD-Net's paper on our data: what each part is worth.

    python -m benchmarks.gradnet.ablation [--datasets a,b] [--seeds 3] [--epochs 30] [--root DATA]

Written to benchmarks/results/gradnet_ablation.json as it grows; rows that are there already are kept.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from benchmarks.gradnet.tables import Rows, by_seeds, fill
from foldwalk import datasets

# One k-means and one round, as in the paper; the other values are the defaults, with k as chosen.
PAPER = {"codebooks": 1, "rounds": 1}
# Rows of table 4 and some of our own.
ABLATIONS: dict[str, dict[str, Any]] = {
    "base": {},
    "without local loss": {"local_weight": 0},
    "without global loss": {"global_weight": 0},
    "without l2 term": {"penalty": 0},
    "without Z": {"anchors": 0},
    "Z only": {"codes_only": True},
    "layers 1024,256,128,128": {"layer_sizes": "1024,256,128,128"},
    "layers 1024,256": {"layer_sizes": "1024,256"},
    "layers 512,128,64": {"layer_sizes": "512,128,64"},
    "first order only (GCN)": {"second_order": False},
    "last layer only": {"concatenate": False},
    "not centred": {"centre": False},
    "k = 8": {"k": 8},
    "k = 15": {"k": 15},
    "k = 20": {"k": 20},
    "k = 25": {"k": 25},
    "k = 32": {"k": 32},
    "k = 64": {"k": 64},
    "Gaussian": {"kernel": "gaussian"},
    "cosine": {"kernel": "cosine"},
    "beta 1e5": {"beta": 1e5},
    "eq. 7 for I + S": {"renormalise": True},
    "untrained": {"epochs": 0},
    "batch 256": {"batch": 256},
    "batch 64": {"batch": 64},
    "four codebooks": {"codebooks": 4},
    "two rounds": {"rounds": 2},
    "both, the default": {"codebooks": 4, "rounds": 2},
}


def ablation(data: datasets.Dataset, seeds: int, epochs: int) -> Rows:
    for label, changed in ABLATIONS.items():
        parameters = {"epochs": epochs, **PAPER, **changed}
        yield label, partial(measured, data, seeds, parameters)


def measured(data: datasets.Dataset, seeds: int, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"seeds": seeds, "epochs": parameters["epochs"], **by_seeds(data, seeds, **parameters)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", default="orl:pixels,grocery")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--root")
    options = parser.parse_args()
    for name in options.datasets.split(","):
        data = datasets.load(name, root=options.root)
        fill("gradnet_ablation", name, ablation(data, options.seeds, options.epochs))


if __name__ == "__main__":
    main()
