"""torchvision, timm and open_clip, which may be missing: what is asked of them, and what is made of it.

Stand-ins have the build of their models, so that the maps are the ones that the models would pool.
"""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.errors import BadInput, BadParameter, FoldwalkError, MissingExtra
from foldwalk.descriptors import backbone, networks

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 255, (20, 30, 3), dtype=np.uint8)) for _ in range(3)]
LIBRARIES = {
    "timm": "timm:resnet18",
    "torchvision": "torchvision:resnet18",
    "open_clip": "open_clip:ViT-B-32/openai",
    "transformers": "hf:facebook/dinov2-small",
}


@pytest.mark.parametrize("package", LIBRARIES)
def test_a_missing_library_is_named(package: str, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    extra = "hub" if package == "transformers" else "vision"
    with pytest.raises(MissingExtra) as caught:
        backbone(LIBRARIES[package])
    assert str(caught.value) == (
        f"The network {LIBRARIES[package]} needs the package {package}: "
        f'install it with  pip install "foldwalk[{extra}]".'
    )


@pytest.mark.parametrize("package", LIBRARIES)
def test_a_library_that_fails_on_import(package: str, monkeypatch, tmp_path: Path):
    """As torchvision does where it was built for another torch."""
    (tmp_path / f"{package}.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        MissingExtra, match="importing it failed: operator torchvision::nms does not exist"
    ) as caught:
        backbone(LIBRARIES[package])
    assert "\n" not in str(caught.value)


def fake(monkeypatch, name: str, **members) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def pixels_of(made):
    return made.network.pixels(torch.from_numpy(np.stack([made.prepare(p)[0] for p in PICTURES])))


# torchvision -----------------------------------------------------------------------------------------------


class Mode(enum.Enum):
    BILINEAR = "bilinear"


TRANSFORMS = SimpleNamespace(
    crop_size=[16], resize_size=[20], mean=[0.5] * 3, std=[0.25] * 3, interpolation=Mode.BILINEAR
)


class ResNetLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.layer1 = nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 5, 1))
        self.layer2 = nn.Sequential(nn.Conv2d(5, 6, 3), nn.Conv2d(6, 6, 1))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(6, 9)

    def map(self, x):
        return self.layer2(self.layer1(self.relu(self.bn1(self.conv1(x)))))


class VggLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3))
        self.avgpool, self.classifier = nn.AdaptiveAvgPool2d(7), nn.Linear(5 * 49, 9)

    def map(self, x):
        return self.features(x)


class DenseNet(VggLike):
    """By this name it is known that a ReLU follows."""

    def map(self, x):
        return self.features(x).relu()


class SwinLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 4, 4), nn.Conv2d(4, 5, 1), Permute(0, 2, 3, 1))
        self.norm, self.permute = nn.LayerNorm(5), Permute(0, 3, 1, 2)
        self.avgpool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(5, 9)

    def map(self, x):
        return self.norm(self.features(x)).permute(0, 3, 1, 2)


class Permute(nn.Module):
    def __init__(self, *order) -> None:
        super().__init__()
        self.order = order

    def forward(self, x):
        return x.permute(*self.order)


class MaxVitLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.ModuleList([nn.Conv2d(4, 4, 1), nn.Conv2d(4, 5, 1)])
        self.classifier = nn.Linear(5, 9)

    def map(self, x):
        return self.blocks[1](self.blocks[0](self.stem(x)))


class GoogLeNetLike(nn.Module):
    """Heads in the middle, and pixels brought from ImageNet's normalisation to -1 to 1."""

    aux_logits, transform_input = True, True

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.inception5b = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 1)
        self.aux1, self.AuxLogits, self.aux2 = nn.Linear(4, 9), nn.Linear(4, 9), None
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(5, 9)

    def map(self, x):
        channels = zip(x.split(1, 1), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), strict=True)
        return self.inception5b(
            self.conv1(torch.cat([2 * (c * std + mean) - 1 for c, mean, std in channels], 1))
        )


class VitLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, 6, 4, 4)
        self.class_token = nn.Parameter(torch.ones(1, 1, 6))
        self.encoder = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6))
        self.heads = nn.Linear(6, 9)

    def map(self, x):
        """All but the class token, which these layers leave alone."""
        return self.encoder(self.conv_proj(x).flatten(2).transpose(1, 2)).transpose(1, 2).reshape(-1, 6, 4, 4)


def torchvision_with(monkeypatch, model):
    models = SimpleNamespace(
        get_model_weights=lambda _: SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: TRANSFORMS)),
        get_model=lambda _, weights: model,  # noqa: ARG005
    )
    fake(monkeypatch, "torchvision", models=models)


@pytest.mark.parametrize(
    "build", [ResNetLike, VggLike, DenseNet, SwinLike, MaxVitLike, VitLike, GoogLeNetLike]
)
def test_torchvision_is_cut_at_its_map(monkeypatch, build):
    model = build().eval()
    torchvision_with(monkeypatch, model)
    made = backbone("torchvision:tiny", pooling="gap")
    with torch.inference_mode():
        expected = model.map(pixels_of(made))
        torch.testing.assert_close(made.network.module(pixels_of(made)).map, expected)
    np.testing.assert_allclose(made.embed(PICTURES), expected.mean((2, 3)), atol=1e-5)
    assert made.dim == expected.shape[1]  # pooled: not as many as the flattened map has
    assert backbone("torchvision:tiny:mac").embed(PICTURES).shape == (3, made.dim)
    assert len(made.network.blocks) >= 3


def test_torchvision_is_prepared_for_by_its_weights(monkeypatch):
    torchvision_with(monkeypatch, ResNetLike())
    how = networks.load("torchvision:tiny").preprocessing
    assert (how.size, how.fit, how.margin, how.interpolation) == (16, "crop", 1.25, "bilinear")
    assert (how.mean, how.std) == ((127.5,) * 3, (63.75,) * 3)


def test_a_transformer_of_torchvision_has_a_class_token(monkeypatch):
    model = VitLike().eval()
    torchvision_with(monkeypatch, model)
    made = backbone("torchvision:tiny")
    assert made.pooling == "cls"
    token = model.encoder(model.class_token)[0].detach()
    np.testing.assert_allclose(made.embed(PICTURES), token.expand(3, -1), atol=1e-6)


def test_torchvision_models_that_are_cut_nowhere(monkeypatch):
    torchvision_with(monkeypatch, nn.Sequential(nn.Conv2d(3, 3, 1)))
    with pytest.raises(BadInput, match="no classifier whose features are known"):
        backbone("torchvision:tiny")


# timm ------------------------------------------------------------------------------------------------------

SETTINGS = {
    "input_size": (3, 16, 16),
    "crop_pct": 0.8,
    "mean": (0.5, 0.5, 0.5),
    "std": (0.25, 0.25, 0.25),
    "interpolation": "bicubic",
    "crop_mode": "center",
}


class TimmLike(nn.Module):
    """`shape`: channels first or last, or tokens with a class token."""

    def __init__(self, shape: str) -> None:
        super().__init__()
        self.shape, self.num_features = shape, 6
        self.stem = nn.Conv2d(3, 6, 4, 4)
        self.patch_embed = SimpleNamespace(patch_size=(4, 4))
        self.pretrained_cfg = {"license": "apache-2.0"}

    def forward_features(self, x):
        x = self.stem(x)
        if self.shape == "tokens":
            return torch.cat([x.mean((2, 3))[:, None], x.flatten(2).transpose(1, 2)], 1)
        return x.permute(0, 2, 3, 1) if self.shape == "last" else x

    def forward_head(self, x, pre_logits):
        assert pre_logits
        return x[:, 0] if self.shape == "tokens" else x.flatten(1)[:, :3]


def timm_with(monkeypatch, model, **settings) -> dict:
    asked: dict = {}

    def create_model(name, **options):
        asked.update(options, name=name)
        return model

    data = SimpleNamespace(resolve_model_data_config=lambda _: {**SETTINGS, **settings})
    fake(monkeypatch, "timm", create_model=create_model, data=data)
    return asked


@pytest.mark.parametrize("shape", ["first", "last", "tokens"])
def test_timm(monkeypatch, shape):
    model = TimmLike(shape).eval()
    asked = timm_with(monkeypatch, model)
    made = backbone("timm:tiny")
    assert asked == {"name": "tiny", "pretrained": True, "num_classes": 0}
    with torch.inference_mode():
        pixels = pixels_of(made)
        expected = model.stem(pixels)
        seen = made.network.module(pixels)
        own = model.forward_head(model.forward_features(pixels), pre_logits=True)
    torch.testing.assert_close(seen.map, expected)
    np.testing.assert_allclose(made.embed(PICTURES), own, atol=1e-6)
    gap = backbone("timm:tiny", pooling="gap")
    np.testing.assert_allclose(gap.embed(PICTURES), expected.mean((2, 3)), atol=1e-6)
    assert (made.network.licence, gap.name) == ("apache-2.0", "timm:tiny:gap")
    assert made.identity.startswith("timm:tiny ")
    assert made.embed([]).shape == (0, made.dim)
    how = made.network.preprocessing
    assert (how.size, how.fit, how.margin) == (16, "crop", 1.25)
    timm_with(monkeypatch, model, crop_mode="squash")
    assert networks.load("timm:tiny").preprocessing.fit == "squash"


def test_a_hub_that_cannot_be_reached(monkeypatch):
    def create_model(*_, **__):
        raise OSError("We couldn't connect to\nthe hub.")

    fake(monkeypatch, "timm", create_model=create_model)
    with pytest.raises(FoldwalkError, match=r"timm:x cannot be loaded \(We couldn't connect to the hub\)"):
        backbone("timm:x")
    with pytest.raises(BadParameter, match="no option 'zebra'; there are size, fit, pooling, scales"):
        backbone("timm:x", zebra=3)


def test_settings_that_cannot_be_used(monkeypatch):
    timm_with(monkeypatch, TimmLike("first"), crop_pct=0)
    with pytest.raises(FoldwalkError, match="timm:x cannot be loaded"):
        backbone("timm:x")


def test_other_weights_other_identity(monkeypatch):
    models = [TimmLike("first") for _ in range(3)]
    models[1].load_state_dict(models[0].state_dict())
    made = []
    for model in models:
        timm_with(monkeypatch, model)
        made.append(backbone("timm:tiny").identity)
    assert made[0] == made[1] != made[2]


# open_clip -------------------------------------------------------------------------------------------------


class ClipLike(nn.Module):
    def __init__(self, tokens: bool) -> None:
        super().__init__()
        self.visual = VisualLike(tokens)
        self.text = nn.Embedding(9, 5)

    def encode_text(self, tokens):
        return self.text(tokens).sum(1)


class VisualLike(nn.Module):
    def __init__(self, tokens: bool) -> None:
        super().__init__()
        self.patch_size, self.stem, self.proj = (4, 4), nn.Conv2d(3, 6, 4, 4), nn.Linear(6, 5)
        if tokens:
            self.output_tokens = False

    def forward(self, x):
        maps = self.stem(x)
        own = self.proj(maps.mean((2, 3)))
        return (own, maps.flatten(2).transpose(1, 2)) if getattr(self, "output_tokens", False) else own


def open_clip_with(monkeypatch, model):
    def create_model(name, pretrained, load_weights_only):
        assert (name, pretrained, load_weights_only) == ("ViT-B-32", "openai", True)
        return model

    def tokenize(texts):
        return torch.tensor([[len(word) for word in text.split()[:2]] for text in texts])

    fake(
        monkeypatch,
        "open_clip",
        create_model=create_model,
        get_model_preprocess_cfg=lambda _: {
            "size": (16, 16),
            "mean": [0.5] * 3,
            "std": [0.5] * 3,
            "interpolation": "bicubic",
            "resize_mode": "shortest",
        },
        get_tokenizer=lambda name: tokenize if name == "ViT-B-32" else None,
        list_pretrained_tags_by_model=lambda _: ["openai", "laion"],
    )


@pytest.mark.parametrize("tokens", [True, False])
def test_open_clip(monkeypatch, tokens):
    model = ClipLike(tokens).eval()
    open_clip_with(monkeypatch, model)
    made = backbone("open_clip:ViT-B-32/openai")
    with torch.inference_mode():
        maps = model.visual.stem(pixels_of(made))
        seen = made.network.module(pixels_of(made))
    np.testing.assert_allclose(made.embed(PICTURES), model.visual.proj(maps.mean((2, 3))).detach(), atol=1e-6)
    torch.testing.assert_close(seen.map, maps if tokens else seen.cls[:, :, None, None])
    assert made.knows_words
    expected = model.text(torch.tensor([[3, 7], [1, 4]])).sum(1).detach()
    np.testing.assert_allclose(made.embed_text(["red bicycle", "a boat"]), expected)
    how = made.network.preprocessing
    assert (how.size, how.fit, how.margin) == (16, "crop", 1.0)
    with pytest.raises(BadParameter, match=r"must name its weights, as in open_clip:ViT-B-32/laion"):
        backbone("open_clip:ViT-B-32")
    with pytest.raises(BadInput, match="knows words only with the pooling cls"):
        backbone("open_clip:ViT-B-32/openai:gap").embed_text(["x"])
