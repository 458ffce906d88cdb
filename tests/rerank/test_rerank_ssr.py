"""Subgraph similarity refiner: one round by loops; untrained it is plain search; training helps."""

from __future__ import annotations

import numpy as np
import torch

from foldwalk import rerank
from foldwalk.rerank.learned.shared.subgraph import SubgraphRefiner
from samples import clustered

GALLERY, LABELS = clustered(n=90, d=12)
QUERIES, _ = clustered(n=6, d=12, seed=3)


def test_untrained_it_is_plain_search():
    ours = rerank.create("ssr", steps=0, k=20).fit(GALLERY).rank(QUERIES, top=90)
    plain = rerank.create("plain").fit(GALLERY).rank(QUERIES, top=90)
    assert (ours.ids == plain.ids).all()


def test_a_round_reads_the_graph_as_each_member_sees_it():
    torch.manual_seed(0)
    refiner = SubgraphRefiner(members=5, hidden=7, rounds=1)
    torch.nn.init.normal_(refiner.perceptron[-1].weight)
    graph = torch.rand(2, 5, 5)
    graph = (graph + graph.transpose(1, 2)) / 2
    with torch.no_grad():
        ours = refiner(graph).numpy()
        for b in range(2):
            changed = graph[b].numpy().copy()
            for i in range(5):
                order = np.argsort(-graph[b, i].numpy(), kind="stable")
                seen = graph[b].numpy()[np.ix_(order, order)]
                update = refiner.perceptron(torch.from_numpy(seen.ravel())).numpy()
                changed[i, order] += update
            assert np.allclose(ours[b], (changed + changed.T) / 2, atol=1e-5)


def test_training_improves_the_order_of_the_list():
    """Clusters so wide that plain search is often wrong."""
    rng = np.random.default_rng(2)
    labels = np.arange(200) % 8
    items = (np.eye(40)[labels] + 0.2 * rng.normal(size=(200, 40))).astype(np.float32)

    def precision(steps):
        ids = rerank.create("ssr", steps=steps).fit(items).rank_self(top=12).ids
        return (labels[ids] == labels[:, None]).mean()

    assert precision(40) > precision(0) + 0.01
