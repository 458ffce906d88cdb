"""PML's wrappers of losses, which know their losses by class name, with those of foldwalk among them."""

from __future__ import annotations

from pytorch_metric_learning import losses

# Those that compare with a reference set. Proxy losses do not: proxies stand for what is not in the batch.
OURS = (
    "BatchManifoldLoss",
    "BatchNPairLoss",
    "BinomialDevianceLoss",
    "GraphConsistencyLoss",
    "TupleContrastiveLoss",
    "TupleTripletLoss",
)


class CrossBatchMemory(losses.CrossBatchMemory):  # type: ignore[misc]
    """Wang et al. 2020: embeddings of earlier batches as a reference set."""

    @staticmethod
    def supported_losses() -> list[str]:
        return [*losses.CrossBatchMemory.supported_losses(), *OURS]


class SelfSupervisedLoss(losses.SelfSupervisedLoss):  # type: ignore[misc]
    """Two views of each item as a class of its own."""

    @staticmethod
    def supported_losses() -> list[str]:
        return [*losses.SelfSupervisedLoss.supported_losses(), *OURS]
