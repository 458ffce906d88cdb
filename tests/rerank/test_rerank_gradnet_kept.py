"""What GRAD-Net keeps of a training: unseen queries, going on, fewer dimensions."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from foldwalk import rerank
from foldwalk.core import BadInput, Vectors
from foldwalk.learn import GradNet
from foldwalk.neighbors import Searcher, knn_graph
from foldwalk.rerank.kept import Kept
from foldwalk.rerank.learned.gradnet import checkpoint
from foldwalk.rerank.learned.gradnet.inputs import Inputs
from foldwalk.rerank.learned.gradnet.parameters import GradNetParams
from foldwalk.rerank.learned.gradnet.projection import Projection, blocks_of
from foldwalk.rerank.learned.gradnet.saving import FORMAT, read_arrays, write_arrays
from foldwalk.rerank.learned.gradnet.trained import Trained
from samples import clustered

pytest.importorskip("torch")

GALLERY, LABELS = clustered()
QUICK = {"epochs": 3, "layer_sizes": "512,128,64", "anchors": 20, "k": 6, "dimensions": 0, "rounds": 2}
QUERIES = GALLERY[::9] + 0.02


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def naive_round(h0_items, h0_query, weights, affinity, edges, renormalise):
    """Eq. 16 on the joined graph, dense, item by item; the rows of the items are left as they were."""
    n = len(h0_items)
    joined = np.zeros((n + 1, n + 1))
    joined[:n, :n] = affinity
    joined[n, :n] = edges
    degree = affinity.sum(axis=1) + renormalise
    own = edges.sum() + renormalise
    s = np.zeros((n + 1, n + 1))
    for i in range(n):
        for j in range(n):
            if affinity[i, j]:
                s[i, j] = affinity[i, j] / np.sqrt(degree[i] * degree[j])
        if edges[i]:
            s[n, i] = edges[i] / np.sqrt(own * (degree[i] + edges[i]))
    loop = np.append(1 / degree, 1 / own) if renormalise else np.ones(n + 1)
    h = np.vstack([h0_items, h0_query[None]]).astype(np.float64)
    outputs = [unit(h)]
    for layer, first in enumerate(weights.first):
        one_step = s @ h
        total = (loop[:, None] * h + one_step) @ first
        if weights.second:
            total += s @ (one_step * h) @ weights.second[layer]
        h = unit(np.where(total > 0, total, 0.01 * total))
        outputs.append(h)
    return unit(np.hstack(outputs))


def with_share(layers, inputs, share):
    """Layers side by side, of which the first `inputs` numbers shall have that share of the squares."""
    own, learned = layers[..., :inputs], layers[..., inputs:]
    return np.concatenate([np.sqrt(share) * unit(own), np.sqrt(1 - share) * unit(learned)], axis=-1)


@pytest.mark.parametrize(
    "changed", [{}, {"second_order": False}, {"renormalise": True}, {"kernel": "gaussian", "rounds": 1}]
)
def test_a_query_goes_forward_as_the_equations_say(changed):
    net = GradNet(**{**QUICK, **changed}).fit(GALLERY)
    params, trained, items = net.params, net.trained, net.vectors
    queries = Vectors.check(QUERIES).unit()
    h0_items, h0_queries = trained.inputs.place(items), trained.inputs.place(queries)
    expected = [[] for _ in queries.values]
    space, asked = items.values, queries.values
    for trained_round in trained.rounds:
        neighbors = knn_graph(Vectors(space), 6)
        distance = np.sqrt(np.maximum(2 - 2 * space @ space.T, 0))
        median = np.median(neighbors.squared_distances())

        def kernel(d, median=median):
            return np.exp(-(d**2) / median) if params.kernel == "gaussian" else 1 / (1 + d)

        mutual = np.zeros(distance.shape, bool)
        for i, row in enumerate(neighbors.ids):
            mutual[i, row] = [i in neighbors.ids[j] for j in row]
        affinity = np.where(mutual, kernel(distance), 0)
        rows = []
        for q, query in enumerate(asked):
            similar = space @ query
            edges = np.zeros(len(space))
            for j in np.argsort(-similar)[:6]:
                if similar[j] >= neighbors.similarities[j, 5]:
                    edges[j] = kernel(np.sqrt(max(2 - 2 * similar[j], 0)))
            every = naive_round(
                h0_items, h0_queries[q], trained_round.weights, affinity, edges, params.renormalise
            )
            rows.append(every[-1])
            expected[q].append(with_share(every[-1:], h0_items.shape[1], 1 / (1 + 0.4**2))[0])
        space, asked = every[:-1].astype(np.float32), np.array(rows, np.float32)
    whole = unit(np.array([np.hstack(parts) for parts in expected]))
    assert np.allclose(net.transform(QUERIES), whole, atol=1e-4 if params.rounds == 2 else 1e-5)
    # The items pass the same way: what was learned is what the weights give.
    width = net.features.shape[1] // params.rounds
    items = with_share(every[:-1], h0_items.shape[1], 1 / (1 + 0.4**2))  # 120 of them
    assert np.allclose(unit(net.features[:, -width:]), items, atol=1e-4)


def test_loading_and_unseen_queries_need_no_torch(tmp_path):
    net = GradNet(**QUICK).fit(GALLERY)
    net.save(tmp_path / "net.safetensors")
    np.save(tmp_path / "queries.npy", QUERIES)
    code = (
        "import sys; sys.modules['torch'] = None; import numpy as np; from foldwalk.learn import GradNet;"
        "net = GradNet.load('net.safetensors');"
        "np.save('found.npy', net.transform(np.load('queries.npy')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert np.load(tmp_path / "found.npy").tobytes() == net.transform(QUERIES).tobytes()


def test_the_method_keeps_what_the_network_keeps(tmp_path):
    method = rerank.create("gradnet", **QUICK).fit(GALLERY)
    again = rerank.load(rerank.save(method, tmp_path / "net.npz"))
    before, after = method.rank(QUERIES, 20), again.rank(QUERIES, 20)
    assert before.ids.tobytes() + before.scores.tobytes() == after.ids.tobytes() + after.scores.tobytes()
    net = GradNet(**QUICK).fit(GALLERY)
    assert np.array_equal(net.rank(QUERIES, 20).ids, before.ids)


def test_a_file_of_the_first_format_still_opens(tmp_path):
    from safetensors.numpy import save_file

    net = GradNet(**QUICK, unseen="expand").fit(GALLERY)
    parameters = {n: v for n, v in net.params.model_dump().items() if n not in ("unseen", "dimensions")}
    facts = json.dumps({"parameters": parameters, "seed": 0, "k": 6})
    arrays = {"vectors": net.vectors.values, "features": net.features}
    save_file(arrays, tmp_path / "old.safetensors", {"format": "foldwalk gradnet 1", "facts": facts})
    old = GradNet.load(tmp_path / "old.safetensors")
    assert np.array_equal(old.transform(QUERIES), net.transform(QUERIES))  # by expansion
    with pytest.raises(BadInput, match="without its weights"):
        GradNet(**QUICK).fit(GALLERY, start=old)


def test_the_share_of_the_vectors_is_kept(tmp_path):
    """Before it was, few items did not count; a file says what its features were made with."""
    net = GradNet(**QUICK).fit(GALLERY)
    state = net.trained.state()

    def share_of(arrays):
        return Trained.restore(Kept(arrays), net.params, net.vectors).share

    assert share_of(state) == net.trained.share > 0.8
    assert share_of({name: a for name, a in state.items() if name != "share/own"}) == 0.25
    net.trained.share = 1.5
    with pytest.raises(BadInput, match="share/own"):
        GradNet.load(net.save(tmp_path / "altered.safetensors"))


def test_the_order_of_the_gallery_does_not_matter():
    shuffle = np.random.default_rng(0).permutation(len(GALLERY))
    one, two = GradNet(**QUICK).fit(GALLERY), GradNet(**QUICK).fit(GALLERY[shuffle])
    assert np.array_equal(one.features[shuffle], two.features)
    assert np.allclose(one.transform(QUERIES), two.transform(QUERIES), atol=1e-6)


def test_training_goes_on_from_weights():
    first = GradNet(**QUICK).fit(GALLERY[:100])
    still = GradNet(**{**QUICK, "epochs": 0}).fit(GALLERY[:100], start=first)
    assert np.array_equal(still.features, first.features)  # no epoch, the same network
    # Items that were added get what they would get as queries, but for their share in the others' rows.
    more = GradNet(**{**QUICK, "epochs": 0}).fit(GALLERY, start=first)
    assert more.features.shape == (len(GALLERY), first.features.shape[1])
    like_queries = np.einsum("ij,ij->i", more.features[100:], first.transform(GALLERY[100:]))
    assert like_queries.mean() > 0.9
    tuned = GradNet(**{**QUICK, "epochs": 1}).fit(GALLERY, start=first)
    assert not np.array_equal(tuned.features, more.features)
    with pytest.raises(BadInput, match="anchors=20, but anchors is 10: take the same"):
        GradNet(**{**QUICK, "anchors": 10}).fit(GALLERY, start=first)
    with pytest.raises(BadInput, match="reads 16 dimensions, not 15"):
        GradNet(**QUICK).fit(GALLERY[:, :15], start=first)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("last", [1, 2, 3, 5])
def test_an_interrupted_training_ends_with_the_same_bytes(tmp_path, last, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 1e9)
    settings = {**QUICK, "rounds": 2, "batch": 32}

    def stop(epoch):
        if epoch.number == last:
            raise Stopped

    file = tmp_path / "kept.safetensors"
    with pytest.raises(Stopped):
        GradNet(**settings).fit(GALLERY, checkpoint=file, listener=stop)
    heard = []
    shuffled = np.random.default_rng(1).permutation(len(GALLERY))
    resumed = GradNet(**settings).fit(GALLERY[shuffled], checkpoint=file, listener=heard.append)
    assert [epoch.number for epoch in heard] == list(range(last + 1, 7))
    whole = GradNet(**settings).fit(GALLERY)
    assert resumed.features.tobytes() == whole.features[shuffled].tobytes()
    for other in ({"seed": 1}, {"epochs": 4}):
        with pytest.raises(BadInput, match="checkpoint of another training"):
            GradNet(**{**settings, **other}).fit(GALLERY, checkpoint=file)
    with pytest.raises(BadInput, match="checkpoint of another training"):
        GradNet(**settings).fit(GALLERY[:-1], checkpoint=file)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(BadInput, match="not a checkpoint of GRAD-Net"):
        GradNet(**settings).fit(GALLERY, checkpoint=file)


def test_projected_features_are_those_of_the_singular_vectors():
    rng = np.random.default_rng(0)
    features = unit(rng.normal(size=(90, 40)) * np.linspace(3, 0.1, 40)).astype(np.float32)
    projection = Projection.learn(blocks_of(features, rows=7), 12)
    _, _, axes = np.linalg.svd(features.astype(np.float64))
    expected = unit(features @ axes[:12].T)
    found = projection.place(features)
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    assert np.array_equal(projection.axes, Projection.learn(blocks_of(features, rows=7), 12).axes)
    wide = np.hstack([features @ rng.normal(size=(40, 400)) for _ in range(3)]).astype(np.float32)
    quick = Projection.learn(blocks_of(wide), 30)  # by random projection
    _, _, axes = np.linalg.svd(wide.astype(np.float64), full_matrices=False)
    expected = unit(wide @ axes[:30].T)
    assert np.allclose(quick.place(wide) @ quick.place(wide).T, expected @ expected.T, atol=1e-3)
    few = Projection.learn([features[:5]], 12)
    assert few.axes.shape == (40, 5)  # five items extend in five directions
    assert np.allclose(
        few.place(features[:5]) @ few.place(features[:5]).T, features[:5] @ features[:5].T, atol=1e-5
    )


def test_dimensions_of_features_and_queries(tmp_path):
    wide, narrow = (GradNet(**{**QUICK, "dimensions": d}).fit(GALLERY) for d in (0, 32))
    assert narrow.features.shape == (len(GALLERY), 32)
    assert np.allclose(np.linalg.norm(narrow.features, axis=1), 1, atol=1e-5)
    kept = wide.features @ wide.features.T - narrow.features @ narrow.features.T
    assert np.abs(kept).mean() < 0.03
    again = GradNet.load(narrow.save(tmp_path / "narrow.safetensors"))
    assert again.transform(QUERIES).shape == (len(QUERIES), 32)
    assert np.array_equal(again.transform(QUERIES), narrow.transform(QUERIES))
    cosines = np.einsum("qi,ni->qn", wide.transform(QUERIES), wide.features)
    assert np.abs(cosines - narrow.transform(QUERIES) @ narrow.features.T).mean() < 0.03


def test_later_vectors_are_placed_as_the_others_were():
    rng = np.random.default_rng(0)
    wide = Vectors.check(rng.normal(size=(30, 50))).unit()  # more dimensions than items
    inputs = Inputs.learn(wide, GradNetParams(anchors=8), seed=0)
    again = Inputs.restore(Kept(inputs.state()), GradNetParams(anchors=8), 50)
    assert np.array_equal(again.place(wide), inputs.place(wide))
    few = Vectors(wide.values[3:5])
    assert np.allclose(inputs.place(few), inputs.place(wide)[3:5], atol=1e-6)
    points = Vectors.check(rng.normal(size=(30, 3)))
    lifted = Inputs.learn(points, GradNetParams(metric="euclidean", anchors=8), seed=0)
    kept = Inputs.restore(Kept(lifted.state()), GradNetParams(metric="euclidean", anchors=8), 3)
    assert np.array_equal(kept.place(points), lifted.place(points))


def test_found_items_reach_the_query_through_the_searcher():
    """`unseen` takes more neighbours than it needs, and a query without any has its own features."""
    net = GradNet(**QUICK).fit(GALLERY)
    queries = Vectors.check(QUERIES).unit()
    some, more = (Searcher(net.vectors).search(queries, k) for k in (6, 9))
    assert np.array_equal(net.unseen(queries, some).values, net.unseen(queries, more).values)
    nothing = net.transform(np.zeros((1, GALLERY.shape[1])))
    assert not nothing.any()


def test_a_network_whose_file_was_altered_is_refused(tmp_path):
    path = GradNet(**QUICK).fit(GALLERY).save(tmp_path / "net.safetensors")
    arrays, facts = read_arrays(path, (FORMAT,), "a network")
    shorter = {name: (arrays[name][:-1], facts) for name in arrays if arrays[name].ndim}
    not_finite = {
        name: (np.full_like(arrays[name], np.nan), facts) for name in ("features", "round0/messages")
    }
    for name, (array, told) in (shorter | not_finite).items():
        write_arrays(path, arrays | {name: array}, told, FORMAT)
        with pytest.raises(BadInput, match=r"net.safetensors is not a GRAD-Net saved by foldwalk: .*\.$"):
            GradNet.load(path)
    for wrong in (
        {"k": 10**9},
        {"k": "5"},
        {"k": [1]},
        {"scale": 0},
        {"scale": "x"},
        {"seed": []},
        {"parameters": 3},
    ):
        write_arrays(path, arrays, facts | wrong, FORMAT)
        with pytest.raises(BadInput, match="is not a GRAD-Net saved by foldwalk"):
            GradNet.load(path)


def test_a_checkpoint_that_was_altered_is_refused(tmp_path):
    file, settings = tmp_path / "half.safetensors", {**QUICK, "epochs": 3}

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GradNet(**settings).fit(GALLERY, checkpoint=file, listener=stop)
    arrays, facts = read_arrays(file, (checkpoint.FORMAT,), "a checkpoint")
    trainer = facts["trainer"]
    altered = [
        (arrays, facts | {"rounds": 10**12}),
        (arrays, facts | {"trainer": [1]}),
        (arrays, facts | {"trainer": {}}),
        (arrays, facts | {"trainer": trainer | {"random": [{}, {}]}}),
        (arrays, facts | {"trainer": trainer | {"epochs": "many"}}),
        (arrays | {"current/first.0": np.zeros((2, 2), np.float32)}, facts),
        (arrays | {"current/adam0.exp_avg": np.zeros((2, 2), np.float32)}, facts),
    ]
    for others, told in altered:
        write_arrays(file, others, told, checkpoint.FORMAT)
        with pytest.raises(BadInput, match=r"half.safetensors is a damaged checkpoint of GRAD-Net.*\.$"):
            GradNet(**settings).fit(GALLERY, checkpoint=file)
