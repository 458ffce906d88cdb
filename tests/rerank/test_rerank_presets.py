"""Presets: parameters that belong together, by one name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from foldwalk import rerank
from foldwalk.cli.main import app
from foldwalk.core import BadParameter
from foldwalk.rerank.diffusion.cas import CAS
from samples import clustered

WITH_PRESETS = [name for name in rerank.names() if rerank.describe(name).presets]


@pytest.mark.parametrize("name", WITH_PRESETS)
def test_every_preset_is_within_the_ranges(name):
    for preset, card in rerank.describe(name).presets.items():
        method = rerank.create(name, preset=preset)
        assert card.text
        assert {parameter: getattr(method.params, parameter) for parameter in card.values} == card.values


def test_the_settings_of_the_cas_paper():
    def sizes(preset):
        p = rerank.create("cas", preset=preset).params
        return (
            p.cluster_k,
            p.trusted_k,
            p.graph_sizes[0],
            p.transition_k,
            p.expand_k,
            p.markov_k,
            p.geodesic_k,
        )

    assert sizes("roxford") == sizes("rparis") == (60, 6, 5, 70, 7, 80, 100)
    assert sizes("mac") == (60, 6, 10, 70, 7, 80, 100)
    assert sizes("reid") == (20, 5, 4, 25, 6, 25, 100)
    assert WITH_PRESETS == ["cas"]


def test_what_is_given_beside_a_preset_wins():
    method = CAS(preset="roxford", cluster_k=33, seed=3)
    assert (method.params.cluster_k, method.params.markov_k, method.seed) == (33, 80, 3)
    assert "preset" not in method.get_params()


def test_scikit_learn_copies_and_changes_it():
    method = rerank.create("cas", preset="mac", expand_k=9)
    assert clone(method).params == method.params == CAS(**method.get_params()).params
    changed = clone(method).set_params(preset="reid", markov_k=30)
    assert changed.params == rerank.create("cas", preset="reid", markov_k=30).params
    assert clone(method).set_params(mu=0.5).params == method.params.model_copy(update={"mu": 0.5})


def test_a_saved_method_keeps_its_values(tmp_path):
    gallery, _ = clustered()
    fitted = rerank.create("cas", preset="reid", cluster_k=8).fit(gallery)
    rerank.save(fitted, tmp_path / "fitted.npz")
    assert rerank.load(tmp_path / "fitted.npz").params == fitted.params


def test_a_preset_that_is_not_there():
    with pytest.raises(BadParameter, match=r"cas: preset is 'oxford', .* one of roxford, rparis, mac, reid"):
        rerank.create("cas", preset="oxford")
    with pytest.raises(BadParameter, match="preset is 3"):
        rerank.create("cas").set_params(preset=3)
    with pytest.raises(BadParameter, match="dfs has no parameter 'preset'"):
        rerank.create("dfs", preset="roxford")


def test_the_command_line_shows_and_takes_them(tmp_path):
    shown = CliRunner().invoke(app, ["methods", "cas"])
    assert "preset=roxford" in shown.stdout
    card = json.loads(CliRunner().invoke(app, ["methods", "cas", "--json"]).stdout)
    assert card["presets"]["mac"]["values"]["graph_k"] == 10
    gallery, out = tmp_path / "gallery.npy", tmp_path / "ranking.npz"
    np.save(gallery, clustered()[0])
    words = ["rerank", "--gallery", str(gallery), "--method", "cas", "--out", str(out), "--top", "5"]
    assert CliRunner().invoke(app, [*words, "--param", "preset=reid"]).exit_code == 0
    assert np.load(out)["ids"].shape == (len(clustered()[0]), 5)
