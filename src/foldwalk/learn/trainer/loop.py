"""The training loop: any model, any recipe; seeds, checkpoints that resume exactly, logs, evaluation.

accelerate places the model, chooses the precision and joins several processes (torchrun); see `devices`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput
from foldwalk.core.progress import Advance, Silent, reporting, task
from foldwalk.core.types import AnyArray, Float32Array, IntArray
from foldwalk.learn.trainer.batches import Source, as_source, pieces_of
from foldwalk.learn.trainer.checkpoint import NAME, no_checkpoint, read_checkpoint, write_checkpoint
from foldwalk.learn.trainer.devices import joined, make_accelerator, share
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from foldwalk.learn.trainer.folders import folder_for
from foldwalk.learn.trainer.logs import Log, in_short
from foldwalk.learn.trainer.models import seeded
from foldwalk.learn.trainer.optimiser import make_optimiser, make_schedule
from foldwalk.learn.trainer.recipe import Recipe
from foldwalk.learn.trainer.settings import TrainingSettings
from foldwalk.learn.trainer.statistics import settle_statistics

SETTLE_ITEMS = 256  # in a batch for statistics, evenly spread over the training items
# What may be another when training goes on: it changes no weight.
FREE = {"evaluate_every", "clustering", "device", "readers"}


@dataclass
class Trainer:
    """Trains `model` on `inputs` (n, ...), whose rows the recipe's items count.

    `inputs` is an array or a `Source` of batches; `test` is (inputs, labels) to evaluate on. `folder`
    receives log.csv, TensorBoard's events where that is installed, and checkpoint.pt after every epoch, from
    which a second run of the same settings goes on. `told` is what else must not change then, by name.
    """

    model: nn.Module
    inputs: AnyArray | Source
    recipe: Recipe
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    test: tuple[AnyArray | Source, AnyArray] | None = None
    folder: str | os.PathLike[str] | None = None
    told: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = as_source(self.inputs)
        self.accelerator = make_accelerator(self.settings)
        self.recipe.module.to(self.accelerator.device)
        self.optimiser = make_optimiser(self.model, self.recipe.module, self.settings)
        # The model itself, whose weights are kept, and as it is run: in its precision, with other processes.
        self._running, self._stepping = self.accelerator.prepare(self.model, self.optimiser)
        self.schedule = make_schedule(self.optimiser, self.settings)
        self.epoch = 0
        self.history: list[dict[str, float]] = []

    def fit(self) -> list[dict[str, float]]:
        """Train to the last epoch; returns one row of figures per epoch, that of the start first."""
        main = self.accelerator.is_main_process
        target = None if self.folder is None else Path(self.folder)
        writes = target if main else None
        with folder_for(writes, target and target / NAME), nullcontext() if main else reporting(Silent()):
            self.accelerator.wait_for_everyone()
            if target is not None and (target / NAME).is_file():
                self.resume(target / NAME)
            self._agree()
            if not self.history:
                wanted = self.settings.evaluate_every or not self.settings.epochs
                self.history.append({"epoch": 0, **(self.evaluate() if wanted else {})})
            self._run(writes)
        self.accelerator.unwrap_model(self._running, keep_fp32_wrapper=False)
        return self.history

    def _run(self, folder: Path | None) -> None:
        """All epochs that are left."""
        items = len(self.source)
        total = items * self.settings.epochs
        with Log(folder, self.history) as log, task("training", total, unit="items") as advance:
            advance(items * self.epoch, in_short(self.history))
            while self.epoch < self.settings.epochs:
                self.history.append(self._run_epoch(advance))
                log.write(self.history[-1])
                if folder is not None:
                    self.save_checkpoint(folder / NAME)

    def _run_epoch(self, advance: Advance) -> dict[str, float]:
        number = self.epoch + 1
        with seeded(self.settings.seed, f"epoch {number}"):
            self.recipe.begin_epoch(number, self.embed_for_recipe)
            rate = float(self.optimiser.param_groups[0]["lr"])
            losses = self._learn(list(self.recipe.batches(number)), advance)
        self.schedule.step()
        self.epoch = number
        figures = {"epoch": number, "loss": float(np.mean(losses)) if losses else 0.0, "rate": rate}
        wanted = self.settings.evaluate_every
        if number == self.settings.epochs or (wanted and number % wanted == 0):
            figures |= self.evaluate()
        return figures

    def _learn(self, batches: list[IntArray], advance: Advance) -> list[float]:
        """One pass over the batches of an epoch; the loss of each."""
        places = [share(np.arange(len(items)), self.accelerator) for items in batches]
        parts = [(items[own], own) for items, own in zip(batches, places, strict=True)]
        passed = np.linspace(0, len(self.source), len(batches) + 1).astype(int)
        losses: list[float] = []
        for number, inputs in enumerate(self.source.for_training(self.epoch + 1, parts)):
            first = number - number % self.settings.accumulate
            together = min(self.settings.accumulate, len(batches) - first)
            whole = number == first + together - 1
            with nullcontext() if whole else self.accelerator.no_sync(self._running):
                losses.append(self._backward(inputs, batches[number], together))
            if whole:
                self._step()
            note = in_short([*self.history, {"epoch": self.epoch + 1, "loss": float(np.mean(losses))}])
            advance(int(passed[number + 1] - passed[number]), note)
        return losses

    def _backward(self, inputs: Tensor, items: IntArray, together: int) -> float:
        """The loss of one batch, of which this process has `inputs`; its gradient is added up."""
        self._running.train()
        own = self._running(inputs.to(self.accelerator.device))
        loss = self.recipe.loss(joined(own, len(items), self.accelerator), items)
        if not torch.isfinite(loss):
            raise BadInput(
                f"the loss is {float(loss.detach())} in epoch {self.epoch + 1}; lower the learning rate."
            )
        self.accelerator.backward(loss / together)
        return float(loss.detach())

    def _step(self) -> None:
        if self.settings.clip:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self._stepping.step()
        self._stepping.zero_grad()

    @torch.no_grad()
    def embed(self, inputs: AnyArray | Source | None = None) -> Float32Array:
        """Unit vectors of the training items, or of other inputs."""
        source = self.source if inputs is None else as_source(inputs)
        own = share(np.arange(len(source)), self.accelerator)
        self.model.eval()
        pieces = pieces_of(own, source.at_once)
        parts = [
            functional.normalize(self.model(some.to(self.accelerator.device)))
            for some in source.as_they_are(pieces)
        ]
        whole = joined(torch.cat(parts), len(source), self.accelerator)
        return np.asarray(whole.cpu().numpy(), dtype=np.float32)

    def embed_for_recipe(self) -> Float32Array:
        """Unit vectors of the training items as the next batch will see them."""
        count = len(self.source)
        apart = max(1, count // SETTLE_ITEMS)
        some = self.source.as_they_are([np.arange(i, count, apart) for i in range(min(4, apart))])
        settle_statistics(self.model, (batch.to(self.accelerator.device) for batch in some))
        return self.embed()

    def evaluate(self) -> dict[str, float]:
        """R@K and MAP@R on the test set, NMI and F1 if asked for; nothing without a test set."""
        if self.test is None:
            return {}
        embedding = self.embed(self.test[0])
        if not self.accelerator.is_main_process:
            return {}
        threads = torch.get_num_threads()
        figures = evaluate_embedding(embedding, self.test[1], self.settings.clustering)
        torch.set_num_threads(threads)  # numba, which shares OpenMP with torch, has set its own number
        return figures

    def asked_for(self) -> dict[str, Any]:
        """All that a checkpoint must agree with."""
        test = {} if self.test is None else {"test data": as_source(self.test[0]).fingerprint()}
        data = {"training data": self.source.fingerprint(), **test}
        return {**self.told, **self.settings.model_dump(), **data}

    def save_checkpoint(self, path: Path) -> None:
        """Keep everything that is needed to go on exactly from here."""
        scaler = self.accelerator.scaler
        state = {
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "recipe": self.recipe.state(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": None if scaler is None else scaler.state_dict(),
            "history": self.history,
        }
        write_checkpoint(path, self.asked_for(), state)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of the same model, recipe, data and settings. More epochs are no other
        settings, unless the schedule was made for their number."""
        free = FREE if self.settings.schedule == "cosine" else FREE | {"epochs"}
        state = read_checkpoint(path, self.asked_for(), free)
        try:
            self.model.load_state_dict(state["model"])
            self.recipe.load_state(state["recipe"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.schedule.load_state_dict(state["schedule"])
            if self.accelerator.scaler is not None and state["scaler"] is not None:
                self.accelerator.scaler.load_state_dict(state["scaler"])
            self.epoch, self.history = int(state["epoch"]), list(state["history"])
        except Exception as error:  # what an altered file holds leads torch to errors of any kind
            raise no_checkpoint(path, error) from None

    def _agree(self) -> None:
        """All processes must begin with the same epoch: machines that see other folders would not."""
        if self.accelerator.num_processes > 1 and len(set(gather_object([self.epoch]))) > 1:
            raise BadInput(f"{self.folder} is not the same folder on all machines; choose one they share.")
