"""The training loop: learning, exact resumption, logs, losses by name."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses

from foldwalk.core import BadInput, BadParameter, UnknownName
from foldwalk.descriptors.whitening import PcaWhitening
from foldwalk.learn.cgml import BinomialDevianceLoss, GraphConsistencyLoss
from foldwalk.learn.edms.recipe import ProxyRecipe
from foldwalk.learn.edms.variants import make_row
from foldwalk.learn.labelled import LabelledRecipe
from foldwalk.learn.loss_names import NAMED, make_loss
from foldwalk.learn.mining import ManifoldMiner
from foldwalk.learn.mining.recipe import MinedRecipe
from foldwalk.learn.trainer.evaluation import evaluate_embedding, split_classes
from foldwalk.learn.trainer.logs import read_log
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.models import HeadSpec, make_conv_net, make_head
from foldwalk.learn.trainer.settings import TrainingSettings


def noisy(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twelve classes told apart by 4 of 24 dimensions; the others are loud noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 12
    x = 1.5 * rng.normal(size=(n, 24))
    x[:, :4] = np.random.default_rng(99).normal(size=(12, 4))[labels] * 3 + 0.4 * rng.normal(size=(n, 4))
    return x.astype(np.float32), labels


def recipe(kind: str, x: np.ndarray, labels: np.ndarray, **options):
    if kind == "mom":
        miner = ManifoldMiner(graph_k=8, positive_k=12, negative_k=20)
        return MinedRecipe(x, miner, tuples=40, **options)
    if kind.startswith("edms"):
        return ProxyRecipe(labels, *make_row(kind.partition(" ")[2] or "full", labels), batch=60)
    return LabelledRecipe(labels, GraphConsistencyLoss(BinomialDevianceLoss(), 0.01), 6, 4)


def trainer(kind: str, folder=None, epochs: int = 4, schedule: str = "step", **options) -> Trainer:
    x, labels = noisy()
    head = make_head(HeadSpec("linear", 24, 8, dropout=0.1), x, seed=1)
    settings = TrainingSettings(
        epochs=epochs, learning_rate=0.01, schedule=schedule, every=2, clustering=False
    )
    made = recipe(kind, x, labels, **options)
    return Trainer(head, x, made, settings, noisy(seed=1), folder)


@pytest.mark.parametrize("kind", ["edms hard", "cgml"])
def test_labels_help(kind):
    made = trainer(kind, epochs=12, schedule="constant")
    history = made.fit()
    assert len(history) == 13
    assert history[-1]["R@1"] > history[0]["R@1"] + 0.05
    assert history[-1]["loss"] < history[1]["loss"]


def test_mining_lowers_its_own_loss():
    history = trainer("mom", epochs=6, hardest=0).fit()
    assert history[-1]["loss"] < history[1]["loss"]


@pytest.mark.parametrize(("kind", "options"), [("mom", {"iterate": 2}), ("edms", {}), ("cgml", {})])
def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(tmp_path, kind, options):
    whole = trainer(kind, tmp_path / "whole", epochs=5, **options)
    whole.fit()
    stopped = trainer(kind, tmp_path / "parts", epochs=5, **options)
    run = stopped._run_epoch
    stopped._run_epoch = lambda tell: (
        run(tell) if stopped.epoch < 3 else (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        stopped.fit()
    again = trainer(kind, tmp_path / "parts", epochs=5, **options)
    again.fit()
    assert again.history == whole.history
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert read_log(tmp_path / "parts" / "log.csv") == read_log(tmp_path / "whole" / "log.csv")


def test_same_seed_same_weights_and_other_seed_other_weights():
    x, labels = noisy()

    def weights(seed: int) -> torch.Tensor:
        head = make_head(HeadSpec("linear", 24, 8, dropout=0.3), x)
        made = LabelledRecipe(labels, BinomialDevianceLoss(), 6, 4, seed)
        Trainer(head, x, made, TrainingSettings(epochs=2, learning_rate=0.01, seed=seed)).fit()
        return head.layers[-1].weight.detach()

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_log_has_a_row_per_epoch(tmp_path):
    made = trainer("cgml", tmp_path, epochs=3)
    made.fit()
    rows = read_log(tmp_path / "log.csv")
    assert [row["epoch"] for row in rows] == [0, 1, 2, 3]
    assert rows[3]["R@1"] == pytest.approx(made.history[3]["R@1"], abs=1e-5)
    assert rows[1]["rate"] == 0.01
    assert rows[3]["rate"] == pytest.approx(0.001)
    assert bool(list(tmp_path.glob("events.*"))) == (importlib.util.find_spec("tensorboard") is not None)


def test_broken_checkpoints_are_refused(tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match="no checkpoint of this training"):
        trainer("cgml", tmp_path).fit()


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    trainer("cgml", tmp_path / "step", epochs=1).fit()
    assert len(trainer("cgml", tmp_path / "step", epochs=2).fit()) == 3
    with pytest.raises(BadInput, match="its schedule was step, not constant; remove it"):
        trainer("cgml", tmp_path / "step", schedule="constant").fit()
    trainer("cgml", tmp_path / "cosine", epochs=1, schedule="cosine").fit()
    with pytest.raises(BadInput, match="its epochs was 1, not 2"):
        trainer("cgml", tmp_path / "cosine", epochs=2, schedule="cosine").fit()


def test_what_a_loss_learns_is_trained_and_saved(tmp_path):
    x, labels = noisy()
    loss = make_loss("proxy_nca", None, 12, 8)
    before = loss.proxies.detach().clone()
    assert torch.equal(before, make_loss("proxy_nca", None, 12, 8).proxies)
    assert not torch.equal(before, make_loss("proxy_nca", None, 12, 8, seed=1).proxies)
    made = Trainer(
        make_head(HeadSpec("linear", 24, 8), x),
        x,
        LabelledRecipe(labels, loss, 6, 4),
        TrainingSettings(epochs=1),
        None,
        tmp_path,
    )
    made.fit()
    assert not torch.equal(before, loss.proxies)
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert torch.equal(state["recipe"]["module"]["proxies"], loss.proxies)


def test_whitened_head_begins_as_whitening():
    x, _ = noisy()
    head = make_head(HeadSpec("linear", 24, 8), x, shrinkage=0.5)
    mine = torch.nn.functional.normalize(head(torch.from_numpy(x))).detach().numpy()
    np.testing.assert_allclose(mine, PcaWhitening(8, 0.5).fit(x).transform(x), atol=2e-5)
    with pytest.raises(BadParameter, match="mlp"):
        make_head(HeadSpec("mlp", 24, 8), x)
    with pytest.raises(BadParameter, match="no axes to choose"):
        make_head(HeadSpec("linear", 24, 8), x, shrinkage=1.0)
    assert make_head(HeadSpec("mlp", 24, 8), x, "random")(torch.from_numpy(x)).shape == (240, 8)


def test_small_network_takes_grey_pictures():
    net = make_conv_net(16)
    assert net(torch.zeros(2, 1, 28, 28)).shape == (2, 16)
    with pytest.raises(BadInput, match="grey"):
        net(torch.zeros(2, 3, 28, 28))


@pytest.mark.parametrize(
    "name", [*NAMED, "CircleLoss", "NormalizedSoftmaxLoss", "SubCenterArcFaceLoss", "MarginLoss"]
)
def test_losses_by_name(name):
    x = torch.randn(24, 8, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = make_loss(name, None, 6, 8)(x, torch.arange(24) % 6)
    loss.backward()
    assert torch.isfinite(loss)
    assert x.grad.abs().sum() > 0


def test_triplet_of_the_paper_compares_squared_distances():
    x = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]], dtype=torch.float64)
    loss = make_loss("triplet", {"margin": 0.1})
    positive, negative = 0.4**2 + 0.8**2, 0.2**2 + 0.6**2
    other = (0.8 - 0.6) ** 2 * 2
    expected = np.mean([positive - negative + 0.1, positive - other + 0.1])
    assert float(loss(x, torch.tensor([0, 0, 1]))) == pytest.approx(expected)
    assert isinstance(loss, losses.TripletMarginLoss)


def test_unknown_losses_and_options_are_refused():
    with pytest.raises(UnknownName, match="binomial"):
        make_loss("nonsense")
    with pytest.raises(BadParameter, match="wrong"):
        make_loss("triplet", {"wrong": 1})
    with pytest.raises(BadParameter, match="sgd"):
        TrainingSettings(optimiser="lion")


def test_evaluation_by_hand():
    figures = evaluate_embedding([[1, 0], [2, 0.1], [0, 1], [0.1, 1], [1, 0.9]], [0, 0, 1, 1, 0])
    # Item 4 lies nearest to 1 of its own class; everyone else finds its fellow at once.
    assert figures["R@1"] == 1.0
    assert figures["MAP@R"] == pytest.approx((1 + 1 + 1 + 1 + (1 + 0) / 2) / 5, abs=0.11)
    assert set(figures) == {"R@1", "R@2", "R@4", "R@8", "MAP@R", "R-precision", "NMI", "F1"}
    with pytest.raises(BadInput, match="2 labels for 3"):
        evaluate_embedding(np.eye(3), [0, 1])


def test_held_out_classes_are_whole():
    labels = np.repeat(np.arange(10), 4)
    train, held = split_classes(labels, 0.3, seed=2)
    assert len(np.unique(labels[held])) == 3
    assert not set(labels[train].tolist()) & set(labels[held].tolist())
    assert sorted([*train.tolist(), *held.tolist()]) == list(range(40))
    with pytest.raises(BadInput):
        split_classes(labels, 0.0)


def test_a_head_takes_features_to_a_power_and_sees_a_share():
    x, _ = noisy()
    rooted = make_head(HeadSpec("linear", 24, 8, power=0.5), x)
    by_hand = make_head(HeadSpec("linear", 24, 8), np.sign(x) * np.sqrt(np.abs(x)))
    inputs = torch.from_numpy(x)
    torch.testing.assert_close(rooted(inputs), by_hand(inputs.sign() * inputs.abs().sqrt()))
    half, other = (make_head(HeadSpec("linear", 24, 8, share=0.5), x, seed=seed) for seed in (1, 2))
    assert len(half.chosen) == 12
    assert half.chosen.tolist() != other.chosen.tolist()
    unseen = torch.ones(24, dtype=torch.bool)
    unseen[half.chosen] = False
    torch.testing.assert_close(half(inputs.masked_fill(unseen, 7.0)), half(inputs))
    with pytest.raises(BadParameter, match="power"):
        make_head(HeadSpec("linear", 24, 8, share=0.0), x)


class Looking(LabelledRecipe):
    """Keeps what it is told of the training items' embedding."""

    def begin_epoch(self, epoch, embed):  # noqa: ARG002
        self.seen = embed()


def test_recipes_see_items_as_training_does_however_fast_the_network_changes():
    rng = np.random.default_rng(0)
    pictures, labels = rng.random((64, 1, 28, 28), dtype=np.float32) + 3, np.arange(64) % 8
    recipe = Looking(labels, make_loss("binomial"), 4, 4)
    made = Trainer(make_conv_net(8), pictures, recipe, TrainingSettings(epochs=1, evaluate_every=0))
    stale = made.embed()
    made.model.train()
    with torch.no_grad():
        training = torch.nn.functional.normalize(made.model(torch.from_numpy(pictures))).numpy()
    momentum = made.model.blocks[1].momentum
    made.fit()
    assert (stale * training).sum(1).mean() < 0.9
    assert (recipe.seen * training).sum(1).mean() > 0.99
    assert made.model.blocks[1].momentum == momentum
