"""Configurations, whole trainings, the exported model as a backbone, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from foldwalk.cli.train import train as train_command
from foldwalk.cli.train_model import show_history
from foldwalk.core import BadInput, MissingData, UnknownName
from foldwalk.descriptors import backbone
from foldwalk.descriptors.networks.shared.lite0_maps import lite0
from foldwalk.learn.trainer.config import Config, make_config, parse_config, read_config, shipped
from foldwalk.learn.trainer.export import PictureModel, export_onnx
from foldwalk.learn.trainer.inputs import split, split_groups
from foldwalk.learn.trainer.job import run_job
from foldwalk.learn.trainer.lite0 import FirstBlocks, LastBlocks, activations, pooled, random_cut
from foldwalk.learn.trainer.models import HeadSpec, JoinedHeads, make_conv_net, make_head


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def pictures() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 255, (90, 120, 3), dtype=np.uint8)) for _ in range(3)]


@pytest.fixture
def features_root(tmp_path):
    """A data set `toy` of 8 classes with 1280 features each, in the layout foldwalk reads."""
    rng = np.random.default_rng(0)
    labels = np.repeat([f"{group}/{c}" for group in "abcd" for c in "xy"], 12)
    centres = {label: rng.normal(size=1280) for label in labels}
    x = np.stack([centres[label] + 2 * rng.normal(size=1280) for label in labels]).astype(np.float32)
    (tmp_path / "features").mkdir()
    np.savez(tmp_path / "features" / "toy_made.npz", x=x, labels=labels)
    return tmp_path


def test_shipped_configurations_can_be_read():
    assert {"cub-mom-paper", "cub-edms-paper", "cub-cgml-paper", "cub-cgml-finetune", "cub-pml"} <= set(
        shipped()
    )
    for name in shipped():
        assert isinstance(read_config(name), Config)
    paper = read_config("cub-mom-paper")
    assert (paper.training.learning_rate, paper.mom.margin, paper.mom.miner["graph_k"]) == (0.01, 0.5, 30)


def test_wrong_configurations_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(BadInput, match=r"training\.epochs"):
        parse_config("[training]\nepochs = -1")
    with pytest.raises(BadInput, match=r"model\.sise"):
        parse_config("[model]\nsise = 3")
    with pytest.raises(BadInput, match=r"no section mum; there are data, model, training, .*mom"):
        parse_config("[mum]\nmargin = 1")
    with pytest.raises(BadInput, match=r"mom\.margin: input should be greater than 0"):
        parse_config("[mom]\nmargin = 0")
    with pytest.raises(BadInput, match="not TOML"):
        parse_config("[model")
    with pytest.raises(MissingData):
        read_config(tmp_path / "no.toml")
    with pytest.raises(UnknownName, match="cub-pml"):
        read_config("nonsense")


def test_blocks_learn_slower_than_their_head_unless_told_otherwise():
    told = parse_config('[model]\nkind = "last_blocks"\n[training]\nepochs = 7').training
    assert (told.epochs, told.learning_rate, told.head_rate) == (7, 3e-5, 33.0)
    assert parse_config('[model]\nkind = "linear"').training == make_config({}).training
    own = parse_config('[model]\nkind = "last_blocks"\n[training]\nlearning_rate = 0.1').training
    assert own.learning_rate == 0.1
    with pytest.raises(BadInput, match="training"):
        parse_config('training = 3\n[model]\nkind = "last_blocks"')


TOY = """
[data]
train = "toy"
test = ""
[model]
dim = 8
[training]
epochs = 2
learning_rate = 1e-3
clustering = false
[mom.miner]
graph_k = 6
positive_k = 8
negative_k = 12
[edms]
meta_classes = 4
members = {members}
[cgml]
classes = 4
per_class = 4
[pml]
loss = "triplet"
classes = 4
per_class = 4
"""


@pytest.mark.parametrize("method", ["mom", "edms", "cgml", "pml"])
def test_every_method_trains_from_a_configuration(features_root, method):
    history = run_job(method, parse_config(TOY.format(members=1)), None, features_root).history
    assert [row["epoch"] for row in history] == [0, 1, 2]
    assert 0 < history[-1]["R@1"] <= 1


def test_groups_are_not_shared_between_training_and_test(features_root):
    train, test = split(parse_config(TOY.format(members=1)), features_root)
    assert len(train.labels) == len(test.labels) == 48
    assert len(np.unique(train.labels)) == 4
    inside, outside = split_groups(np.array(["a/x", "b/y", "a/z", "c/x"]))
    assert len(inside) + len(outside) == 4
    with pytest.raises(BadInput, match="one group"):
        split_groups(np.array(["a/x", "a/y"]))


def test_whole_groups_are_held_out_where_groups_are_tested_on(features_root):
    text = TOY.format(members=1)
    everything = split(parse_config(text), features_root)[0]
    train, held = split(parse_config(text.replace('test = ""', 'test = ""\nheld_out = 0.5')), features_root)
    # Each group has two classes of 12 items; a class's rows stay together.
    place = {row.tobytes(): item // 24 for item, row in enumerate(everything.inputs)}
    groups = [{place[row.tobytes()] for row in part.inputs} for part in (train, held)]
    assert [len(group) for group in groups] == [1, 1]
    assert not groups[0] & groups[1]


def test_ensembles_are_saved_and_measured_member_by_member(features_root, tmp_path):
    trained = run_job("edms", parse_config(TOY.format(members=2)), tmp_path / "out", features_root)
    assert [row["epoch"] for row in trained.history] == [1, 2]
    assert (tmp_path / "out" / "ensemble.safetensors").is_file()
    assert backbone(tmp_path / "out" / "model.onnx").dim == 16


def test_a_head_on_features_becomes_a_backbone(tmp_path, pictures):
    plain = backbone("effnet_lite0")
    features = plain.embed(pictures)
    head = make_head(HeadSpec("linear", 1280, 12), features, "random").eval()
    exported = backbone(export_onnx(PictureModel(head), tmp_path / "model.onnx"))
    with torch.no_grad():
        expected = torch.nn.functional.normalize(head(torch.from_numpy(features))).numpy()
    np.testing.assert_allclose(exported.embed(pictures), expected, atol=2e-4)
    joined = JoinedHeads([head, head], [1.0, 1.0]).eval()
    both = backbone(export_onnx(PictureModel(joined), tmp_path / "both.onnx")).embed(pictures)
    np.testing.assert_allclose(both, np.concatenate([expected, expected], 1) / 2**0.5, atol=2e-4)


@pytest.fixture
def picture_files(tmp_path, pictures) -> list[Path]:
    paths = [tmp_path / f"{number}.png" for number in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        picture.save(path)
    return paths


@pytest.mark.parametrize("first", [8, 11, 12])
def test_first_and_last_blocks_are_the_whole_network(first, tmp_path, pictures, picture_files):
    kept = activations(picture_files, first)
    assert kept.shape == (3, 2, *{8: (80, 14, 14), 11: (112, 14, 14), 12: (192, 7, 7)}[first])
    head = make_head(HeadSpec("linear", 1280, 12), np.eye(1280, dtype=np.float32), "random")
    model = LastBlocks(lite0(), first, head).eval()
    with torch.no_grad():
        features = model.features(torch.from_numpy(np.asarray(kept[:, 0], np.float32))).numpy()
    np.testing.assert_allclose(pooled(kept, first), features, atol=1e-5)
    plain = backbone("effnet_lite0", fit="crop").embed(pictures)
    assert np.corrcoef(features.ravel(), plain.ravel())[0, 1] > 0.9999
    exported = backbone(export_onnx(PictureModel(model, first, fit="crop"), tmp_path / "model.onnx"))
    with torch.no_grad():
        expected = torch.nn.functional.normalize(
            model(torch.from_numpy(np.asarray(kept, np.float32)))
        ).numpy()
    np.testing.assert_allclose(exported.embed(pictures), expected, atol=5e-3)
    assert activations(picture_files, first).tobytes() == kept.tobytes()


def test_views_are_the_picture_its_mirror_image_and_cuts(tmp_path, pictures, picture_files):
    kept = activations(picture_files, 15, size=96, fit="squash", views=4)
    assert kept.shape == (3, 4, 192, 3, 3)
    turned = tmp_path / "turned.png"
    pictures[1].transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(turned)
    again = activations([turned], 15, size=96, fit="squash", views=2)
    np.testing.assert_array_equal(kept[1, :2], again[0, ::-1])
    flat = kept.reshape(12, -1)
    assert len(np.unique(flat, axis=0)) == 12


def test_activations_are_those_of_the_file_however_its_path_is_written(monkeypatch, picture_files):
    folder = picture_files[0].parent
    absolute = activations(picture_files, 15, size=64, views=1)
    monkeypatch.chdir(folder)
    relative = activations([Path(path.name) for path in picture_files], 15, size=64, views=1)
    assert relative.filename == absolute.filename
    Image.new("RGB", (40, 30)).save(picture_files[0])
    changed = activations(picture_files, 15, size=64, views=1)
    assert not np.array_equal(changed[0], absolute[0])
    np.testing.assert_array_equal(changed[1:], absolute[1:])


def test_what_a_killed_process_left_behind_goes_after_a_day(picture_files):
    activations(picture_files, 15, size=64, views=1)
    cache = Path(activations(picture_files, 15, size=64, views=1).filename).parent
    old, new = cache / "activations-0.part-1.npy", cache / "activations-0.part-2.npy"
    for part in (old, new):
        part.write_bytes(b"")
    os.utime(old, (0, 0))
    activations(picture_files[:2], 15, size=64, views=1)
    assert new.is_file()
    assert not old.exists()
    new.unlink()


def test_pictures_that_are_not_there_are_named(tmp_path):
    with pytest.raises(MissingData, match=r"none.png cannot be read"):
        activations([tmp_path / "none.png"], 15, size=64)


def test_features_are_kept_beside_the_maps_of_whole_files_only(picture_files):
    maps = activations(picture_files, 15, size=64)
    first = pooled(maps, 15)
    file = Path(maps.filename).with_suffix(".features.npy")
    np.save(file, first + 1)
    np.testing.assert_array_equal(pooled(maps, 15), first + 1)
    np.testing.assert_allclose(pooled(maps[:2], 15), first[:2], atol=1e-5)
    file.unlink()


def test_cuts_keep_their_share_and_vary():
    picture = Image.fromarray(np.arange(120 * 80 * 3, dtype=np.uint32).astype(np.uint8).reshape(80, 120, 3))
    rng = np.random.default_rng(0)
    sizes = np.array([random_cut(picture, rng).size for _ in range(200)])
    shares = sizes.prod(axis=1) / (120 * 80)
    assert 0.38 < shares.min() < 0.45
    assert 0.9 < shares.max() <= 1
    assert len(np.unique(sizes[:, 0] / sizes[:, 1])) > 100
    same = [np.asarray(random_cut(picture, np.random.default_rng(3))) for _ in range(2)]
    np.testing.assert_array_equal(*same)


def test_training_draws_views_and_leaves_depthwise_kernels():
    network = lite0()
    model = LastBlocks(
        network, 15, make_head(HeadSpec("linear", 1280, 4), np.eye(1280, dtype=np.float32), "random")
    )
    views = torch.randn(9, 3, 192, 7, 7, generator=torch.Generator().manual_seed(0))
    model.train()
    torch.manual_seed(0)
    drawn = model(views)
    drawn.square().sum().backward()
    assert {name for name, p in model.named_parameters() if p.grad is None} == {
        "blocks.0._depthwise_conv.weight",
        "blocks.0._depthwise_conv.bias",
    }
    model.eval()
    each = [model(views[:, view]).detach() for view in range(3)]
    which = [
        [torch.allclose(d, e[row], atol=1e-4) for e in each].index(True)
        for row, d in enumerate(drawn.detach())
    ]
    assert set(which) == {0, 1, 2}
    assert torch.equal(model(views), each[0])
    assert FirstBlocks(network, 15)(torch.zeros(1, 3, 224, 224)).shape == (1, 192, 7, 7)


def test_a_small_network_becomes_a_backbone(tmp_path):
    net = make_conv_net(8).eval()
    path = export_onnx(PictureModel(net, side=28), tmp_path / "net.onnx")
    grey = np.random.default_rng(0).integers(0, 255, (28, 28), dtype=np.uint8)
    with torch.no_grad():
        expected = torch.nn.functional.normalize(
            net(torch.from_numpy(1 - grey[None, None] / 255).float())
        ).numpy()
    found = backbone(path).embed([Image.fromarray(grey)])
    np.testing.assert_allclose(found, expected, atol=1e-3)
    with pytest.raises(BadInput, match=r"\.onnx"):
        export_onnx(PictureModel(net, side=28), tmp_path / "net.pt")
    with pytest.raises(BadInput, match="cannot be exported"):
        PictureModel(torch.nn.Linear(3, 3))


def test_the_command(features_root, tmp_path):
    from foldwalk.cli.train import train

    config = tmp_path / "toy.toml"
    config.write_text(TOY.format(members=1))
    program = "import sys, typer; from foldwalk.cli.train import train; typer.run(train)"
    out = tmp_path / "out"
    options = ["--config", config, "--out", out, "--epochs", "1", "--root", features_root, "--json"]
    run = subprocess.run(
        [sys.executable, "-c", program, "cgml", *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert [row["epoch"] for row in json.loads(run.stdout)["history"]] == [0, 1]
    assert {"log.csv", "checkpoint.pt", "model.onnx"} <= {path.name for path in out.iterdir()}
    with pytest.raises(UnknownName, match="no training 'mon'; did you mean mom"):
        train("mon", tmp_path, config="cub-pml")


def test_the_command_lists_each_measured_epoch_once_within_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    figures = dict.fromkeys(("R@1", "R@2", "R@4", "R@8", "MAP@R", "NMI", "F1"), 0.62345)
    show_history(
        [
            {"epoch": 0},
            {"epoch": 1, "loss": 0.8, "rate": 3e-5},
            {"epoch": 2, "loss": 0.7, "rate": 1.5e-5, **figures},
        ]
    )
    shown = capsys.readouterr().out
    assert shown.count("0.623") == 7
    assert "…" not in shown


def test_a_stopped_command_says_that_it_can_go_on(monkeypatch, tmp_path, capsys):
    def stopped(*told):
        (told[2] / "checkpoint.pt").write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr("foldwalk.learn.trainer.job.run_job", stopped)
    with pytest.raises(KeyboardInterrupt):
        train_command("cgml", tmp_path, config="cub-cgml-finetune")
    assert "goes on after the last whole epoch" in capsys.readouterr().err
