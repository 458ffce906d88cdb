"""The parameters that metric_learning_choice.py compares: one function for each --what."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from pytorch_metric_learning.distances import CosineSimilarity, DotProductSimilarity

Choices = Iterator[tuple[str, dict[str, dict[str, Any]]]]
LOSSES: dict[str, dict[str, Any]] = {"triplet": {"margin": 0.1}, "n_pair": {"scale": 16.0}, "binomial": {}}

# Each anchor costs three pictures an epoch: 6,000 in all, so that forty runs stay short.
MOM_CONV: dict[str, Any] = {"miner": {"anchors": 400, "anchor_choice": "random"}, "tuples": 42}
MOM_CONV_EPOCHS = 5


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


def cgml_npair() -> Choices:
    """What N-pair compares: dot products, as printed, or cosines."""
    raw = DotProductSimilarity(normalize_embeddings=False)
    for title, distance in (("dot products", raw), ("cosines", CosineSimilarity())):
        for scale in (1.0, 16.0):
            options = {"scale": scale, "distance": distance}
            yield f"{title}, scale {scale:g}", {"cgml": {"loss": "n_pair", "options": options, "weight": 0.0}}


def cgml() -> Choices:
    for loss, weight in itertools.product(LOSSES, (0.0, 0.002, 0.02, 0.2)):
        yield (
            f"{loss}, weight {weight:g}",
            {"cgml": {"loss": loss, "options": LOSSES[loss], "weight": weight}},
        )


def cgml_steps() -> Choices:
    """The weight again, with as many steps as the tables have: half of the data needs twice the epochs."""
    for loss, weight in itertools.product(LOSSES, (0.0, 0.002, 0.005, 0.02, 0.05)):
        yield (
            f"{loss}, weight {weight:g}",
            {
                "training": {"epochs": 16},
                "cgml": {"loss": loss, "options": LOSSES[loss], "weight": weight},
            },
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
        yield f"full, exponential, scale {scale:g}", _edms("full", scale=scale, similarity="exponential")


def edms_rate() -> Choices:
    """How fast EDMS learns, and what grouping classes costs one learner: 50 meta-classes are the classes."""
    for variant, rate in itertools.product(("npair", "hard", "full"), (1e-4, 3e-4)):
        yield f"{variant}, rate {rate:g}", _edms(variant) | {"training": {"learning_rate": rate}}
    for variant in ("npair", "hard", "full"):
        yield f"{variant}, no classes grouped", _edms(variant, meta_classes=50)


def edms_conv() -> Choices:
    """A small network from nothing (Omniglot): the logit scale of each loss, and the other affinity."""
    dots, intrinsic, contextual = (4.0, 16.0, 64.0), (100.0, 400.0, 1600.0), (250.0, 1000.0, 4000.0)
    scales = {
        "full": contextual,
        "intrinsic_hard": intrinsic,
        "walk": intrinsic,
        "npair": dots,
        "hard": dots,
        "dreml": dots,
    }
    for variant, values in scales.items():
        for scale in values:
            model = {"dim": 25} if variant == "dreml" else {}  # as many as meta-classes
            yield f"{variant}, scale {scale:g}", _conv(_edms(variant, scale=scale) | {"model": model})
    exponential = _edms("full", scale=100.0, similarity="exponential")
    yield "full, exponential, scale 100", _conv(exponential)


def cgml_conv() -> Choices:
    """A small network from nothing (Omniglot): the weight of the term for each loss."""
    for title, sections in cgml():
        yield title, _conv(sections)
    # The best of these three weights is inside for the other losses; for triplet it is the smallest.
    smaller = {"loss": "triplet", "options": LOSSES["triplet"], "weight": 0.0002}
    yield "triplet, weight 0.0002", _conv({"cgml": smaller})


def _conv(sections: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """With as many steps as the tables have: half of the data needs twice the epochs."""
    return sections | {"training": {"epochs": 30}}


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


def mom_conv() -> Choices:
    """A small network from nothing (Omniglot): how fast, and how sure the pools."""
    for rate, positive_k in ((3e-4, 20), (1e-3, 5), (1e-3, 20), (3e-3, 20)):
        miner = MOM_CONV["miner"] | {"positive_k": positive_k}
        sections = _mom(rate, **MOM_CONV | {"miner": miner})
        sections["training"] |= {"epochs": MOM_CONV_EPOCHS}
        yield f"rate {rate:g}, positive_k {positive_k}", sections


def _mom(rate: float = 3e-4, **values: Any) -> dict[str, dict[str, Any]]:
    return {"training": {"learning_rate": rate}, "mom": values}


WHAT = {
    "head": head,
    "cgml": cgml,
    "cgml_npair": cgml_npair,
    "cgml_steps": cgml_steps,
    "edms": edms,
    "edms_rate": edms_rate,
    "edms_conv": edms_conv,
    "cgml_conv": cgml_conv,
    "mom": mom,
    "mom_pools": mom_pools,
    "mom_conv": mom_conv,
}
