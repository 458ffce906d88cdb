"""Networks that describe and can be trained: loaded, prepared for, pooled, frozen."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_models import FAMILIES, PROCESSOR, SIDE, TRANSFORMER, configs, save

from foldwalk.core.errors import BadInput, BadParameter, MissingData, UnknownName
from foldwalk.descriptors import networks, pooling
from foldwalk.descriptors.networks import Preprocessing

torch = pytest.importorskip("torch")
from foldwalk.descriptors.networks.shared import pooling as in_torch  # noqa: E402
from foldwalk.descriptors.networks.shared.picture_module import Seen  # noqa: E402

RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 255, (48, 64, 3), dtype=np.uint8)) for _ in range(3)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder and the model that was saved to it, by family."""
    pytest.importorskip("transformers")
    top = tmp_path_factory.mktemp("hub")
    return {family: (top / family, save(family, top / family)) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def family(request, folders):
    folder, model = folders[request.param]
    return request.param, networks.load(f"hf:{folder}"), model


def bytes_of(network):
    return torch.from_numpy(np.stack([network.prepare(picture) for picture in PICTURES]))


# Preparing -------------------------------------------------------------------------------------------------


def test_pixels_by_hand():
    how = Preprocessing(size=2, fit="squash", mean=(1.0, 2.0, 3.0), std=(2.0, 4.0, 8.0))
    picture = Image.new("RGB", (5, 3), (11, 22, 43))
    prepared = how.prepare(picture)
    assert prepared.shape == (2, 2, 3)
    assert prepared.dtype == np.uint8
    from foldwalk.descriptors.networks.shared.pixels import Pixels

    pixels = Pixels(how)(torch.from_numpy(prepared.copy())[None])
    assert pixels.shape == (1, 3, 2, 2)
    assert pixels[0, :, 1, 1].tolist() == [5.0, 5.0, 5.0]


def test_a_crop_takes_the_middle():
    values = np.zeros((40, 80, 3), dtype=np.uint8)
    values[4:36, 24:56] = 200
    how = Preprocessing(size=32, fit="crop", margin=40 / 32, interpolation="nearest")
    assert (how.prepare(Image.fromarray(values)) == 200).all()


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"size": 0}, "size"),
        ({"size": 2.5}, "size"),
        ({"fit": "zebra"}, "fit"),
        ({"interpolation": "zebra"}, "interpolation"),
        ({"mean": (1, 2)}, "mean"),
        ({"mean": "abc"}, "mean"),
        ({"std": (1, 0, 1)}, "std"),
        ({"std": (1, float("nan"), 1)}, "std"),
        ({"margin": 0.5}, "margin"),
        ({"zebra": 1}, "zebra"),
    ],
)
def test_a_preprocessing_that_cannot_be(said, wrong):
    with pytest.raises(BadParameter, match=wrong):
        Preprocessing.from_dict(said)


def test_a_preprocessing_is_plain_numbers():
    how = Preprocessing(size=96, mean=(1.0, 2.0, 3.0))
    assert Preprocessing.from_dict(json.loads(json.dumps(how.as_dict()))) == how
    assert how.changed(size=32, fit=None).as_dict() == {**how.as_dict(), "size": 32}


# Pooling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 5, 7, 7), (1, 3, 4, 9), (3, 4, 1, 1), (2, 3, 8, 3)])
@pytest.mark.parametrize("how", ["gap", "mac", "gem", "rmac"])
def test_pooling_is_that_of_numpy(how, shape):
    maps = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    maps[0, 0] = 0
    values = torch.from_numpy(maps).requires_grad_()
    found = in_torch.Pooling(how)(Seen(values, None))
    np.testing.assert_allclose(found.detach(), getattr(pooling, how)(maps), atol=1e-5)
    found.sum().backward()
    assert torch.isfinite(values.grad).all()
    assert values.grad.abs().sum() > 0


def test_own_vectors():
    own = torch.ones(2, 3)
    assert in_torch.Pooling("cls")(Seen(torch.zeros(2, 1, 1, 1), own)) is own
    with pytest.raises(BadParameter, match="no vector of its own: choose gap, mac"):
        in_torch.Pooling("cls")(Seen(torch.zeros(2, 1, 1, 1), None))
    with pytest.raises(BadParameter, match="pooling must be one of"):
        in_torch.Pooling("zebra")


# Transformers ----------------------------------------------------------------------------------------------


def test_it_sees_what_the_model_gives(family):
    name, network, model = family
    pixels = network.pixels(bytes_of(network))
    with torch.inference_mode():
        seen = network.module(pixels)
        theirs = (model.vision_model if name == "clip" else model)(pixel_values=pixels)
    last = theirs.last_hidden_state
    if name in ("resnet", "convnext"):
        expected = last
    else:
        tokens = last if name == "swin" else last[:, 1:]
        side = 4
        expected = torch.stack([tokens[:, i] for i in range(side * side)], 2).reshape(3, -1, side, side)
    assert torch.equal(seen.map, expected)
    assert network.channels == expected.shape[1]
    own = {"vit": lambda: last[:, 0], "clip": lambda: model.get_image_features(pixels).pooler_output}
    with torch.inference_mode():
        expected_own = own[name]() if name in own else theirs.pooler_output.flatten(1)
    torch.testing.assert_close(seen.cls, expected_own)
    assert network.own_dim == expected_own.shape[1]


def test_other_sizes_are_taken(family):
    _, network, _ = family
    with torch.inference_mode():
        seen = network.module(torch.zeros(1, 3, 2 * SIDE, SIDE))
    assert seen.map.shape[2] == 2 * seen.map.shape[3]


def test_it_is_prepared_as_its_processor_says(folders):
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    picture = Image.fromarray(np.stack([np.add.outer(ramp // 2, ramp // 2)] * 3, 2).astype(np.uint8))
    network = networks.load(f"hf:{folders['clip'][0]}")
    ours = network.pixels(torch.from_numpy(network.prepare(picture).copy())[None])
    theirs = CLIPImageProcessorPil(**PROCESSOR)(picture, return_tensors="pt")["pixel_values"]
    assert (ours - theirs).abs().max() < 0.05
    assert network.preprocessing.mean == pytest.approx((127.5, 102.0, 76.5))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"size": {"height": 32, "width": 32}}, (32, "squash", None)),
        ({"size": 32}, (32, "squash", None)),
        ({"size": {"shortest_edge": 32}}, (32, "crop", 1.0)),
        ({"size": 48, "do_center_crop": True, "crop_size": 32}, (32, "crop", 1.5)),
        ({"size": {"shortest_edge": 32}, "crop_pct": 0.5}, (32, "crop", 2.0)),
        ({"size": {"shortest_edge": 384}, "crop_pct": 0.5}, (384, "squash", None)),
    ],
)
def test_processors_of_every_kind(said, expected):
    from foldwalk.descriptors.networks.shared.hub_preprocessing import from_processor

    base = {"image_mean": 0.5, "image_std": [0.5, 0.5, 0.5], "resample": 2}
    found = from_processor({**base, **said}, "x")
    assert (found.size, found.fit) == expected[:2]
    assert expected[2] is None or found.margin == pytest.approx(expected[2])
    assert found.interpolation == "bilinear"
    assert found.std == pytest.approx((127.5,) * 3)


def test_a_classifier_is_taken_without_head_and_pooler(tmp_path):
    """Its checkpoint lacks the bare model's pooler, which transformers makes up anew at each load."""
    transformers = pytest.importorskip("transformers")
    transformers.ViTForImageClassification(transformers.ViTConfig(**TRANSFORMER)).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    first, again = (networks.load(f"hf:{tmp_path}") for _ in range(2))
    assert first.identity == again.identity
    assert torch.equal(first.vectors(bytes_of(first)), again.vectors(bytes_of(again)))


def test_a_folder_may_be_moved(folders, tmp_path):
    import shutil

    folder, _ = folders["resnet"]
    shutil.copytree(folder, tmp_path / "moved")
    there, here = networks.load(f"hf:{folder}"), networks.load(f"hf:{tmp_path / 'moved'}")
    assert here.identity == there.identity
    save("resnet", tmp_path / "other", seed=1)
    assert networks.load(f"hf:{tmp_path / 'other'}").identity != here.identity
    settings = {**PROCESSOR, "image_mean": [0, 0, 0]}
    (tmp_path / "moved" / "preprocessor_config.json").write_text(json.dumps(settings))
    assert networks.load(f"hf:{tmp_path / 'moved'}").identity != here.identity


def test_the_licence_is_read_from_the_card(folders, tmp_path):
    import shutil

    folder = shutil.copytree(folders["resnet"][0], tmp_path / "with")
    assert networks.load(f"hf:{folder}").licence == ""
    (folder / "README.md").write_text("---\ntags: [x]\nlicense: apache-2.0\n---\nlicense: none\n")
    assert networks.load(f"hf:{folder}").licence == "apache-2.0"


# Folders that cannot be used -------------------------------------------------------------------------------


@pytest.fixture
def broken(folders, tmp_path):
    import shutil

    return shutil.copytree(folders["vit"][0], tmp_path / "broken")


def refused(folder: Path) -> str:
    with pytest.raises((BadInput, MissingData)) as caught:
        networks.load(f"hf:{folder}")
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def test_a_pickle_is_not_opened(broken, monkeypatch):
    weights = broken / "model.safetensors"
    weights.unlink()
    (broken / "pytorch_model.bin").write_bytes(b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00boom\x85R.")

    def load(*_, **__):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr(torch, "load", load)
    assert "has no model.safetensors, and weights in other files are not opened" in refused(broken)


def test_folders_that_are_none(tmp_path, broken):
    assert "is not a folder" in refused(tmp_path / "none")
    assert "has no config.json" in refused(tmp_path)
    (broken / "preprocessor_config.json").unlink()
    assert "has no preprocessor_config.json" in refused(broken)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"size": NaN}', "null", "\x00"])
def test_a_broken_processor(broken, text):
    (broken / "preprocessor_config.json").write_text(text)
    assert "preprocessor_config.json" in (said := refused(broken)) or "image processor" in said


@pytest.mark.parametrize(
    "said",
    [
        {"size": {"height": 32, "width": 16}},
        {"size": {"height": "a", "width": "a"}},
        {"size": {"shortest_edge": 10**9}, "do_center_crop": False},
        {"resample": 77},
        {"image_mean": [1, 2]},
        {"image_std": [0, 0, 0]},
        {"image_std": None},
        {"rescale_factor": 0},
        {"do_resize": False},
        {"crop_size": {"height": -1, "width": -1}},
    ],
)
def test_a_processor_that_cannot_be(broken, said):
    (broken / "preprocessor_config.json").write_text(json.dumps({**PROCESSOR, **said}))
    assert "image processor" in refused(broken)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model_type": "zebra"}', "null"])
def test_a_broken_config(broken, text):
    (broken / "config.json").write_text(text)
    assert "cannot be loaded" in refused(broken)


def test_code_that_comes_with_a_model_is_not_run(broken):
    config = json.loads((broken / "config.json").read_text())
    (broken / "evil.py").write_text("raise SystemExit(77)")
    told = {**config, "model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}}
    (broken / "config.json").write_text(json.dumps(told))
    assert "cannot be loaded" in refused(broken)


def test_weights_that_do_not_fit(broken):
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 4}))
    assert "lacks weights" in refused(broken)
    (broken / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))
    refused(broken)
    whole = (broken / "model.safetensors").read_bytes()
    (broken / "config.json").write_text(json.dumps(config))
    (broken / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "cannot be loaded" in refused(broken)


def test_a_model_of_texts_is_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    settings = {k: v for k, v in TRANSFORMER.items() if k not in ("image_size", "patch_size")}
    transformers.BertModel(transformers.BertConfig(**settings, vocab_size=10)).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    assert "BertModel is no model of pictures" in refused(tmp_path)


# Freezing --------------------------------------------------------------------------------------------------


def trained(module):
    return {name for name, values in module.named_parameters() if values.requires_grad}


def test_the_last_blocks_are_trained(family):
    _, network, _ = family
    blocks = network.blocks
    everything = {id(p) for p in network.module.parameters()}
    assert {id(p) for block in blocks for p in block.parameters()} == everything
    groups = network.freeze("last_blocks", 1)
    expected = [p for block in blocks[-2:] for p in block.parameters() if p.requires_grad]
    assert [id(p) for group in groups for p in group["params"]] == list(map(id, expected))
    network.module.train()
    assert not any(part.training for part in blocks[0].modules() if part is not blocks[0])
    assert blocks[-2].training
    network.vectors(bytes_of(network)).sum().backward()
    for parameter in network.module.parameters():
        assert parameter.requires_grad or parameter.grad is None
    assert network.freeze("head") == []
    assert not trained(network.module)
    assert not network.module.train().blocks[1].training


def test_all_of_it_is_trained_but_batch_normalisation(folders):
    network = networks.load(f"hf:{folders['resnet'][0]}")
    norms = [part for part in network.module.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    assert norms
    network.freeze("all")
    network.module.train()
    assert not any(norm.training or norm.weight.requires_grad for norm in norms)
    groups = network.freeze("all", norms=True)
    assert all(norm.training for norm in norms)
    assert sum(len(group["params"]) for group in groups) == len(list(network.module.parameters()))
    assert [group["block"] for group in groups] == [0, 1, 2, 3]
    one = copy.deepcopy(network.module)
    one.freeze("head")
    assert not trained(one)
    assert trained(network.module)


@pytest.mark.parametrize("count", [0, 4, 1.0, True])
def test_more_blocks_than_there_are(folders, count):
    network = networks.load(f"hf:{folders['vit'][0]}")
    with pytest.raises(BadParameter, match="has 3 blocks: count must be from 1 to 3"):
        network.freeze("last_blocks", count)
    with pytest.raises(BadParameter, match="keep must be one of head, last_blocks, all"):
        network.freeze("zebra")


# The default, and modules of one's own ---------------------------------------------------------------------


def test_lite0_is_the_default_backbone(effnet):
    network = networks.load("effnet_lite0")
    prepared = np.stack([effnet.prepare(picture)[0] for picture in PICTURES])
    np.testing.assert_array_equal(bytes_of(network).numpy(), prepared)
    with torch.inference_mode():
        vectors = network.vectors(torch.from_numpy(prepared))
    np.testing.assert_allclose(vectors, effnet.embed(PICTURES), atol=1e-4)
    assert (network.channels, network.own_dim, len(network.blocks)) == (1280, 0, 18)
    assert network.freeze("last_blocks", 2)[0]["block"] == 15


def test_an_own_module():
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.ReLU(), torch.nn.Conv2d(4, 5, 2))
    how = Preprocessing(size=8, fit="squash")
    network = networks.from_module(module, preprocessing=how, name="mine", licence="MIT")
    assert (network.name, network.channels, network.own_dim, network.licence) == ("mine", 5, 0, "MIT")
    assert network.own_pooling == "gap"
    assert network.vectors(bytes_of(network)).shape == (3, 5)
    assert len(network.blocks) == 4
    later = networks.from_module(module, preprocessing=how, name="mine", version="2")
    assert later.identity != network.identity
    flat = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 7))
    vectors = networks.from_module(flat, preprocessing=how, name="flat")
    assert (vectors.channels, vectors.own_dim) == (7, 7)
    with pytest.raises(BadInput, match="must be a torch"):
        networks.from_module(np.mean, preprocessing=how, name="x")
    with pytest.raises(BadInput, match="x fails on a picture of 8 x 8"):
        networks.from_module(torch.nn.Linear(3, 3), preprocessing=how, name="x")
    with pytest.raises(BadInput, match=r"not \(1, 192, 1\)"):
        networks.from_module(
            torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Unflatten(1, (192, 1))),
            preprocessing=how,
            name="x",
        )


def test_parameters_outside_of_blocks_are_trained_with_all():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.token = torch.nn.Parameter(torch.zeros(1))
            self.layers = torch.nn.ModuleList([torch.nn.Conv2d(3, 3, 1) for _ in range(2)])

        def forward(self, x):
            return self.layers[1](self.layers[0](x + self.token))

    network = networks.from_module(Odd(), preprocessing=Preprocessing(size=8), name="odd")
    assert len(network.blocks) == 4
    assert [len(group["params"]) for group in network.freeze("all")] == [1, 2, 2]
    assert [group["block"] for group in network.freeze("last_blocks", 1)] == [2]


def test_names():
    assert {"effnet_lite0", "hf"} <= set(networks.names())
    assert networks.is_known("hf:a/b")
    for name in ("hf:", "zebra", "hf"):
        assert not networks.is_known(name)
        with pytest.raises(UnknownName, match="there are effnet_lite0, hf:OWNER/NAME"):
            networks.load(name)


def test_configs_cover_the_families():
    pytest.importorskip("transformers")
    assert tuple(configs()) == FAMILIES
