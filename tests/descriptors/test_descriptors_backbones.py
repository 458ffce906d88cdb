"""Backbones by name, from functions, from ONNX files, from libraries that may be missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.errors import BadInput, BadParameter, MissingData, UnknownName
from foldwalk.datasets.pixels import grey_pixels
from foldwalk.descriptors import Backbone, backbone, is_known, lasting_name, names

COLOURS = [Image.new("RGB", (40, 30), colour) for colour in ("red", "lime", "blue", "white")]


def mean_colour(pictures):
    return np.stack([np.asarray(picture, dtype=float).mean(axis=(0, 1)) for picture in pictures])


# By name ---------------------------------------------------------------------------------------------------


def test_names():
    libraries = {"hf", "open_clip", "timm", "torchvision"}
    assert {"effnet_lite0", "function", "network", "onnx", "pixels", *libraries} <= set(names())
    with pytest.raises(UnknownName, match="did you mean effnet_lite0"):
        backbone("effnet_lite")
    with pytest.raises(UnknownName, match=r"there are effnet_lite0, a Python function, .* timm:NAME"):
        backbone("zebra")
    for name in ("keras:resnet", "timm:", "hf:", "onnx", "function", "effnet_lite0:", "effnet_lite0:gem"):
        assert not is_known(name)
        with pytest.raises(UnknownName):
            backbone(name)
    assert is_known("timm:anything")
    assert is_known("hf:anything:gem")
    assert is_known("some/model.onnx")


def test_a_backbone_is_handed_through():
    made = backbone("pixels")
    assert backbone(made) is made
    with pytest.raises(BadParameter, match="made already"):
        backbone(made, size=(2, 2))


# Pixels ----------------------------------------------------------------------------------------------------


def test_pixels_by_hand():
    values = np.array([[0, 10, 20, 30], [40, 50, 60, 70]], dtype=np.uint8)
    picture = Image.fromarray(values)
    assert backbone("pixels", size=(4, 2)).embed([picture]).tolist() == [values.ravel().tolist()]
    # Halved: each pixel the mean of a 2 x 2 block.
    assert backbone("pixels", size=(2, 1)).embed([picture]).tolist() == [[25, 45]]
    assert backbone("pixels").embed([]).shape == (0, 1024)


def test_pixels_are_those_of_the_data_sets(data_root: Path):
    files = sorted((data_root / "images" / "orl" / "s1").glob("*.pgm"))
    pictures = [Image.open(path).convert("RGB") for path in files]
    for size in ((92, 112), (23, 28)):
        model = backbone("pixels", size=size)
        np.testing.assert_array_equal(model.embed(pictures), grey_pixels(pictures, len(pictures), size))
        assert model.identity == f"pixels grey {size[0]}x{size[1]}"


@pytest.mark.parametrize("size", [(0, 5), (5,), (5, 5000), (2.5, 3), (True, 2), "ab"])
def test_pixels_of_a_bad_size(size):
    with pytest.raises(BadParameter, match="size"):
        backbone("pixels", size=size)


# Functions -------------------------------------------------------------------------------------------------


def test_a_function():
    model = backbone(mean_colour)
    assert isinstance(model, Backbone)
    assert (model.dim, model.name) == (3, "mean_colour")
    vectors = model.embed(COLOURS)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]
    assert "mean_colour version 1" in model.identity
    assert backbone(mean_colour, version="2").identity != model.identity
    assert model.embed([]).shape == (0, 3)


def test_functions_that_answer_badly():
    with pytest.raises(BadInput, match="2 rows for 1 pictures"):
        backbone(lambda pictures: np.zeros((len(pictures) + 1, 3)))
    with pytest.raises(BadInput, match="2-D"):
        backbone(lambda pictures: np.zeros(len(pictures)))
    with pytest.raises(BadInput, match="row 0, column 1 is nan"):
        backbone(lambda pictures: np.array([[0.0, np.nan]] * len(pictures)))
    growing = iter(range(3, 9))
    model = backbone(lambda pictures: np.zeros((len(pictures), next(growing))))
    with pytest.raises(BadInput, match="3 numbers per picture before, now 4"):
        model.embed(COLOURS)


# ONNX files ------------------------------------------------------------------------------------------------


def onnx_file(path: Path, shape: list, operation: str = "mean", kind: str = "FLOAT") -> Path:
    """A model that averages (a vector), or passes its input on (a map)."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, number = onnx.helper, getattr(onnx.TensorProto, kind)
    if operation == "mean":
        axes = helper.make_tensor("axes", onnx.TensorProto.INT64, [2], [2, 3])
        node, out = helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0), ["n", "c"]
        constants = [axes]
    else:
        node, out, constants = helper.make_node("Identity", ["x"], ["y"]), ["n", "c", "h", "w"], []
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info("x", number, shape)],
        [helper.make_tensor_value_info("y", number, out)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path


def test_onnx_vectors_and_normalisation(tmp_path: Path):
    path = onnx_file(tmp_path / "mean.onnx", ["n", 3, 8, 8])
    pixels = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]], dtype=float)
    expected = {
        "none": pixels,
        "unit": pixels / 255,
        "half": pixels / 127.5 - 1,
        "imagenet": (pixels / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225],
        (127, 128): (pixels - 127) / 128,
        ((1, 2, 3), 2): (pixels - [1, 2, 3]) / 2,
    }
    identities = set()
    for normalise, vectors in expected.items():
        model = backbone(path, normalise=normalise)
        np.testing.assert_allclose(model.embed(COLOURS), vectors, atol=1e-4)
        identities.add(model.identity)
    assert len(identities) == len(expected)
    assert (backbone(str(path)).dim, backbone(path).name) == (3, "mean")
    np.testing.assert_allclose(backbone(path).embed(COLOURS), expected["imagenet"], atol=1e-4)


def test_onnx_size_and_layout_are_read_from_the_file(tmp_path: Path):
    ramp = Image.fromarray(np.broadcast_to(np.arange(64, dtype=np.uint8), (32, 64)).copy())
    wide = backbone(onnx_file(tmp_path / "wide.onnx", ["n", 3, 4, 16], "pass"), normalise="none")
    assert wide.maps([ramp]).shape == (1, 3, 4, 16)
    assert (wide.box, wide.dim) == ((16, 4), 3)
    np.testing.assert_allclose(wide.embed([ramp]), [[31.5] * 3], atol=0.6)
    free = backbone(onnx_file(tmp_path / "free.onnx", ["n", 3, "h", "w"], "pass"), size=10, normalise="none")
    assert free.maps([ramp]).shape == (1, 3, 10, 10)
    last = backbone(onnx_file(tmp_path / "last.onnx", ["n", 6, 7, 3], "pass"), normalise="none")
    assert last.box == (7, 6)
    grey = backbone(onnx_file(tmp_path / "grey.onnx", ["n", 1, 4, 4]), normalise="none")
    np.testing.assert_allclose(grey.embed(COLOURS)[:, 0], [76.245, 149.685, 29.07, 255], atol=1e-3)
    bytes_in = backbone(onnx_file(tmp_path / "bytes.onnx", ["n", 3, 4, 4], "pass", "UINT8"), normalise="none")
    assert bytes_in.embed(COLOURS)[1].tolist() == [0, 255, 0]


@pytest.mark.parametrize("batch", [1, 3])
def test_onnx_of_a_fixed_batch(tmp_path: Path, batch: int):
    model = backbone(onnx_file(tmp_path / "fixed.onnx", [batch, 3, 8, 8]), normalise="none")
    assert model.embed(COLOURS).tolist() == mean_colour(COLOURS).tolist()


def test_onnx_files_that_cannot_be_used(tmp_path: Path):
    with pytest.raises(MissingData, match="does not exist"):
        backbone(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(BadInput, match="not an ONNX model"):
        backbone(tmp_path / "text.onnx")
    with pytest.raises(BadInput, match="one batch of pictures"):
        backbone(onnx_file(tmp_path / "flat.onnx", ["n", 3], "pass"))
    vectors = onnx_file(tmp_path / "mean.onnx", ["n", 3, 8, 8])
    for options, reason in (
        ({"size": 9}, "pictures of 8 x 8 only"),
        ({"scales": (1, 0.5)}, "one size only"),
        ({"fit": "keep"}, "one size only"),
        ({"pooling": "gem"}, "gives vectors, not maps"),
        ({"output": "z"}, "no output 'z'; there are y"),
        ({"normalise": "zebra"}, "normalise"),
        ({"normalise": (1, 0)}, "normalise"),
        ({"normalise": ((1, 2), 1)}, "normalise"),
        ({"normalise": 5}, "normalise"),
    ):
        with pytest.raises(BadParameter, match=reason):
            backbone(vectors, **options)
    with pytest.raises(BadInput, match="has no map"):
        backbone(vectors).maps(COLOURS)
    with pytest.raises(BadInput, match="has no map"):
        backbone(vectors).regions(COLOURS)
    with pytest.raises(BadParameter, match="pooling must be one of gap, mac, gem, rmac, but it is 'cls'"):
        backbone(vectors, pooling="cls")


def test_most_do_not_know_words():
    assert not backbone("pixels").knows_words
    with pytest.raises(
        BadInput, match=r"pixels does not know words; .* index with a CLIP model: foldwalk index"
    ):
        backbone("pixels").embed_text(["red"])


def test_names_that_last(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lasting_name("a.onnx") == str(tmp_path / "a.onnx")
    assert lasting_name(Path("a.onnx")) == str(tmp_path / "a.onnx")
    (tmp_path / "folder").mkdir()
    for name in ("hf:folder", "hf:./folder"):
        assert lasting_name(name) == f"hf:{tmp_path / 'folder'}"
        assert lasting_name(f"{name}:gem") == f"hf:{tmp_path / 'folder'}:gem"
    for name in (
        "effnet_lite0",
        "effnet_lite0:rmac",
        "timm:x",
        "hf:owner/name",
        "hf:owner/name:gem",
        "pixels",
    ):
        assert lasting_name(name) == name
    assert lasting_name("zebra") is None
    with pytest.raises(MissingData, match="none is not a folder"):
        lasting_name("hf:./none")
