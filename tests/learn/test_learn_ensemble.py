"""Ensembles on meta-classes: fusion, saving, processes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
from test_learn_trainer import noisy

from foldwalk.core import BadInput, BadParameter, NotFitted
from foldwalk.learn import MetaClassEnsemble
from foldwalk.learn.edms.ensemble import Learner
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from foldwalk.learn.trainer.settings import TrainingSettings

QUICK = Learner(
    meta_classes=4, dim=6, batch=60, settings=TrainingSettings(epochs=3, learning_rate=0.01, evaluate_every=0)
)


@pytest.fixture(scope="module")
def ensemble() -> MetaClassEnsemble:
    return MetaClassEnsemble(3, QUICK, weights=[1, 4, 0.25]).fit(*noisy())


def test_the_dot_product_is_equation_1(ensemble):
    x, _ = noisy(seed=1)
    joined = ensemble.transform(x)
    assert joined.shape == (240, 18)
    similar = np.zeros((240, 240))
    for e, weight in enumerate([1, 4, 0.25]):
        alone = MetaClassEnsemble(1, QUICK)
        alone.heads_ = [ensemble.heads_[e]]
        unit = alone.transform(x)
        similar += weight * unit @ unit.T
    np.testing.assert_allclose(joined @ joined.T, similar / 5.25, atol=1e-5)
    assert ensemble.transform(x, members=2).shape == (240, 12)


def test_members_differ_and_the_ensemble_beats_the_worst_of_them(ensemble):
    x, labels = noisy(seed=1)
    alone = []
    for head in ensemble.heads_:
        single = MetaClassEnsemble(1, QUICK)
        single.heads_ = [head]
        alone.append(evaluate_embedding(single.transform(x), labels, clustering=False)["R@1"])
    assert len(set(alone)) > 1
    assert evaluate_embedding(ensemble.transform(x), labels, clustering=False)["R@1"] > min(alone)


def test_saved_as_one_file(tmp_path, ensemble):
    path = ensemble.save(tmp_path / "model.safetensors")
    again = MetaClassEnsemble.load(path)
    x, _ = noisy(seed=1)
    np.testing.assert_array_equal(again.transform(x), ensemble.transform(x))
    assert again.learners == ensemble.learners
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BadInput, match="not an ensemble"):
        MetaClassEnsemble.load(path)
    with pytest.raises(BadInput, match="safetensors"):
        ensemble.save(tmp_path / "model.pt")


def test_members_with_a_named_loss_see_a_share_of_the_features_each(tmp_path):
    x, labels = noisy()
    learner = replace(QUICK, loss="binomial", meta_classes=12, per_class=4, power=0.5, share=0.5)
    made = MetaClassEnsemble(3, learner).fit(x, labels)
    assert len({tuple(head.chosen.tolist()) for head in made.heads_}) == 3
    again = MetaClassEnsemble.load(made.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.transform(x), made.transform(x))
    start = learner.start(x, 0)
    assert not torch.equal(start.layers[-1].weight, made.heads_[0].layers[-1].weight)
    other = MetaClassEnsemble(3, replace(learner, loss="triplet")).fit(x, labels)
    assert not np.allclose(other.transform(x), made.transform(x), atol=1e-3)


def test_learners_of_several_kinds_take_turns(tmp_path):
    x, labels = noisy()
    plain = replace(QUICK, loss="binomial", meta_classes=12, per_class=4)
    rooted = replace(plain, loss="multi_similarity", power=0.5, dim=4)
    made = MetaClassEnsemble(3, [plain, rooted]).fit(x, labels)
    assert [head.spec.dim for head in made.heads_] == [6, 4, 6]
    alone = MetaClassEnsemble(1, rooted, seed=1).fit(x, labels)
    assert torch.equal(alone.heads_[0].layers[-1].weight, made.heads_[1].layers[-1].weight)
    again = MetaClassEnsemble.load(made.save(tmp_path / "model.safetensors"))
    assert again.learners == [plain, rooted, plain]
    np.testing.assert_array_equal(again.transform(x), made.transform(x))
    with pytest.raises(BadParameter, match="at least one learner"):
        MetaClassEnsemble(2, [])


def test_processes_give_the_same_members():
    x, labels = noisy(120)
    one = MetaClassEnsemble(2, QUICK, seed=5).fit(x, labels)
    two = MetaClassEnsemble(2, QUICK, seed=5, workers=2).fit(x, labels)
    np.testing.assert_allclose(two.transform(x), one.transform(x), atol=1e-5)


def test_bad_choices_are_refused():
    with pytest.raises(NotFitted):
        MetaClassEnsemble().transform(np.eye(3))
    with pytest.raises(BadParameter, match="2 numbers"):
        MetaClassEnsemble(2, weights=[1.0])
    with pytest.raises(BadInput, match="3 labels for 240"):
        MetaClassEnsemble(2, QUICK).fit(noisy()[0], [1, 2, 3])


@pytest.mark.parametrize("wrong", ["sizes", "shape", "numbers", "deep"])
def test_an_altered_file_is_refused_before_memory_is_taken(tmp_path, ensemble, wrong):
    path = ensemble.save(tmp_path / "model.safetensors")
    with safetensors.safe_open(path, framework="pt") as file:
        header, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    facts, first = json.loads(header["facts"]), next(name for name in tensors if name.endswith("weight"))
    if wrong == "sizes":
        facts["heads"][0] |= {"inputs": 10**7, "dim": 10**7}
    elif wrong == "shape":
        tensors[first] = tensors[first][:-1].clone()
    elif wrong == "numbers":
        tensors[first] = tensors[first] * float("nan")
    told = "[" * 100_000 if wrong == "deep" else json.dumps(facts)
    safetensors.torch.save_file(tensors, path, header | {"facts": told})
    with pytest.raises(BadInput, match=r"model.safetensors is not an ensemble saved by foldwalk: .*\.$"):
        MetaClassEnsemble.load(path)
