"""GRAD-Net: features of a collection's own items, learned on the graph of its vectors, without labels.

Z. Dou, H. Cui, L. Zhang and B. Wang, "Learning global and local consistent representations for unsupervised
image retrieval via deep graph diffusion networks". The parameters are those of the method `gradnet`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from foldwalk.core.types import Float32Array
from foldwalk.core.vector_files import VectorFile, write_vector_file
from foldwalk.core.vectors import Vectors
from foldwalk.learn.training import LearnedVectors, Row, VectorTraining
from foldwalk.learn.trainings import register
from foldwalk.rerank.learned.gradnet import GradNet, GradNetMethod, GradNetParams
from foldwalk.rerank.learned.gradnet.grown import as_method

if TYPE_CHECKING:
    from foldwalk.rerank.learned.gradnet.train import Epoch

MODEL = "model.safetensors"
LINES = 20  # that are told of a training, however long it is


@register
class GradNetTraining(VectorTraining[GradNetParams]):
    name = GradNetMethod.name
    summary = "features learned on the graph of mutual neighbours of a collection; no labels"
    paper = GradNetMethod.paper
    needs_labels = False
    writes = (MODEL, "features.npy", "log.csv")
    Parameters = GradNetParams

    def run(
        self,
        vectors: Vectors,
        folder: Path | None,
        *,
        seed: int = 0,
        start: GradNet | None = None,
        checkpoint: Path | None = None,
        watch: Callable[[Float32Array], float] | None = None,
        tell: Callable[[Row], None] | None = None,
    ) -> LearnedVectors:
        from foldwalk.learn.trainer.folders import folder_for
        from foldwalk.learn.trainer.logs import Log

        net = GradNet(seed=seed, **self.own.model_dump())
        last = net.params.epochs * net.params.rounds
        every = max(1, last // LINES)

        def listen(epoch: Epoch) -> None:
            row: Row = {"epoch": epoch.number, "local": epoch.local, "global": epoch.global_}
            row["penalty"] = epoch.penalty
            if epoch.number % every == 0 or epoch.number in (1, last):
                if watch is not None:
                    row["mAP"] = watch(epoch.features())
                if tell is not None:
                    tell(row)
            log.rows = [before for before in log.rows if before["epoch"] < epoch.number]
            log.write(row)

        with folder_for(folder, checkpoint), Log(folder, _rows_before(folder, checkpoint)) as log:
            net.fit(vectors.values, start=start, checkpoint=checkpoint, listener=listen)
        if folder is not None:
            write_vector_file(folder / "features.npy", VectorFile(net.features))
            net.save(folder / MODEL)
        facts = {"k": net.k} | ({"advice": net.advice} if net.advice else {})
        return LearnedVectors(net.features, log.rows, facts, as_method(net))


def _rows_before(folder: Path | None, checkpoint: Path | None) -> list[Row]:
    """The log of a training that goes on."""
    from foldwalk.learn.trainer.logs import read_log

    if folder is None or checkpoint is None or not checkpoint.is_file():
        return []
    return read_log(folder / "log.csv") if (folder / "log.csv").is_file() else []
