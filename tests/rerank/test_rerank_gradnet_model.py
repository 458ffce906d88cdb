"""GRAD-Net as a whole: learning, unseen queries, saving, what happens without torch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter, MissingData, MissingExtra, Neighbors, NotFitted, Vectors
from foldwalk.learn import GradNet
from foldwalk.neighbors import Searcher, knn_graph
from foldwalk.rerank.learned.gradnet import share
from foldwalk.rerank.learned.gradnet.query import expand, expand_again
from samples import clustered

GALLERY, LABELS = clustered()
QUICK = {"epochs": 3, "layer_sizes": "512,128,64", "anchors": 20, "dimensions": 0, "rounds": 2}


def needs_torch():
    pytest.importorskip("torch")


def test_training_lowers_the_loss_and_improves_the_ranking(monkeypatch):
    needs_torch()
    monkeypatch.setattr(share, "FEW", 1)  # of few items the vector itself counts for most: not here
    rng = np.random.default_rng(0)
    angle = np.repeat([0.0, np.pi], 80) + rng.uniform(0, np.pi, 160)
    labels = np.repeat([0, 1], 80)
    shift = np.where(labels[:, None] == 0, [0.0, 0.0], [1.0, 0.4])
    moons = np.stack([np.cos(angle), np.sin(angle)], axis=1) + shift + 0.04 * rng.normal(size=(160, 2))

    def purity(ranking):
        return (labels[ranking.ids[:, :60]] == labels[:, None]).mean()

    epochs = []
    settings = {"metric": "euclidean", "k": 8, "layer_sizes": "512,128,64", "anchors": 20, "rounds": 1}
    GradNet(epochs=20, **settings).fit(moons, listener=epochs.append)
    assert epochs[-1].local < epochs[0].local
    plain = purity(rerank.create("plain", metric="euclidean").fit(moons).rank_self(60))

    def mean_purity(epochs):
        """Over seeds: how the codes fall is a matter of luck."""
        nets = [GradNet(epochs=epochs, seed=seed, **settings).fit(moons) for seed in range(4)]
        return np.mean([purity(net.rank_self(60)) for net in nets])

    assert mean_purity(60) > mean_purity(0) + 0.015 > plain + 0.03


@pytest.mark.parametrize("batch", [0, 32])
def test_same_seed_same_bytes(batch):
    needs_torch()
    runs = [GradNet(seed=4, batch=batch, **QUICK).fit(GALLERY).features.tobytes() for _ in range(2)]
    assert runs[0] == runs[1]
    assert GradNet(seed=5, batch=batch, **QUICK).fit(GALLERY).features.tobytes() != runs[0]


def test_global_random_state_is_left_alone():
    needs_torch()
    import torch

    before = torch.random.get_rng_state()
    GradNet(**QUICK).fit(GALLERY)
    assert torch.equal(before, torch.random.get_rng_state())


def test_listener_hears_terms_and_features():
    needs_torch()
    heard = []
    net = GradNet(**QUICK).fit(GALLERY, listener=lambda e: heard.append((e.number, e.loss, e.features())))
    assert [number for number, *_ in heard] == [1, 2, 3, 4, 5, 6]  # two rounds of three
    assert heard[-1][2].tobytes() == net.features.tobytes()
    silent = GradNet(**QUICK).fit(GALLERY)
    assert silent.features.tobytes() == net.features.tobytes()  # listening changes nothing


def test_patience_stops_when_the_loss_no_longer_falls():
    needs_torch()
    heard = []
    stubborn = {**QUICK, "rounds": 1, "epochs": 50, "learning_rate": 1e-12, "patience": 2, "dropout": 0.0}
    GradNet(**stubborn).fit(GALLERY, listener=heard.append)
    assert 3 <= len(heard) < 50


def test_a_second_round_learns_on_the_graph_of_the_first():
    needs_torch()
    one, two = (GradNet(k=6, **{**QUICK, "rounds": rounds}).fit(GALLERY) for rounds in (1, 2))
    first, second = np.split(two.features, 2, axis=1)
    assert np.allclose(first * np.sqrt(2), one.features, atol=1e-6)
    learned = knn_graph(Vectors(two.trained.spaces[0]), 6)  # eq. 17, every layer alike
    by_hand = GradNet(k=6, **{**QUICK, "rounds": 1}).fit_graph(one.vectors, learned)
    assert np.allclose(second * np.sqrt(2), by_hand.features, atol=1e-5)
    assert not np.allclose(first, second, atol=1e-2)


def test_query_feature_expansion_by_hand():
    features = Vectors(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    found = Neighbors(np.array([[0, 1], [2, -1]], np.int32), np.array([[1.0, 0.5], [0.5, 0.0]], np.float32))
    once = expand(found, features, "inverse_distance")
    expected = np.array([1 * 1, 1 / 2])  # d = 0 and d = 1
    assert np.allclose(once.values[0], expected / np.linalg.norm(expected), atol=1e-6)
    assert np.allclose(once.values[1], [0.6, 0.8], atol=1e-6)
    again = expand_again(Vectors(np.array([[1, 0]], np.float32)), Searcher(features), 2)
    expected = 1.0 * np.array([1, 0]) + 0.6 * np.array([0.6, 0.8])  # the nearest learned features and cosines
    assert np.allclose(again.values[0], expected / np.linalg.norm(expected), atol=1e-6)


@pytest.mark.parametrize("expansions", [1, 2])
def test_unseen_queries_find_their_cluster(expansions):
    needs_torch()
    net = GradNet(expansions=expansions, unseen="expand", **QUICK).fit(GALLERY)
    ranking = net.rank(GALLERY[:20] + 0.01, top=10)
    assert (LABELS[ranking.ids] == LABELS[:20, None]).mean() > 0.95
    assert np.allclose(np.linalg.norm(net.transform(GALLERY[:3]), axis=1), 1, atol=1e-5)
    method = rerank.create("gradnet", expansions=expansions, unseen="expand", **QUICK).fit(GALLERY)
    assert np.array_equal(method.rank(GALLERY[:20] + 0.01, top=10).ids, ranking.ids)
    assert np.array_equal(method.transform(GALLERY[:3]), net.transform(GALLERY[:3]))


def test_saved_and_loaded(tmp_path):
    needs_torch()
    method = rerank.create("gradnet", **QUICK).fit(GALLERY)
    again = rerank.load(rerank.save(method, tmp_path / "net.npz"))
    assert again.model.features.tobytes() == method.model.features.tobytes()
    assert again.model.k == method.model.k
    assert again.params.k == "auto"


def test_saved_as_safetensors(tmp_path):
    needs_torch()
    net = GradNet(seed=2, k=6, **QUICK).fit(GALLERY)
    again = GradNet.load(net.save(tmp_path / "net.safetensors"))
    assert again.features.tobytes() == net.features.tobytes()
    assert (again.k, again.seed, again.params) == (6, 2, net.params)
    before, after = net.rank(GALLERY[:4] + 0.01), again.rank(GALLERY[:4] + 0.01)
    assert before.ids.tobytes() + before.scores.tobytes() == after.ids.tobytes() + after.scores.tobytes()
    assert np.array_equal(net.rank_self(5).ids, again.rank_self(5).ids)


def test_what_cannot_be_saved_or_loaded(tmp_path):
    with pytest.raises(NotFitted, match="fit"):
        GradNet().save(tmp_path / "net.safetensors")
    known = GradNet().adopt(Vectors(GALLERY), GALLERY, 5)
    with pytest.raises(BadInput, match=r"saved as \.safetensors"):
        known.save(tmp_path / "net.pt")
    with pytest.raises(MissingData, match="not a folder"):
        known.save(tmp_path / "nowhere" / "net.safetensors")
    with pytest.raises(MissingData, match="does not exist"):
        GradNet.load(tmp_path / "nothing.safetensors")
    whole = known.save(tmp_path / "net.safetensors").read_bytes()
    for broken in (b"", whole[:100], whole[:-8], whole.replace(b"gradnet 2", b"gradnet 9")):
        (tmp_path / "broken.safetensors").write_bytes(broken)
        with pytest.raises(BadInput, match="not a GRAD-Net saved by foldwalk"):
            GradNet.load(tmp_path / "broken.safetensors")
    fewer = GradNet().adopt(Vectors(GALLERY), GALLERY[:5], 5)
    with pytest.raises(BadInput, match="features must be 120 x any"):
        GradNet.load(fewer.save(tmp_path / "fewer.safetensors"))
    bad_seed = GradNet().adopt(Vectors(GALLERY), GALLERY, 5)
    bad_seed.seed = -1
    with pytest.raises(BadInput, match="not a GRAD-Net saved by foldwalk: seed"):
        GradNet.load(bad_seed.save(tmp_path / "seed.safetensors"))


def test_truncated_to_the_nearest_of_the_queries():
    needs_torch()
    queries = GALLERY[:2] + 0.01
    method = rerank.create("gradnet", truncate=15, **QUICK)
    ranking = method.rerank(queries, GALLERY, top=len(GALLERY))
    plain = rerank.create("plain").rerank(queries, GALLERY, top=len(GALLERY))
    inside = set(plain.ids[:, :15].ravel().tolist())
    for row, plain_row in zip(ranking.ids.tolist(), plain.ids.tolist(), strict=True):
        assert set(row[: len(inside)]) == inside
        assert row[len(inside) :] == [i for i in plain_row if i not in inside]


def test_k_is_a_number_or_auto():
    assert rerank.create("gradnet", k=7).params.k == 7
    assert rerank.create("gradnet").params.k == "auto"
    with pytest.raises(BadParameter, match="parameter k is 'many'"):
        rerank.create("gradnet", k="many")


def test_not_fitted():
    with pytest.raises(NotFitted, match="fit"):
        GradNet().rank(GALLERY)


def test_names_and_cards_do_not_import_torch():
    code = (
        "import sys; from foldwalk import rerank, learn; rerank.names(); rerank.describe('gradnet');"
        "learn.GradNet(k=3); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_fitting_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "foldwalk.rerank.learned.gradnet.train", raising=False)
    for name in [m for m in sys.modules if m == "torch" or m.startswith("foldwalk.rerank.learned.gradnet.")]:
        if name == "torch" or name.rsplit(".", 1)[1] in ("train", "network", "losses", "plan", "sparse"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"foldwalk\[learn\]"):
        rerank.create("gradnet").fit(GALLERY)


def test_unknown_names_of_the_package():
    import foldwalk.learn

    with pytest.raises(AttributeError, match="no_such"):
        foldwalk.learn.no_such  # noqa: B018
    assert "GradNet" in dir(foldwalk.learn)
