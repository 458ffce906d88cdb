"""The training loop: any model, any recipe; seeds, checkpoints that resume exactly, logs, evaluation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foldwalk.core.errors import BadInput, MissingData, one_line
from foldwalk.core.progress import task
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.core.whole_files import written_whole
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from foldwalk.learn.trainer.logs import Log
from foldwalk.learn.trainer.models import seeded
from foldwalk.learn.trainer.recipe import Recipe
from foldwalk.learn.trainer.settings import TrainingSettings
from foldwalk.learn.trainer.statistics import settle_statistics

FORMAT = 1
SETTLE_ITEMS = 256  # in a batch for statistics, evenly spread over the training items


@dataclass
class Trainer:
    """Trains `model` on `inputs` (n, ...), whose rows the recipe's items count.

    `test` is (inputs, labels) to evaluate on; `folder` receives log.csv, TensorBoard's events where that is
    installed, and checkpoint.pt after every epoch, from which a second run of the same settings goes on.
    """

    model: nn.Module
    inputs: AnyArray
    recipe: Recipe
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    test: tuple[AnyArray, AnyArray] | None = None
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        s = self.settings
        named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]
        parts = [
            (1.0, [p for name, p in named if not name.startswith("head.")]),
            (s.head_rate, [p for name, p in named if name.startswith("head.")]),
            (s.loss_rate, list(self.recipe.module.parameters())),
        ]
        groups = [{"params": learned, "lr": s.learning_rate * times} for times, learned in parts if learned]
        if s.optimiser == "sgd":
            self.optimiser: torch.optim.Optimizer = torch.optim.SGD(
                groups, s.learning_rate, s.momentum, weight_decay=s.weight_decay
            )
        else:
            kind = torch.optim.Adam if s.optimiser == "adam" else torch.optim.AdamW
            self.optimiser = kind(groups, s.learning_rate, weight_decay=s.weight_decay)
        self.schedule = _schedule(self.optimiser, s)
        self.epoch = 0
        self.history: list[dict[str, float]] = []

    def fit(self) -> list[dict[str, float]]:
        """Train to the last epoch; returns one row of figures per epoch, that of the start first."""
        target = None if self.folder is None else Path(self.folder)
        if target is not None:
            target.mkdir(parents=True, exist_ok=True)
            if (target / "checkpoint.pt").is_file():
                self.resume(target / "checkpoint.pt")
        if not self.history:
            wanted = self.settings.evaluate_every or not self.settings.epochs
            self.history.append({"epoch": 0, **(self.evaluate() if wanted else {})})
        with Log(target, self.history) as log, task("training", self.settings.epochs) as advance:
            advance(self.epoch)
            while self.epoch < self.settings.epochs:
                self.history.append(self._run_epoch())
                log.write(self.history[-1])
                if target is not None:
                    self.save_checkpoint(target / "checkpoint.pt")
                advance(1)
        return self.history

    def _run_epoch(self) -> dict[str, float]:
        number = self.epoch + 1
        with seeded(self.settings.seed, f"epoch {number}"):
            self.recipe.begin_epoch(number, self.embed_for_recipe)
            rate = float(self.optimiser.param_groups[0]["lr"])
            losses = [self.step(items) for items in self.recipe.batches(number)]
        self.schedule.step()
        self.epoch = number
        figures = {"epoch": number, "loss": float(np.mean(losses)) if losses else 0.0, "rate": rate}
        wanted = self.settings.evaluate_every
        if number == self.settings.epochs or (wanted and number % wanted == 0):
            figures |= self.evaluate()
        return figures

    def step(self, items: AnyArray) -> float:
        """One step of the optimiser on one batch; its loss."""
        self.model.train()
        self.optimiser.zero_grad()
        loss = self.recipe.loss(self.model(_batch(self.inputs, items)), items)
        if not torch.isfinite(loss):
            raise BadInput(
                f"the loss is {float(loss.detach())} in epoch {self.epoch + 1}; lower the learning rate."
            )
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        return float(loss.detach())

    @torch.no_grad()
    def embed(self, inputs: AnyArray | None = None, batch: int = 512) -> Float32Array:
        """Unit vectors of the training items, or of other inputs."""
        source = self.inputs if inputs is None else inputs
        self.model.eval()
        parts = [
            functional.normalize(
                self.model(_batch(source, np.arange(start, min(start + batch, len(source)))))
            )
            for start in range(0, len(source), batch)
        ]
        return np.asarray(torch.cat(parts).numpy(), dtype=np.float32)

    def embed_for_recipe(self) -> Float32Array:
        """Unit vectors of the training items as the next batch will see them."""
        apart = max(1, len(self.inputs) // SETTLE_ITEMS)
        batches = (_batch(self.inputs, np.arange(i, len(self.inputs), apart)) for i in range(min(4, apart)))
        settle_statistics(self.model, batches)
        return self.embed()

    def evaluate(self) -> dict[str, float]:
        """R@K and MAP@R on the test set, NMI and F1 if asked for; nothing without a test set."""
        if self.test is None:
            return {}
        return evaluate_embedding(self.embed(self.test[0]), self.test[1], self.settings.clustering)

    def save_checkpoint(self, path: Path) -> None:
        """Keep everything that is needed to go on exactly from here."""
        state = {
            "format": FORMAT,
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "recipe": self.recipe.state(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
            "history": self.history,
            "settings": self.settings.model_dump(),
        }
        with written_whole(path) as file:
            torch.save(state, file)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of the same model, recipe and settings."""
        if not path.is_file():
            raise MissingData(f"{path} does not exist.")
        try:
            state = torch.load(path, weights_only=True)
            if state["format"] != FORMAT:
                raise ValueError("it is of another version")
            self._compare(state.get("settings", {}))
            self.model.load_state_dict(state["model"])
            self.recipe.load_state(state["recipe"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.schedule.load_state_dict(state["schedule"])
            self.epoch, self.history = int(state["epoch"]), list(state["history"])
        except Exception as error:  # broken bytes lead torch to errors of any kind
            raise BadInput(
                f"{path} is no checkpoint of this training: {one_line(error)}; remove it to begin anew."
            ) from None

    def _compare(self, before: dict[str, object]) -> None:
        """Weights of other settings would go on as if nothing had changed. More epochs are no other settings,
        unless the schedule was made for their number."""
        free = {"evaluate_every", "clustering"} | (
            set() if self.settings.schedule == "cosine" else {"epochs"}
        )
        for name, now in self.settings.model_dump().items():
            if name not in free and before.get(name, now) != now:
                raise ValueError(f"its {name} was {before[name]}, not {now}")


def _batch(inputs: AnyArray, items: AnyArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(inputs[items], dtype=np.float32))


def _schedule(optimiser: torch.optim.Optimizer, s: TrainingSettings) -> torch.optim.lr_scheduler.LRScheduler:
    if s.schedule == "step":
        return torch.optim.lr_scheduler.StepLR(optimiser, s.every, s.factor)
    if s.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(1, s.epochs))
    return torch.optim.lr_scheduler.ConstantLR(optimiser, factor=1.0, total_iters=0)
