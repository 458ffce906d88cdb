"""What benchmarks/metric_learning/choice.py compares, and that it keeps what it measured."""

import json

import pytest

import harness
import metric_learning
import metric_learning_choice
from metric_learning_choices import WHAT


@pytest.mark.parametrize("what", [what for what in WHAT if what.endswith("_conv")])
def test_choices_for_networks_are_configurations(what):
    for _, sections in WHAT[what]():
        config = metric_learning.configure("omniglot", 0.5, **sections)
        assert config.data.held_out == 0.5
        if config.edms.variant == "dreml":
            assert config.model.dim == config.edms.meta_classes


def test_networks_train_as_long_on_half_of_the_classes_as_the_tables_on_all():
    whole = metric_learning.configure("omniglot").training.epochs
    for what in ("edms_conv", "cgml_conv"):
        halves = [metric_learning.configure("omniglot", 0.5, **sections) for _, sections in WHAT[what]()]
        assert {config.training.epochs for config in halves} == {2 * whole}


def test_a_second_run_of_some_choices_keeps_the_others(monkeypatch, tmp_path):
    choices = [(title, {}) for title in ("first", "second", "third")]
    seeds = []

    def train_once(_method, config, _data):
        seeds.append(config.training.seed)
        return {"R@1": 0.5, "MAP@R": 0.25}

    for module in (harness, metric_learning):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(metric_learning_choice, "WHAT", {"edms_conv": lambda: iter(choices)})
    monkeypatch.setattr(metric_learning_choice, "begin", lambda *_: (None, (None, None)))
    monkeypatch.setattr(metric_learning_choice, "plain", lambda *_, **__: {"R@1": [0.1], "MAP@R": [0.1]})
    monkeypatch.setattr(metric_learning_choice, "train_once", train_once)
    for more in (["--match", "ir"], ["--resume", "--seeds", "2", "--match", "second"]):
        options = metric_learning_choice.parser("").parse_args(["--what", "edms_conv", *more])
        metric_learning_choice.compare(options)
    rows = json.loads((tmp_path / "metric_learning_choice_edms_conv_cub.json").read_text())["rows"]
    measured = [(title, len(row["R@1"])) for title, row in rows.items()]
    assert measured == [("features as they are", 1), ("first", 1), ("second", 2), ("third", 1)]
    assert seeds == [0, 0, 0, 1]
