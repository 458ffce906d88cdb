"""Backbones that stand on networks: pooling, sizes, scales, whitening, devices and words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from tiny_models import FAMILIES, SIDE, TEXT, save, save_tokenizer

from foldwalk.core.errors import BadInput, BadParameter
from foldwalk.descriptors import backbone, networks, pooling
from foldwalk.descriptors.networks import Preprocessing
from foldwalk.descriptors.whitening import PcaWhitening

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 255, (50, 40, 3), dtype=np.uint8)) for _ in range(6)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    top = tmp_path_factory.mktemp("hub")
    for family in FAMILIES:
        save(family, top / family)
    save_tokenizer(top / "clip")
    return top


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", ["gap", "mac", "gem", "rmac", "cls", None])
def test_every_pooling(folders, family, how):
    made = backbone(f"hf:{folders / family}", pooling=how)
    network = networks.load(f"hf:{folders / family}")
    prepared = torch.from_numpy(np.stack([network.prepare(picture) for picture in PICTURES]))
    with torch.inference_mode():
        expected = network.vectors(prepared, how)
    np.testing.assert_allclose(made.embed(PICTURES), expected, atol=2e-5)
    assert made.dim == expected.shape[1]
    if how is not None:
        by_name = backbone(f"hf:{folders / family}:{how}")
        assert (by_name.identity, by_name.name) == (made.identity, made.name)
        assert made.name == f"hf:{folders / family}:{how}"


def test_size_fit_and_scales(folders):
    name = f"hf:{folders / 'vit'}"
    for fit, shape in (("squash", (SIDE, SIDE)), ("keep", (SIDE, 26)), ("crop", (SIDE, SIDE))):
        made = backbone(name, fit=fit, pooling="gap")
        expected = (shape[0], max(32, shape[1]))
        assert made.prepare(PICTURES[0])[0].shape[:2] == expected
    large = backbone(name, size=64, pooling="gap")
    assert large.maps(PICTURES[:2]).shape == (2, 16, 8, 8)
    both = backbone(name, pooling="gap", scales=(1.0, 2.0)).embed(PICTURES)
    alone = [backbone(name, pooling="gap", size=size).embed(PICTURES) for size in (32, 64)]
    np.testing.assert_allclose(both, sum(map(pooling.unit, alone)), atol=1e-5)
    identities = {
        backbone(name, **options).identity
        for options in ({}, {"size": 64}, {"fit": "squash"}, {"pooling": "gap"}, {"scales": (1, 2)})
    }
    assert len(identities) == 5
    regions = backbone(name, pooling="rmac").regions(PICTURES[:1])[0]
    np.testing.assert_allclose(np.linalg.norm(regions, axis=1), 1, atol=1e-5)


def test_whitening(folders):
    name = f"hf:{folders / 'resnet'}"
    plain = backbone(name).embed(PICTURES)
    whitening = PcaWhitening(dim=4).fit(plain)
    made = backbone(name, whitening=whitening)
    np.testing.assert_allclose(made.embed(PICTURES), whitening.transform(plain), atol=1e-5)
    assert made.dim == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pooling": "zebra"}, "pooling must be one of gap, mac, gem, rmac, cls"),
        ({"fit": "zebra"}, "fit"),
        ({"size": 0}, "size"),
        ({"scales": ()}, "scales"),
        ({"device": "zebra"}, "device must be one of auto, cpu, cuda, mps"),
    ],
)
def test_options_that_cannot_be(folders, options, reason):
    with pytest.raises(BadParameter, match=reason):
        backbone(f"hf:{folders / 'resnet'}", **options)


def test_a_device_that_is_not_there(folders, monkeypatch):
    name = f"hf:{folders / 'resnet'}"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert backbone(name).device.type == backbone(name, device="cpu").device.type == "cpu"
    for device in ("cuda", "mps"):
        with pytest.raises(BadParameter, match=f"device {device} is not available here; there is cpu"):
            backbone(name, device=device)


def test_a_size_a_network_does_not_take(folders):
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 5))
    mine = networks.from_module(module, preprocessing=Preprocessing(size=8), name="mine")
    assert backbone(mine).embed(PICTURES).shape == (6, 5)
    with pytest.raises(BadInput, match="mine fails on a picture of 16 x 16"):
        backbone(mine, size=16).embed(PICTURES)
    with pytest.raises(BadInput, match="has no map"):
        backbone(f"hf:{folders / 'vit'}").maps(PICTURES)


def test_an_own_module_without_a_vector_of_its_own():
    mine = networks.from_module(torch.nn.Conv2d(3, 4, 3), preprocessing=Preprocessing(size=8), name="mine")
    made = backbone(mine, pooling="mac")
    assert (made.name, made.dim, made.knows_words) == ("mine:mac", 4, False)
    with pytest.raises(BadParameter, match="mine has no vector of its own: choose gap"):
        backbone(mine, pooling="cls")
    with pytest.raises(BadInput, match="mine does not know words"):
        backbone(mine).embed_text(["x"])


# Words -----------------------------------------------------------------------------------------------------


def test_texts_are_described_as_the_model_does(folders):
    from transformers import AutoTokenizer, CLIPModel

    made = backbone(f"hf:{folders / 'clip'}")
    assert made.knows_words
    texts = ["red bicycle", "a boat"]
    found = made.embed_text(texts)
    theirs = CLIPModel.from_pretrained(folders / "clip").eval()
    tokens = AutoTokenizer.from_pretrained(folders / "clip")(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        expected = theirs.get_text_features(
            input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
        )
    np.testing.assert_allclose(found, expected.pooler_output, atol=1e-5)
    assert found.shape == (2, made.dim)
    assert not np.allclose(found[0], found[1])
    long = " ".join(["boat"] * 3 * TEXT["max_position_embeddings"])
    assert np.isfinite(made.embed_text([long])).all()


def test_words_go_with_the_own_vector_only(folders):
    made = backbone(f"hf:{folders / 'clip'}:gap")
    assert not made.knows_words
    with pytest.raises(BadInput, match="knows words only with the pooling cls"):
        made.embed_text(["x"])
    assert not backbone(f"hf:{folders / 'vit'}").knows_words


@pytest.mark.parametrize("broken", ["none", "json", "empty"])
def test_a_tokenizer_that_is_not_there(tmp_path, broken):
    save("clip", tmp_path)
    if broken != "none":
        (tmp_path / "tokenizer.json").write_text("{" if broken == "json" else json.dumps({}))
    made = backbone(f"hf:{tmp_path}")
    assert made.embed(PICTURES).shape == (6, 10)
    with pytest.raises(BadInput, match="has no tokenizer that can be used") as caught:
        made.embed_text(["boat"])
    assert "\n" not in str(caught.value)


def test_texts_are_whitened_as_pictures_are(folders):
    name = f"hf:{folders / 'clip'}"
    plain = backbone(name)
    whitening = PcaWhitening(dim=4).fit(plain.embed(PICTURES))
    made = backbone(name, whitening=whitening)
    np.testing.assert_allclose(
        made.embed_text(["boat"]), whitening.transform(plain.embed_text(["boat"])), atol=1e-6
    )
