"""Which parameters: tried on half of the training classes, held out; the test classes are never looked at.

    python benchmarks/metric_learning_choice.py --root DATA --what head

Prints one line per choice and writes them all to results/. The best MAP@R is taken: recall at 1 differs less
between choices than between seeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from metric_learning import (
    Rows,
    arguments,
    begin,
    configure,
    over_seeds,
    plain,
    train_once,
    with_seed,
    write,
)

Choices = Iterator[tuple[str, dict[str, dict[str, Any]]]]
HELD_OUT = 0.5
LOSSES: dict[str, dict[str, Any]] = {"triplet": {"margin": 0.1}, "n_pair": {"scale": 16.0}, "binomial": {}}


def head() -> Choices:
    """Where the head begins and how fast it learns, for the three losses of CGML."""
    for loss, rate, shrinkage in itertools.product(LOSSES, (3e-4, 1e-3, 3e-3), (0.98, 1.0)):
        yield (
            f"{loss}, rate {rate:g}, shrinkage {shrinkage:g}",
            {
                "model": {"shrinkage": shrinkage},
                "training": {"learning_rate": rate},
                "cgml": {"loss": loss, "options": LOSSES[loss], "weight": 0.0},
            },
        )


def cgml() -> Choices:
    for loss, weight in itertools.product(LOSSES, (0.0, 0.002, 0.02, 0.2)):
        yield (
            f"{loss}, weight {weight:g}",
            {"cgml": {"loss": loss, "options": LOSSES[loss], "weight": weight}},
        )


def edms() -> Choices:
    """The logit scale of each variant, then how far eq. 7 moves the proxies."""
    scales = {
        "npair": (8.0, 16.0, 32.0),
        "hard": (8.0, 16.0),
        "walk": (100.0, 400.0),
        "intrinsic_hard": (100.0, 400.0, 1600.0),
        "full": (1.0, 1000.0, 4000.0, 16000.0),  # 1: as printed
    }
    for variant, values in scales.items():
        for scale in values:
            yield f"{variant}, scale {scale:g}", _edms(variant, scale=scale)
    for variant, rate in itertools.product(("hard", "full"), (1e-2, 1e-1)):
        yield f"{variant}, proxy rate {rate:g}", _edms(variant, proxy_rate=rate)
    for scale in (20.0, 100.0):
        yield f"full, author, scale {scale:g}", _edms("full", scale=scale, similarity="author")


def edms_rate() -> Choices:
    """How fast EDMS learns, and what grouping classes costs one learner: 50 meta-classes are the classes."""
    for variant, rate in itertools.product(("npair", "hard", "full"), (1e-4, 3e-4)):
        yield f"{variant}, rate {rate:g}", _edms(variant) | {"training": {"learning_rate": rate}}
    for variant in ("npair", "hard", "full"):
        yield f"{variant}, no classes grouped", _edms(variant, meta_classes=50)


def _edms(variant: str, **values: Any) -> dict[str, dict[str, Any]]:
    # Half of the classes are there to train on, so half of the paper's 50 meta-classes.
    return {"edms": {"variant": variant, "meta_classes": 25} | values}


def mom() -> Choices:
    for rate in (1e-4, 3e-4, 1e-3):
        yield f"rate {rate:g}", _mom(rate)
    for margin in (0.1, 0.2):
        yield f"margin {margin:g}", _mom(margin=margin)
    for miner in ({"positive_k": 20},):
        yield f"{miner}", _mom(miner=miner)


def mom_pools() -> Choices:
    """Smaller, surer pools of positives."""
    for miner in ({"positive_k": 10}, {"positive_k": 20, "keep_positives": 5}, {"positives": "euclidean"}):
        yield f"{miner}", _mom(miner=miner)


def _mom(rate: float = 3e-4, **values: Any) -> dict[str, dict[str, Any]]:
    return {"training": {"learning_rate": rate}, "mom": values}


WHAT = {"head": head, "cgml": cgml, "edms": edms, "edms_rate": edms_rate, "mom": mom, "mom_pools": mom_pools}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.set_defaults(seeds=1)
    options = parser.parse_args()
    _, data = begin(options, HELD_OUT)
    rows: Rows = {"features as they are": plain(data, clustering=False)}
    methods = {"head": "cgml", "edms_rate": "edms", "mom_pools": "mom"}
    method: Any = methods.get(options.what, options.what)
    for title, sections in WHAT[options.what]():
        sections = sections | {"training": {"clustering": False} | sections.get("training", {})}
        config = configure(options.dataset, HELD_OUT, **sections)
        rows[title] = over_seeds(
            lambda seed, c=config: train_once(method, with_seed(c, seed), data), range(options.seeds), title
        )
        write(f"metric_learning_choice_{options.what}_{options.dataset}", rows)


if __name__ == "__main__":
    main()
