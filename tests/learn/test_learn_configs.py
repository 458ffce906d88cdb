"""The configurations that come along: the papers' numbers, and that each of them runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.learn.trainer.config import make_config, over, read_config, read_sections, shipped
from foldwalk.learn.trainer.job import run_job
from tiny_models import save

pytest.importorskip("transformers")
CLASSES, ITEMS = 16, 4
PIXELS = {"omniglot-pml"}  # whose network is made for a data set of grey pixels


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A data set toy, its pictures and its features, and a small random network."""
    made = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for number in range(CLASSES):
        folder = made / "images" / "toy" / f"class{number:02}"
        folder.mkdir(parents=True)
        colour = rng.integers(40, 215, 3)
        for item in range(ITEMS):
            noise = rng.integers(-40, 40, (40, 40, 3))
            Image.fromarray((colour + noise).astype(np.uint8)).save(folder / f"{item}.png")
    (made / "features").mkdir()
    labels = np.repeat([f"class{number:02}" for number in range(CLASSES)], ITEMS)
    features = rng.normal(size=(len(labels), 1280)).astype(np.float32)
    np.savez(made / "features" / "toy_made.npz", x=features, labels=labels)
    save("resnet", made / "resnet")
    return made


@pytest.mark.parametrize("name", sorted(set(shipped()) - PIXELS))
def test_each_makes_its_steps(name, root):
    told = read_sections(name)
    training = next(section for section in told if section in ("mom", "edms", "cgml", "pml"))
    small: dict = {
        "data": {"train": "toy", "test": "toy"},
        "training": {"epochs": 2, "clustering": False, "evaluate_every": 0, "readers": 0},
        "model": {"dim": 8},
    }
    if "network" in told["model"]:
        small["model"]["network"] = f"hf:{root / 'resnet'}"
    elif told["model"]["kind"] == "last_blocks":
        small["model"] |= {"views": 1, "size": 64}
    if training == "mom":
        small["mom"] = {"miner": {"anchors": 10, "graph_k": 4, "positive_k": 8, "negative_k": 12}}
    if training == "edms":
        small["edms"] = {"members": min(2, told["edms"]["members"])}
    history = run_job(training, make_config(over(told, small)), None, root).history
    assert history[-1]["epoch"] == 2
    assert 0 <= history[-1]["R@1"] <= 1
    if small.get("edms", {}).get("members") != 2:  # of an ensemble no loss is told
        assert history[-1]["loss"] > 0  # without a step it would be 0


def test_mining_on_manifolds_has_the_numbers_of_section_4():
    birds, objects = read_config("cub-mom-googlenet"), read_config("retrieval-mom-vgg16")
    assert (birds.model.dim, birds.mom.loss, birds.mom.margin, birds.mom.tuples) == (64, "triplet", 0.5, 42)
    assert (objects.model.pooling, objects.mom.loss, objects.mom.margin) == ("mac", "contrastive", 0.7)
    assert (objects.mom.tuples, objects.mom.miner["anchors"], objects.mom.miner["negative_k"]) == (
        5,
        1000,
        10000,
    )
    assert (birds.training.epochs, objects.training.epochs) == (100, 30)
    for config in (birds, objects):
        t, miner = config.training, config.mom.miner
        assert (t.optimiser, t.learning_rate, t.momentum, t.every, t.factor) == ("sgd", 0.01, 0.9, 10, 0.1)
        assert (miner["graph_k"], miner["gamma"], miner["alpha"], miner["positive_k"]) == (30, 3.0, 0.99, 50)


@pytest.mark.parametrize("network", ["resnet18", "googlenet"])
def test_edms_has_the_numbers_of_section_8(network):
    config = read_config(f"cub-edms-{network}")
    assert config.model.network == f"torchvision:{network}"
    t, own = config.training, config.edms
    assert (t.epochs, t.learning_rate, t.weight_decay, t.every, t.factor) == (10, 1e-4, 1e-5, 3, 0.1)
    assert (own.meta_classes, own.batch, own.alpha, own.proxy_rate, config.model.dim) == (
        50,
        128,
        0.8,
        1e-3,
        128,
    )


@pytest.mark.parametrize(
    ("data", "items", "steps"),
    [("cub", 5864, 5e3), ("cars", 8054, 1e4), ("sop", 59551, 2e4), ("inshop", 25882, 2e4)],
)
def test_cgml_has_as_many_steps_as_the_paper(data, items, steps):
    config = read_config(f"{data}-cgml-googlenet")
    t, own = config.training, config.cgml
    assert (own.classes * own.per_class, own.weight, config.model.dim) == (130, 0.002, 512)
    assert (t.learning_rate, t.weight_decay, t.head_rate) == (1e-5, 2e-4, 10)
    assert t.epochs * (items // 130) == pytest.approx(steps, rel=0.01)
