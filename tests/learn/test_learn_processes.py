"""Several processes that train one model, accumulated gradients, devices and precision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from test_learn_trainer import noisy

from foldwalk.core import BadParameter
from foldwalk.descriptors import backbone
from foldwalk.learn.cgml import BinomialDevianceLoss
from foldwalk.learn.labelled import LabelledRecipe
from foldwalk.learn.loss_names import make_loss
from foldwalk.learn.trainer.config import read_config
from foldwalk.learn.trainer.job import run_job
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import HeadSpec, make_head
from foldwalk.learn.trainer.settings import TrainingSettings
from tiny_models import save

HERE = Path(__file__).parent
# 30 items in a batch and 241 in all: neither comes out even for two processes of 15 and 121.
LABELS = np.append(np.arange(240) % 12, 0)


def trained(folder: Path | None = None, epochs: int = 2, test=True, **settings) -> Trainer:
    """A loss with weights of its own, so that both kinds of gradient are compared."""
    x = noisy(241)[0]
    loss = make_loss("proxy_nca", None, 12, 8)
    made = Trainer(
        make_head(HeadSpec("mlp", 24, 8, hidden=10), x, "random"),
        x,
        LabelledRecipe(LABELS, loss, 5, 6),
        TrainingSettings(
            epochs=epochs, learning_rate=0.01, loss_rate=10, clustering=False, optimiser="sgd", **settings
        ),
        noisy(101, seed=1) if test else None,
        folder,
    )
    made.fit()
    return made


PROGRAM = """
import sys; sys.path[:0] = [{here!r}, {tests!r}]
import json, pathlib, torch; torch.set_num_threads(1)
from test_learn_processes import trained
folder = pathlib.Path(sys.argv[1])
made = trained(folder / "run", epochs=1)
made = trained(folder / "run")
told = {{"history": made.history, "weights": [p.tolist() for p in made.model.parameters()],
        "loss": [p.tolist() for p in made.recipe.module.parameters()]}}
(folder / f"process-{{made.accelerator.process_index}}.json").write_text(json.dumps(told))
from foldwalk.cli import main
command = ["train", "pml", "--config", folder / "toy.toml", "--out", folder / "out", "--root", folder]
sys.exit(main._exit_code([*map(str, command), "--json"]))
"""
TOY = """
[data]
train = "toy"
test = ""
[model]
kind = "last_blocks"
network = "hf:{network}"
dim = 8
[training]
epochs = 2
learning_rate = 1e-3
clustering = false
readers = 1
[pml]
loss = "contrastive"
classes = 3
per_class = 2
"""


@dataclass(frozen=True)
class Two:
    """Where two processes wrote, and what they said."""

    folder: Path
    said: str


def picture_set(folder: Path) -> None:
    """Eight classes of six small pictures, and a network."""
    rng = np.random.default_rng(0)
    for number in range(8):
        (folder / "images" / "toy" / f"class{number}").mkdir(parents=True)
        for item in range(6):
            pixels = rng.integers(0, 255, (40, 48, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "images" / "toy" / f"class{number}" / f"{item}.png")
    save("resnet", folder / "resnet")
    (folder / "toy.toml").write_text(TOY.format(network=folder / "resnet"))


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Two:
    """What two processes leave behind that were started as a user would start them, stopped and gone on."""
    folder = tmp_path_factory.mktemp("two")
    picture_set(folder)
    program = folder / "program.py"
    program.write_text(PROGRAM.format(here=str(HERE), tests=str(HERE.parent)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = os.environ | {"ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [*command, str(program), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return Two(folder, run.stdout)


def test_two_processes_learn_what_one_learns_from_the_whole_batch(two):
    alone = trained()
    first, second = (json.loads((two.folder / f"process-{number}.json").read_text()) for number in (0, 1))
    assert first["weights"] == second["weights"]
    assert first["loss"] == second["loss"]
    for found, expected in zip(first["weights"], alone.model.parameters(), strict=True):
        np.testing.assert_allclose(found, expected.detach(), atol=1e-5)
    for found, expected in zip(first["loss"], alone.recipe.module.parameters(), strict=True):
        np.testing.assert_allclose(found, expected.detach(), atol=1e-5)
    for found, expected in zip(first["history"], alone.history, strict=True):
        assert found == pytest.approx(expected, abs=1e-4)


def test_only_the_first_process_measures_and_writes(two):
    assert "R@1" not in json.loads((two.folder / "process-1.json").read_text())["history"][-1]
    written = {path.name for path in (two.folder / "run").iterdir() if not path.name.startswith("events")}
    assert written == {"checkpoint.pt", "log.csv"}


def test_the_command_trains_on_pictures_with_two_processes_as_with_one(two):
    """A batch of 6 pictures, 3 for each process; a loss over all pairs, norms as they are."""
    found = json.loads(two.said)["history"]  # one answer, and not two
    alone = run_job("pml", read_config(two.folder / "toy.toml"), None, two.folder).history
    assert len(found) == 3
    for row, expected in zip(found, alone, strict=True):
        assert row == pytest.approx(expected, abs=1e-4)
    assert backbone(two.folder / "out" / "model.onnx").dim == 8


def test_accumulated_batches_make_one_step_of_their_mean_gradient():
    x = noisy(241)[0]

    def step(accumulate: int, batches: int) -> list[torch.Tensor]:
        head = make_head(HeadSpec("linear", 24, 8), x)
        recipe = LabelledRecipe(LABELS, BinomialDevianceLoss(), 5, 6)
        drawn = list(recipe.batches(1))[:batches]
        recipe.batches = lambda epoch: iter(drawn)  # noqa: ARG005
        settings = TrainingSettings(
            epochs=1, learning_rate=0.5, optimiser="sgd", momentum=0, accumulate=accumulate, evaluate_every=0
        )
        before = [p.detach().clone() for p in head.parameters()]
        Trainer(head, x, recipe, settings).fit()
        return [b - p.detach() for b, p in zip(before, head.parameters(), strict=True)]

    def gradient_of(number: int) -> list[torch.Tensor]:
        head = make_head(HeadSpec("linear", 24, 8), x)
        recipe = LabelledRecipe(LABELS, BinomialDevianceLoss(), 5, 6)
        items = list(recipe.batches(1))[number]
        recipe.loss(head(torch.from_numpy(x[items])), items).backward()
        return [p.grad for p in head.parameters()]

    # Three batches where four are asked for: the last step of an epoch has fewer.
    mean = [sum(grads) / 3 for grads in zip(*map(gradient_of, range(3)), strict=True)]
    for moved, expected in zip(step(4, 3), mean, strict=True):
        torch.testing.assert_close(moved, 0.5 * expected, atol=1e-6, rtol=1e-4)


def test_devices_and_precisions_that_are_not_there_are_refused_in_one_sentence():
    assert not torch.cuda.is_available()
    with pytest.raises(BadParameter, match="device cuda is not available here; there is cpu"):
        trained(device="cuda")
    with pytest.raises(BadParameter, match="fp16 needs a GPU"):
        trained(precision="fp16")
    trained(epochs=0, device="cpu")
    with pytest.raises(BadParameter, match="another precision already"):
        trained(precision="bf16")


def test_half_precision_learns_alike_and_leaves_whole_weights():
    program = f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]\n" + (
        "import torch; torch.set_num_threads(1)\n"
        "from test_learn_processes import trained\n"
        "made = trained(test=False, precision='bf16')\n"
        "assert all(p.dtype == torch.float32 for p in made.model.parameters())\n"
        "assert made.model(torch.ones(2, 24)).dtype == torch.float32\n"
        "print(*[row['loss'] for row in made.history[1:]])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found, whole = list(map(float, run.stdout.split())), [row["loss"] for row in trained().history[1:]]
    assert found == pytest.approx(whole, rel=0.02)
    assert found != whole
