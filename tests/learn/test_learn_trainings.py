"""Trainings and backbones by name: listed without what they need, told by the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from foldwalk.cli.main import app
from foldwalk.descriptors import backbones
from foldwalk.learn import Trainer, trainings
from foldwalk.learn.trainer.loop import Trainer as TheTrainer

REGISTRIES = {"trainings": trainings, "backbones": backbones}


def invoke(*arguments: str):
    return CliRunner().invoke(app, arguments)


def test_they_are_listed_without_the_packages_they_need():
    program = (
        "import sys; from foldwalk.learn import trainings; from foldwalk.descriptors import backbones\n"
        "for room in (trainings, backbones): print(*[room.describe(name).name for name in room.names()])\n"
        "heavy = {'torch', 'pytorch_metric_learning', 'onnxruntime', 'timm', 'torchvision', 'open_clip'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [" ".join(trainings.names()), " ".join(backbones.names())]


@pytest.mark.parametrize("command", REGISTRIES)
def test_the_command_lists_all_and_shows_each(command):
    registry = REGISTRIES[command]
    listed = json.loads(invoke(command, "--json").stdout)
    assert [card["name"] for card in listed] == registry.names()
    table = invoke(command).stdout
    for name, card in zip(registry.names(), listed, strict=True):
        assert name in table
        assert json.loads(invoke(command, name, "--json").stdout) == card
        assert registry.describe(name).summary[:20] in invoke(command, name).stdout
    assert "there is no" in str(invoke(command, "zebra").exception)


def test_there_is_one_public_trainer():
    assert Trainer is TheTrainer
