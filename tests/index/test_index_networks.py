"""An index described by a network in a folder: noted, opened again, searched by pictures and by words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.descriptors import backbone
from foldwalk.index import Index, Like, Text
from tiny_models import save, save_tokenizer

pytest.importorskip("transformers")
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with pictures and two models."""
    top = tmp_path_factory.mktemp("place")
    (top / "photos").mkdir()
    for number in range(30):
        values = RNG.integers(0, 255, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(values).resize((80, 60)).save(top / "photos" / f"{number:02}.png")
    save("clip", top / "clip")
    save_tokenizer(top / "clip")
    save("dinov2", top / "dinov2")
    return top


@pytest.fixture(scope="module")
def clip_index(place) -> Path:
    with Index.create(place / "clip.fold", backbone=f"hf:{place / 'clip'}") as index:
        index.add_images(place / "photos")
    return place / "clip.fold"


def test_the_command_notes_the_folder_and_the_pooling(run, place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    target = str(tmp_path / "x.fold")
    assert run("index", "photos", "--backbone", "hf:./dinov2:gem", "--out", target)[0] == 0
    monkeypatch.chdir(tmp_path)  # the name holds from anywhere
    with Index.open(target) as index:
        assert index.info().backbone == f"hf:{place / 'dinov2'}:gem"
        assert index.dim == 16
        found = index.search(place / "photos" / "07.png", top=3)
        assert found.hits[0].key.endswith("07.png")
        expected = backbone(f"hf:{place / 'dinov2'}", pooling="gem").embed(
            [Image.open(place / "photos" / "03.png").convert("RGB")]
        )
        np.testing.assert_allclose(
            index.vector("03.png"), expected[0] / np.linalg.norm(expected[0]), atol=1e-5
        )
    _, out, _ = run("search", target, str(place / "photos" / "11.png"), "--json")
    assert json.loads(out)["results"][0]["hits"][0]["key"] == "11.png"


def test_another_model_in_the_folder_is_refused(place, tmp_path):
    save("vit", tmp_path / "model")
    with Index.create(tmp_path / "x.fold", backbone=f"hf:{tmp_path / 'model'}") as index:
        index.add_images(place / "photos")
    save("vit", tmp_path / "model", seed=1)
    with (
        Index.open(tmp_path / "x.fold") as index,
        pytest.raises(BadInput, match="was described by hf ViTModel"),
    ):
        index.search(place / "photos" / "07.png")


@pytest.mark.parametrize(
    ("folder", "reason"),
    [("none", "is not a folder"), ("photos", "has no config.json"), ("pickle", "has no model.safetensors")],
)
def test_folders_that_cannot_be_used(run, place, tmp_path, folder, reason):
    if folder == "pickle":
        save("vit", place / folder)
        (place / folder / "model.safetensors").rename(place / folder / "pytorch_model.bin")
    target = tmp_path / "x.fold"
    code, _, err = run(
        "index", str(place / "photos"), "--backbone", f"hf:{place / folder}", "--out", str(target)
    )
    assert code == 2
    assert reason in err
    assert len(err.strip().splitlines()) == 1
    assert not target.exists()


# Words -----------------------------------------------------------------------------------------------------


def test_words_find_what_is_nearest_to_their_vector(place, clip_index):
    with Index.open(clip_index) as index:
        words = backbone(f"hf:{place / 'clip'}").embed_text(["red bicycle"])[0]
        order = np.argsort(-(index.vectors() @ words), kind="stable")
        found = index.search(Text("red bicycle"), top=10)
        assert [hit.key for hit in found.hits] == [index.keys()[row] for row in order[:10]]
        assert found.method == "plain"
        walked = index.search(Text("red bicycle"), top=10, method="aqe", parameters={"k": 4})
        assert walked.method == "aqe"
        assert walked.plain == tuple(hit.key for hit in found.hits)
        assert index.explain(Text("red bicycle"), found.hits[3].key).rank == 4
        both = index.search(Like([Text("red bicycle"), Text("a boat")]), top=5, method="plain")
        assert len(both) == 5


def test_a_preferred_method_is_not_for_words(clip_index):
    with Index.open(clip_index) as index:
        index.prefer("aqe", {"k": 3})
        try:
            assert index.method_for(query=Text("boat")) == ("plain", {})
            assert index.method_for() == ("aqe", {"k": 3})
        finally:
            index.forget_preferred()


@pytest.mark.parametrize("words", ["", "  ", None, 3])
def test_words_that_are_none(clip_index, words):
    with Index.open(clip_index) as index, pytest.raises(BadInput, match="must hold words"):
        index.search(Text(words))


def test_the_command_takes_words(run, clip_index):
    _, out, _ = run(
        "search", str(clip_index), "--text", "red bicycle", "--text", "a boat", "--top", "3", "--json"
    )
    results = json.loads(out)["results"]
    assert [result["query"] for result in results] == ["red bicycle", "a boat"]
    assert all(result["method"] == "plain" and len(result["hits"]) == 3 for result in results)
    _, out, _ = run("search", str(clip_index), "--text", "a boat", "--method", "aqe", "--json")
    assert json.loads(out)["results"][0]["method"] == "aqe"
    _, out, _ = run("search", str(clip_index), "--text", "a boat", "--like", "03.png", "--json")
    assert json.loads(out)["results"][0]["query"] == "a boat, like 03.png"


def test_an_index_that_does_not_know_words(run, place, tmp_path):
    target = str(tmp_path / "x.fold")
    with Index.create(target, backbone="pixels") as index:
        index.add_images(place / "photos")
    code, _, err = run("search", target, "--text", "red bicycle")
    assert code == 2
    assert err.strip().endswith(
        "pixels does not know words; to search by text, index with a CLIP model: "
        "foldwalk index photos/ --backbone hf:google/siglip-base-patch16-224."
    )
