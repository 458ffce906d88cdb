"""What a training refuses to go on from, and what it leaves behind when it is stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_learn_ensemble import QUICK
from test_learn_trainer import noisy, trainer

from foldwalk.core import BadInput
from foldwalk.learn import MetaClassEnsemble
from foldwalk.learn.edms import ensemble as ensembles
from foldwalk.learn.trainer.config import make_config
from foldwalk.learn.trainer.inputs import Inputs
from foldwalk.learn.trainer.job import Job
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import HeadSpec, make_conv_net, make_head
from foldwalk.learn.trainer.optimiser import make_optimiser
from foldwalk.learn.trainer.settings import TrainingSettings

BASE = {
    "model": {"dim": 8},
    "training": {"epochs": 1, "clustering": False},
    "cgml": {"classes": 4, "per_class": 4},
    "pml": {"classes": 4, "per_class": 4},
}


def items(seed: int = 0, shift: int = 0) -> Inputs:
    x, labels = noisy(120, seed)
    return Inputs(x, np.roll(labels, shift).astype(np.int64), x)


def run(folder: Path, name: str = "cgml", changed: dict | None = None, train=None, test=None) -> None:
    told = {section: BASE.get(section, {}) | (changed or {}).get(section, {}) for section in BASE}
    config = make_config(told)
    config.chosen(name).run(Job(config, train or items(), test or items(1), folder))


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    run(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"name": "pml"}, "its training was cgml, not pml"),
        ({"changed": {"cgml": {"loss": "triplet"}}}, "its cgml.loss was binomial, not triplet"),
        ({"changed": {"cgml": {"weight": 0.5}}}, r"its cgml.weight was 0.002, not 0.5"),
        ({"changed": {"cgml": {"options": {"alpha": 3.0}}}}, "its cgml.options was {}, not {'alpha': 3.0}"),
        ({"changed": {"cgml": {"classes": 5}}}, "its cgml.classes was 4, not 5"),
        ({"changed": {"model": {"dropout": 0.2}}}, r"its model.dropout was 0.0, not 0.2"),
        ({"changed": {"training": {"seed": 3}}}, "its seed was 0, not 3"),
        ({"changed": {"training": {"head_rate": 10}}}, r"its head_rate was 1.0, not 10.0"),
        ({"changed": {"training": {"accumulate": 2}}}, "its accumulate was 1, not 2"),
        ({"train": items(7)}, "its training data was 120 x 24 float32"),
        ({"train": items(0, 1)}, "its classes was 120 int64"),
        ({"test": items(7)}, "its test data was"),
    ],
)
def test_another_training_in_the_same_folder_is_refused_and_the_difference_named(begun, change, what):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(BadInput) as caught:
        run(begun, **change)
    said = str(caught.value)
    assert what in said
    assert said.endswith("remove it to begin anew, or choose another folder.")
    assert "\n" not in said
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


def test_what_changes_no_weight_may_change(begun):
    run(begun, changed={"training": {"device": "cpu", "evaluate_every": 5, "clustering": True}})


def test_checkpoints_are_never_unpickled(tmp_path):
    class Harm:
        def __reduce__(self):
            return Path.touch, (tmp_path / "harm",)

    torch.save({"format": 2, "told": {}, "epoch": Harm()}, tmp_path / "checkpoint.pt")
    with pytest.raises(BadInput, match="no checkpoint of this training"):
        trainer("cgml", tmp_path).fit()
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("when", ["evaluate", "_run_epoch"])
def test_a_training_that_is_stopped_before_its_first_checkpoint_leaves_no_folder(tmp_path, monkeypatch, when):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, when, stopped)
    (tmp_path / "there").mkdir()
    for place in ("new/below", "there"):
        with pytest.raises(KeyboardInterrupt):
            trainer("cgml", tmp_path / place).fit()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_an_interrupted_ensemble_goes_on_with_the_member_it_was_at(tmp_path, monkeypatch):
    x, labels = noisy(120)
    file = tmp_path / "checkpoint.pt"
    whole = MetaClassEnsemble(3, QUICK, seed=2).fit(x, labels)
    train, calls = ensembles.train_member, []

    def counted(*told):
        calls.append(told[4])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(*told)

    monkeypatch.setattr(ensembles, "train_member", counted)
    with pytest.raises(KeyboardInterrupt):
        MetaClassEnsemble(3, QUICK, seed=2).fit(x, labels, checkpoint=file)
    made = MetaClassEnsemble(3, QUICK, seed=2).fit(x, labels, checkpoint=file)
    assert calls == [2, 3, 3, 4]
    assert made.transform(x).tobytes() == whole.transform(x).tobytes()
    longer = MetaClassEnsemble(4, QUICK, seed=2).fit(x, labels, checkpoint=file)
    assert calls[4:] == [5]
    np.testing.assert_array_equal(longer.transform(x, 3), whole.transform(x))
    with pytest.raises(BadInput, match=r"its member 1\.dim was 6, not 5"):
        MetaClassEnsemble(3, replace(QUICK, dim=5), seed=2).fit(x, labels, checkpoint=file)
    with pytest.raises(BadInput, match="its seed was 2, not 3"):
        MetaClassEnsemble(3, QUICK, seed=3).fit(x, labels, checkpoint=file)
    with pytest.raises(BadInput, match="its training data was"):
        MetaClassEnsemble(3, QUICK, seed=2).fit(x + 1, labels, checkpoint=file)


def test_a_head_learns_at_its_own_rate_also_where_it_is_all_there_is():
    settings = TrainingSettings(learning_rate=1e-3, head_rate=10)
    head = make_head(HeadSpec("linear", 24, 8), noisy()[0])
    rates = [group["lr"] for group in make_optimiser(head, torch.nn.Identity(), settings).param_groups]
    assert rates == [pytest.approx(1e-2)]
    plain = make_optimiser(make_conv_net(4), torch.nn.Identity(), settings)
    assert [group["lr"] for group in plain.param_groups] == [1e-3]
