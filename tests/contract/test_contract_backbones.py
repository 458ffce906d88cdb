"""What every registered backbone promises. A backbone added later is tested here without an edit.

A kind whose packages or weights are not there says so in one sentence; that is tested in place of the rest.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from PIL import Image

from foldwalk.core import MissingData, MissingExtra, UnknownName
from foldwalk.descriptors import backbone, backbones, networks
from tiny_models import save

NAMES = backbones.names()
RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 255, (48, 64, 3), dtype=np.uint8)) for _ in range(6)]


def mean_colour(pictures):
    return np.stack([np.asarray(picture, dtype=float).mean(axis=(0, 1)) for picture in pictures])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDWALK_CACHE", str(folder))
        yield folder


def averaging(folder):
    """An ONNX file that averages a picture."""
    onnx = pytest.importorskip("onnx")
    make, number = onnx.helper, onnx.TensorProto.FLOAT
    path = folder / "mean.onnx"
    graph = make.make_graph(
        [make.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)],
        "mean",
        [make.make_tensor_value_info("x", number, ["n", 3, 16, 16])],
        [make.make_tensor_value_info("y", number, ["n", 3])],
        [make.make_tensor("axes", onnx.TensorProto.INT64, [2], [2, 3])],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=9), path)
    return path


def averaging_network():
    """A torch module that averages a picture in four parts."""
    torch = pytest.importorskip("torch")
    how = networks.Preprocessing(size=16)
    return networks.from_module(torch.nn.AvgPool2d(8), preprocessing=how, name="mean")


def hub_folder(folder):
    """A folder with a tiny model of transformers, in place of the hub."""
    pytest.importorskip("transformers")
    save("dinov2", folder / "dinov2")
    return f"hf:{folder / 'dinov2'}"


@cache
def made(name, folder):
    """A backbone of this kind, or the error in its place."""
    own = {
        "function": lambda: mean_colour,
        "onnx": lambda: averaging(folder),
        "network": lambda: averaging_network(),
        "hf": lambda: hub_folder(folder),
    }
    try:
        return backbone(own[name]() if name in own else backbones.describe(name).example)
    except (MissingExtra, MissingData) as error:
        return error


@pytest.fixture(params=NAMES)
def model(request, folder):
    found = made(request.param, folder)
    if isinstance(found, Exception):
        assert "\n" not in str(found)
        assert str(found).endswith(".")
        if isinstance(found, MissingExtra):
            assert f"foldwalk[{backbones.describe(request.param).extra}]" in str(found)
        pytest.skip(str(found))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_a_user_needs(name):
    card = backbones.describe(name)
    assert card.name == name
    assert all((card.summary, card.named, card.example, card.dimensions))
    with pytest.raises(UnknownName, match="no backbone"):
        backbones.describe(f"{name}?")


def test_one_finite_vector_for_each_picture(model):
    vectors = model.embed(PICTURES)
    assert vectors.shape == (len(PICTURES), model.dim)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors, axis=0)) == len(PICTURES)
    assert model.embed([]).shape == (0, model.dim)


def test_the_same_picture_gives_the_same_bytes(model):
    assert model.embed(PICTURES).tobytes() == model.embed(PICTURES).tobytes()
    copies = [picture.copy() for picture in PICTURES]
    assert model.embed(copies).tobytes() == model.embed(PICTURES).tobytes()


def test_the_other_pictures_of_a_batch_do_not_matter(model):
    together = model.embed(PICTURES)
    alone = np.concatenate([model.embed([picture]) for picture in PICTURES])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-4)


def test_pictures_of_every_mode_and_size_are_taken(model):
    odd = [
        PICTURES[0].convert("L"),
        PICTURES[0].convert("P"),
        PICTURES[0].convert("RGBA"),
        PICTURES[0].convert("1"),
        Image.new("RGB", (1, 1), "red"),
        Image.new("L", (300, 2), 7),
    ]
    vectors = model.embed(odd)
    assert vectors.shape == (len(odd), model.dim)
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("name", NAMES)
def test_made_again_it_has_the_same_identity(name, folder):
    first = made(name, folder)
    if isinstance(first, Exception):
        pytest.skip(str(first))
    again = made.__wrapped__(name, folder)
    assert again.identity == first.identity
    assert again.identity not in {
        other.identity
        for other in (made(kind, folder) for kind in NAMES if kind != name)
        if not isinstance(other, Exception)
    }
    assert again.embed(PICTURES).tobytes() == first.embed(PICTURES).tobytes()
