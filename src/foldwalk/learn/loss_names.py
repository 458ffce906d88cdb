"""Losses by name: those the papers compare with, and every other loss of pytorch-metric-learning."""

from __future__ import annotations

import inspect
from typing import Any

from pytorch_metric_learning import losses, miners
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.reducers import MeanReducer
from torch import Tensor, nn

from foldwalk.core.errors import BadParameter, UnknownName
from foldwalk.learn.cgml.binomial import BinomialDevianceLoss
from foldwalk.learn.npair import BatchNPairLoss
from foldwalk.learn.trainer.models import seeded


class Mined(nn.Module):
    """A loss and the miner that chooses its pairs or triplets in each batch."""

    def __init__(self, loss: nn.Module, miner: nn.Module) -> None:
        super().__init__()
        self.loss, self.miner = loss, miner

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        value: Tensor = self.loss(embeddings, labels, self.miner(embeddings, labels))
        return value


# Name: the class, what the papers set, and the miner that belongs to it. PML's triplet loss leaves terms that
# are zero out of the mean; the sums of CGML and FaceNet do not.
NAMED: dict[str, tuple[type[nn.Module], dict[str, Any], nn.Module | None]] = {
    "triplet": (losses.TripletMarginLoss, {"margin": 0.1, "reducer": MeanReducer()}, None),
    "semihard": (
        losses.TripletMarginLoss,
        {"margin": 0.2, "reducer": MeanReducer()},
        miners.TripletMarginMiner(margin=0.2, distance=LpDistance(power=2), type_of_triplets="semihard"),
    ),
    "lifted": (losses.LiftedStructureLoss, {}, None),
    "n_pair": (BatchNPairLoss, {}, None),
    "proxy_nca": (losses.ProxyNCALoss, {"softmax_scale": 8}, None),
    "angular": (losses.AngularLoss, {}, None),
    "multi_similarity": (losses.MultiSimilarityLoss, {}, miners.MultiSimilarityMiner()),
    "contrastive": (losses.ContrastiveLoss, {"neg_margin": 0.7}, None),
    "ntxent": (losses.NTXentLoss, {}, None),
    "binomial": (BinomialDevianceLoss, {}, None),
}


def make_loss(
    name: str, options: dict[str, Any] | None = None, classes: int = 0, dim: int = 0, seed: int = 0
) -> nn.Module:
    """A loss by one of NAMED, or by the class name it has in PML; `options` are the class's own.

    Losses with a vector per class are told `classes` and `dim`; `seed` says where these begin. Triplets
    compare squared distances; by name they are means over all triplets, by class name over those not zero.
    """
    if name in NAMED:
        kind, defaults, miner = NAMED[name]
    else:
        kind, defaults, miner = getattr(losses, name, None), {}, None  # type: ignore[assignment]
        if not (inspect.isclass(kind) and issubclass(kind, nn.Module)) or name.startswith("Base"):
            raise UnknownName(
                f"there is no loss {name!r}; there are {', '.join(NAMED)} and the class names of "
                "pytorch-metric-learning."
            )
    values = defaults | (options or {})
    # Some hand what they are given on to the class they derive from.
    if any({"num_classes", "embedding_size"} <= set(inspect.signature(c).parameters) for c in kind.__mro__):
        values = {"num_classes": classes, "embedding_size": dim} | values
    if issubclass(kind, losses.TripletMarginLoss):
        values.setdefault("distance", LpDistance(power=2))
    try:
        with seeded(seed, "loss"):
            loss = kind(**values)
    except TypeError as error:
        raise BadParameter(f"loss {name}: {error}.") from None
    return loss if miner is None else Mined(loss, miner)
