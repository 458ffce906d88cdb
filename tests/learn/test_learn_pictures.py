"""Training on pictures that are read as they are needed: any network, in part or as a whole."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from foldwalk.core import BadInput, MissingExtra
from foldwalk.descriptors import backbone, load_picture, networks
from foldwalk.descriptors.networks import Preprocessing
from foldwalk.learn.trainer import pictures as reading
from foldwalk.learn.trainer.augment import Augment, augmented
from foldwalk.learn.trainer.config import make_config
from foldwalk.learn.trainer.inputs import split
from foldwalk.learn.trainer.job import run_job
from foldwalk.learn.trainer.loop import Trainer
from foldwalk.learn.trainer.making import make_model
from foldwalk.learn.trainer.optimiser import make_optimiser
from foldwalk.learn.trainer.pictures import PictureFiles
from tiny_models import save

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Eight classes of six small pictures, each class with a colour of its own; two networks beside them."""
    made = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for number in range(8):
        folder = made / "images" / "toy" / f"class{number}"
        folder.mkdir(parents=True)
        colour = rng.integers(40, 215, 3)
        for item in range(6):
            noise = rng.integers(-40, 40, (44, 52, 3))
            kind = "jpg" if item % 2 else "png"
            Image.fromarray((colour + noise).astype(np.uint8)).save(folder / f"{item}.{kind}")
    for family in ("resnet", "vit"):
        save(family, made / family)
    return made


def configured(root: Path, kind: str = "last_blocks", network: str = "resnet", **sections):
    told = {
        "data": {"train": "toy", "test": ""},
        "model": {"kind": kind, "dim": 8, "network": f"hf:{root / network}", **sections.pop("model", {})},
        "training": {
            "epochs": 2,
            "clustering": False,
            "learning_rate": 1e-3,
            "readers": 0,
            **sections.pop("training", {}),
        },
        "pml": {"loss": "contrastive", "classes": 4, "per_class": 2},
        **sections,
    }
    return make_config(told)


def weights(model: torch.nn.Module) -> bytes:
    return b"".join(values.numpy().tobytes() for values in model.state_dict().values())


@pytest.mark.parametrize(
    ("kind", "network", "pooling"),
    [("linear", "resnet", "gem"), ("last_blocks", "resnet", ""), ("whole", "vit", "gem"), ("mlp", "vit", "")],
)
def test_the_exported_model_gives_the_vectors_of_the_trained_one(root, tmp_path, kind, network, pooling):
    init = {"init": "random"} if kind == "mlp" else {}
    config = configured(root, kind, network, model={"pooling": pooling, **init})
    trained = run_job("pml", config, tmp_path / "out", root)
    assert [row["epoch"] for row in trained.history] == [0, 1, 2]
    exported = backbone(tmp_path / "out" / "model.onnx")
    paths = sorted((root / "images" / "toy").glob("*/*"))[::5]
    pictures = [load_picture(path, short_side=exported.short_side) for path in paths]
    seen = networks.load(config.model.network)
    prepared = torch.from_numpy(np.stack([seen.prepare(picture) for picture in pictures]))
    with torch.no_grad():
        model = trained.model.eval()
        found = model(seen.vectors(prepared, pooling or None) if kind in ("linear", "mlp") else prepared)
    expected = torch.nn.functional.normalize(found).numpy()
    assert len(np.unique(expected.round(4), axis=0)) == len(paths)
    np.testing.assert_allclose(exported.embed(pictures), expected, atol=1e-4)


def test_a_stopped_run_goes_on_to_the_same_bytes_whoever_reads_the_pictures(root, tmp_path, monkeypatch):
    augment = {"rotation": 20, "jitter": 0.3}
    whole = run_job("pml", configured(root, augment=augment), None, root)
    run = Trainer._run_epoch

    def stopped(self, advance):
        if self.epoch == 1:
            raise KeyboardInterrupt
        return run(self, advance)

    monkeypatch.setattr(Trainer, "_run_epoch", stopped)
    config = configured(root, augment=augment, training={"readers": 2})
    with pytest.raises(KeyboardInterrupt):
        run_job("pml", config, tmp_path / "out", root)
    monkeypatch.setattr(Trainer, "_run_epoch", run)
    again = run_job("pml", config, tmp_path / "out", root)
    assert weights(again.model) == weights(whole.model)
    assert again.history == whole.history
    with pytest.raises(BadInput, match=r"its augment\.jitter was 0\.3, not 0\.0"):
        run_job("pml", configured(root, augment={"rotation": 20}), tmp_path / "out", root)
    with pytest.raises(BadInput, match=r"its model\.network was hf:.*resnet, not hf:.*vit"):
        run_job("pml", configured(root, network="vit", augment=augment), tmp_path / "out", root)


def test_only_what_is_asked_for_learns_each_part_at_its_rate(root):
    config = configured(root, "whole", training={"trunk_rate": 0.1, "head_rate": 10.0})
    train, _ = split(config, root)
    model = make_model(config, train)
    groups = make_optimiser(model, torch.nn.Identity(), config.training).param_groups
    assert [group["lr"] for group in groups] == pytest.approx([1e-3, 1e-4, 1e-2])
    last, trunk, head = ({id(p) for p in group["params"]} for group in groups)
    assert last == {id(p) for p in model.network.blocks[-2].parameters() if p.requires_grad}
    assert trunk == {
        id(p) for block in model.network.blocks[:-2] for p in block.parameters() if p.requires_grad
    }
    assert head == {id(p) for p in model.head.parameters()}
    frozen = make_model(configured(root, "last_blocks"), train)
    learning = {id(p) for p in frozen.network.parameters() if p.requires_grad}
    assert learning == {id(p) for p in frozen.network.blocks[-2].parameters() if p.requires_grad}
    assert learning


def test_a_token_that_is_not_pooled_does_not_wait_for_a_gradient(root):
    config = configured(root, "whole", "vit", model={"pooling": "cls"})
    model = make_model(config, split(config, root)[0])
    model(torch.zeros(2, 32, 32, 3, dtype=torch.uint8)).sum().backward()
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


def test_only_a_batch_is_read_at_a_time(root, monkeypatch):
    opened = []
    monkeypatch.setattr(
        reading, "load_picture", lambda path, **how: opened.append(path) or load_picture(path, **how)
    )
    paths = sorted((root / "images" / "toy").glob("*/*"))
    batches = PictureFiles(paths, Preprocessing(size=32)).for_training(
        1, [(np.arange(4), np.arange(4)), (np.arange(4, 48), np.arange(44))]
    )
    first = next(batches)
    assert (first.shape, first.dtype, opened) == ((4, 32, 32, 3), torch.uint8, paths[:4])


def test_what_is_drawn_depends_on_epoch_batch_and_place_alone(root):
    paths = sorted((root / "images" / "toy").glob("*/*"))[:3]
    files = PictureFiles(paths, Preprocessing(size=32), seed=5)
    same = (np.array([0, 0, 1]), np.array([0, 1, 2]))
    first, second = files.for_training(1, [same, same])
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, second)
    part = (np.array([1]), np.array([2]))  # of another process
    np.testing.assert_array_equal(next(files.for_training(1, [part]))[0], first[2])
    assert not torch.equal(next(files.for_training(2, [same])), first)
    plain = next(files.as_they_are([np.array([0, 1])]))
    np.testing.assert_array_equal(plain[0], Preprocessing(size=32).prepare(load_picture(paths[0])))


def test_each_change_does_what_it_says():
    size = Preprocessing(size=32, fit="squash", mean=(0.0, 0.0, 0.0))
    grey = np.full((32, 32, 3), 120, dtype=np.uint8)
    half = grey.copy()
    half[:, :16] = 200
    plain = Augment(cut=1, mirror=False)

    def seen(picture: np.ndarray, seed: int, **how: object) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return augmented(Image.fromarray(picture), plain.model_copy(update=how), size, rng)

    np.testing.assert_array_equal(seen(half, 0), half)
    mirrored = [bool((seen(half, seed, mirror=True) == half[:, ::-1]).all()) for seed in range(40)]
    assert 10 < sum(mirrored) < 30
    assert all((seen(half, seed, mirror=True) == half).all() for seed in range(40) if not mirrored[seed])
    turned = seen(grey, 0, rotation=45)
    assert (turned[0, 0] == 0).all()  # the corner is filled with the network's mean
    assert (turned[16, 16] == 120).all()
    levels = {int(seen(grey, seed, jitter=0.5).mean()) for seed in range(20)}
    assert min(levels) < 100
    assert max(levels) > 140
    shares = [(seen(half, seed, cut=0.3) == 200).all(axis=2).mean() for seed in range(20)]
    assert np.std(shares) > 0.05


@pytest.mark.parametrize("readers", [0, 2])
def test_a_picture_that_cannot_be_read_is_named_before_the_first_epoch(root, tmp_path, readers):
    bad = root / "images" / "toy" / "class3" / "bad.png"
    bad.write_bytes(b"no picture")
    try:
        with pytest.raises(BadInput) as caught:
            run_job("pml", configured(root, training={"readers": readers}), tmp_path / "out", root)
    finally:
        bad.unlink()
    assert str(caught.value) == (
        f"{bad} cannot be trained on: it is not a picture of a known format; remove it or mend it."
    )
    assert not (tmp_path / "out").exists()


def head_on(root: Path, width: int) -> tuple[Path, object]:
    """A data set of features of another origin, by itself or beside its pictures."""
    rng = np.random.default_rng(0)
    names = [f"class{c}/{item}.{'jpg' if item % 2 else 'png'}" for c in range(8) for item in range(6)]
    labels = [name.partition("/")[0] for name in names]
    (root / "features").mkdir(exist_ok=True)
    x = rng.normal(size=(48, width)).astype(np.float32)
    np.savez(root / "features" / f"toy_{width}.npz", x=x, labels=labels, paths=names)
    told = {"data": {"train": "toy", "test": ""}, "model": {"dim": 8}, "training": {"epochs": 1}}
    return root, make_config({**told, "pml": {"classes": 4, "per_class": 2}})


def test_a_head_that_cannot_be_joined_to_the_network_is_refused_before_it_is_trained(
    tmp_path, root, monkeypatch
):
    monkeypatch.setattr(Trainer, "fit", lambda _: pytest.fail("trained"))
    alone, config = head_on(tmp_path, 64)
    with pytest.raises(BadInput, match="have 64 numbers, but effnet_lite0 gives 1280"):
        run_job("pml", config, tmp_path / "out", alone)
    beside, config = head_on(root, 1280)
    try:
        with pytest.raises(BadInput, match=r"are not those of effnet_lite0 \(computed again their cosine is"):
            run_job("pml", config, tmp_path / "out", beside)
    finally:
        (root / "features" / "toy_1280.npz").unlink()
    assert not (tmp_path / "out").exists()


def test_features_that_cannot_be_compared_are_remarked_on(tmp_path):
    alone, config = head_on(tmp_path, 1280)
    with pytest.warns(UserWarning, match="do not say what made them"):
        run_job("pml", config, tmp_path / "out", alone)
    assert backbone(tmp_path / "out" / "model.onnx").dim == 8


@pytest.mark.parametrize("package", ["onnx", "onnxruntime", "pytorch_metric_learning"])
def test_missing_packages_are_named_before_anything_is_read(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    config = make_config({"data": {"train": "nowhere"}})
    with pytest.raises(MissingExtra, match=rf"needs the package {package}: install it with"):
        run_job("pml", config, tmp_path / "out", tmp_path)


def test_networks_that_cannot_be_exported_are_refused_before_they_are_trained(root, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no such operator\nfor this")

    monkeypatch.setattr(torch.onnx, "export", fails)
    monkeypatch.setattr(Trainer, "fit", lambda _: pytest.fail("trained"))
    with pytest.raises(BadInput, match=r"cannot be exported as ONNX: no such operator for this\.$"):
        run_job("pml", configured(root), tmp_path / "out", root)
