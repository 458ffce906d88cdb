"""What every registered kind of network promises. A kind added later is tested here without an edit.

A kind whose packages or weights are not there says so in one sentence; that is tested in place of the rest.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from PIL import Image

from foldwalk.core import MissingData, MissingExtra
from foldwalk.descriptors import backbone, networks
from foldwalk.descriptors.networks import Preprocessing
from tiny_models import FAMILIES, save

torch = pytest.importorskip("torch")

NAMES = networks.names()
RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 255, (48, 64, 3), dtype=np.uint8)) for _ in range(3)]
OWN = "a module of one's own"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("networks")


@cache
def made(name, folder):
    """A network of this kind, or the error in its place."""
    if name == OWN:
        module = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Conv2d(4, 5, 3)
        )
        return networks.from_module(module, preprocessing=Preprocessing(size=16), name="mine")
    try:
        if name.startswith("hf "):
            family = name.partition(" ")[2]
            save(family, folder / family)
            return networks.load(f"hf:{folder / family}")
        return networks.load(networks.describe(name).example)
    except (MissingExtra, MissingData) as error:
        return error


TRIED = [*(name for name in NAMES if name != "hf"), *(f"hf {family}" for family in FAMILIES), OWN]


@pytest.fixture(params=TRIED)
def network(request, folder):
    found = made(request.param, folder)
    if isinstance(found, Exception):
        assert "\n" not in str(found)
        assert str(found).endswith(".")
        if isinstance(found, MissingExtra):
            assert f"foldwalk[{networks.describe(request.param).extra}]" in str(found)
        pytest.skip(str(found))
    found.freeze("all", norms=True)
    found.module.eval()
    return found


def batch(network):
    return torch.from_numpy(np.stack([network.prepare(picture) for picture in PICTURES]))


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_a_user_needs(name):
    card = networks.describe(name)
    assert card.name == name
    assert all((card.summary, card.named, card.example, card.extra))
    assert networks.is_known(card.example)


def test_maps_and_own_vectors(network):
    prepared = batch(network)
    side = network.preprocessing.size
    assert (tuple(prepared.shape), prepared.dtype) == ((3, side, side, 3), torch.uint8)
    with torch.inference_mode():
        seen = network.module(network.pixels(prepared))
    assert seen.map.shape[:2] == (3, network.channels)
    assert torch.isfinite(seen.map).all()
    assert (seen.cls is None) == (network.own_dim == 0)
    assert seen.cls is None or seen.cls.shape == (3, network.own_dim)


def test_as_a_backbone_it_gives_the_same_vectors(network):
    for pooling in ("gap", "mac", "gem", "rmac", *(["cls"] if network.own_dim else [])):
        model = backbone(network, pooling=pooling, device="cpu")
        with torch.inference_mode():
            expected = network.vectors(batch(network), pooling)
        assert model.dim == network.width(pooling)
        np.testing.assert_allclose(model.embed(PICTURES), expected, rtol=1e-4, atol=1e-4)


def test_its_blocks_hold_every_parameter_they_can(network):
    blocks = network.blocks
    assert len(blocks) >= 3
    inside = [id(parameter) for block in blocks for parameter in block.parameters()]
    assert len(inside) == len(set(inside))
    assert set(inside) <= {id(parameter) for parameter in network.module.parameters()}
    assert len(inside) > len(list(network.module.parameters())) / 2


def test_a_step_changes_what_is_trained_and_nothing_else(network):
    for keep, count in (("head", 1), ("last_blocks", 1), ("all", 1)):
        groups = network.freeze(keep, count)
        assert bool(groups) == (keep != "head")
        before = {name: values.detach().clone() for name, values in network.module.state_dict().items()}
        network.module.train()
        found = network.vectors(batch(network), "gap")
        assert found.requires_grad == (keep != "head")
        if groups:
            optimizer = torch.optim.SGD(groups, lr=0.1)
            found.square().sum().backward()
            optimizer.step()
        trained = {name for name, values in network.module.named_parameters() if values.requires_grad}
        changed = {
            n for n, values in network.module.state_dict().items() if not torch.equal(values, before[n])
        }
        assert changed <= trained
        network.module.load_state_dict(before)
        network.module.zero_grad()


def test_loaded_again_it_is_the_same(network, folder):
    name = next(each for each in TRIED if made(each, folder) is network)
    if name == OWN:
        pytest.skip("it is made by hand")
    again = made.__wrapped__(name, folder)
    assert again.identity == network.identity
    with torch.inference_mode():
        assert torch.equal(again.vectors(batch(again)), network.vectors(batch(network)))
