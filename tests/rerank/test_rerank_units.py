"""What is no registered method and yet ranks by Euclidean distances: its unit does not matter, either."""

from __future__ import annotations

import json

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.learn import ManifoldMiner
from foldwalk.rerank.diffusion.regional import RegionalDFS
from foldwalk.rerank.expansion.shared import base
from foldwalk.rerank.learned.csa import CSA
from foldwalk.rerank.learned.gradnet import GradNet
from samples import clustered

POINTS, LABELS = clustered(n=80, d=8)
POINTS = 2 * POINTS + 1
QUERIES = 2 * clustered(n=6, d=8, seed=1)[0] + 1
UNITS = (1e-12, 1e12)


def test_grad_net(tmp_path):
    wanted = GradNet(metric="euclidean", epochs=2, seed=1).fit(POINTS)
    for unit in UNITS:
        net = GradNet(metric="euclidean", epochs=2, seed=1).fit(unit * POINTS)
        again = GradNet.load(net.save(tmp_path / "net.safetensors"))
        for trained in (net, again):
            assert (trained.rank(unit * QUERIES, 10).ids == wanted.rank(QUERIES, 10).ids).mean() > 0.97
            assert np.allclose(trained.transform(unit * QUERIES), wanted.transform(QUERIES), atol=1e-3)


def test_regions():
    def ranked(unit):
        regional = RegionalDFS(metric="euclidean").fit(unit * POINTS, owners=np.arange(80) // 4)
        asked = regional.rank([unit * QUERIES[:3], unit * QUERIES[3:]], top=20)
        return np.concatenate([asked.ids, regional.rank_self(top=19).ids[:, :10].repeat(2, axis=1)])

    for unit in UNITS:
        assert (ranked(unit) == ranked(1)).mean() > 0.99


def test_mined_pools():
    sizes = {"graph_k": 8, "positive_k": 10, "negative_k": 20}
    wanted = ManifoldMiner(metric="euclidean", **sizes).fit(POINTS).pools
    for unit in UNITS:
        pools = ManifoldMiner(metric="euclidean", **sizes).fit(unit * POINTS).pools
        assert (pools.positives == wanted.positives).mean() > 0.99
        assert (pools.negatives == wanted.negatives).mean() > 0.99


def test_a_network_that_was_taught_elsewhere():
    def ranked(taught_in, unit):
        method = CSA(metric="euclidean", k=10, steps=2).learn(taught_in * POINTS, LABELS)
        return method.fit(unit * POINTS).rank(unit * QUERIES, top=10).ids

    assert (ranked(1e6, 1e-9) == ranked(1, 1)).mean() > 0.97


@pytest.mark.parametrize("name", ["aqe", "alpha_qe"])
def test_expanded_queries_stay_in_the_scale_of_the_gallery(name, monkeypatch):
    seen = []
    monkeypatch.setattr(base, "prepare", lambda *given: seen.append(given) or given[0])
    method = rerank.create(name, metric="euclidean", dba=True).fit(1e6 * POINTS)
    method.rank(1e6 * QUERIES)
    assert {(vectors.scale, scale) for vectors, _, scale in seen} == {(method.vectors.scale,) * 2}


def test_a_file_of_an_earlier_version_is_read_in_the_unit_of_its_vectors(tmp_path):
    path = rerank.save(rerank.create("dfs", metric="euclidean").fit(POINTS), tmp_path / "fitted.npz")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    scale = header.pop("scale")
    arrays["header"] = np.array(json.dumps(header))
    np.savez(path, **arrays)
    old = rerank.load(path)
    assert old.vectors.scale == 1
    assert (
        old.rank(QUERIES / scale).ids
        == rerank.create("dfs", metric="euclidean").fit(POINTS).rank(QUERIES).ids
    ).mean() > 0.99
