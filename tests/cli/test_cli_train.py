"""``foldwalk train`` on what people have: pictures, vectors, an index, with labels and without."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from foldwalk import Index
from foldwalk.cli.params import parse_sections
from foldwalk.core import BadInput
from foldwalk.core.vector_files import read_vector_file
from foldwalk.descriptors import backbone
from samples import clustered

SUFFIXES = (".JPG", ".jpeg", ".png", ".webp")
QUICK = ("--epochs", "1", "--out", "out")
VECTORS, LABELS = clustered(n=96, d=12, clusters=8)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FOLDWALK_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def draw(path: Path, kind: int, number: int) -> None:
    """A shape of the kind, its colour and place by the number."""
    rng = np.random.default_rng(100 * kind + number)
    picture = Image.new("RGB", (48, 48), "white")
    x, y = rng.integers(2, 14, 2).tolist()
    pen = ImageDraw.Draw(picture)
    colour = tuple(rng.integers(0, 200, 3).tolist())
    pen.regular_polygon((x + 16, y + 16, 14), 3 + kind, fill=colour)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path)


@pytest.fixture
def photos(tmp_path):
    """photos/: 4 class folders of 6 pictures, in files of all names; flat/: the same without folders."""
    for kind in range(4):
        for number in range(6):
            name = f"{number}{SUFFIXES[number % 4]}"
            draw(tmp_path / "photos" / f"k{kind}" / name, kind, number)
            draw(tmp_path / "flat" / f"{kind}-{name}", kind, number)
    return tmp_path / "photos"


@pytest.fixture
def vectors(tmp_path):
    """v.npy without labels, v.npz with, and the same as x.fold with folders and a field."""
    np.save(tmp_path / "v.npy", VECTORS)
    np.savez(tmp_path / "v.npz", vectors=VECTORS, labels=LABELS)
    keys = [f"c{label}/{place}" for place, label in enumerate(LABELS)]
    known = {key: {"kind": int(label) % 5} for key, label in zip(keys, LABELS, strict=True)}
    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        index.add_vectors(VECTORS, keys, known)
    with Index.create(tmp_path / "flat.fold", backbone=None) as index:
        index.add_vectors(VECTORS)
    return tmp_path


def told(run, *arguments: object) -> dict:
    code, out, err = run("train", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(run, *arguments: object) -> str:
    code, _, err = run("train", *arguments)
    assert code == 2, err
    lines = [line for line in err.splitlines() if line.startswith("foldwalk: ")]
    assert len(lines) == 1
    return lines[0]


def test_a_flat_folder_without_labels(run, photos):
    (photos.parent / "flat" / "broken.jpg").write_bytes(b"no picture")
    (photos.parent / "flat" / ".hidden.png").write_bytes(b"no picture")
    code, out, err = run("train", "mom", "flat", *QUICK)
    assert code == 0, err
    assert "nothing was measured" in out
    assert "24 items trained on" in out
    assert "next: foldwalk index flat --backbone out/model.onnx --out better.fold" in out
    assert "left out: flat/broken.jpg: it is not a picture" in err
    assert ".hidden" not in err
    made = {path.name for path in Path("out").iterdir()}
    assert {"model.onnx", "log.csv", "curves.png", "mined.jpg"} <= made
    with Image.open("out/mined.jpg") as mined:
        assert mined.width > 300  # an anchor, one that should be near, one that should not
    assert backbone("out/model.onnx").dim == 512
    code, out, err = run("index", "flat", "--backbone", "out/model.onnx", "--out", "better.fold")
    assert code == 0, err
    with Index.open("better.fold") as index:
        assert index.dim == 512
    code, out, err = run("describe", "better.fold", "--model", "out/model.onnx", "--out", "f.npz")
    assert code == 2
    assert "one that describes pictures goes by --backbone" in err


@pytest.mark.usefixtures("photos")
def test_class_folders_are_labels_and_some_are_held_out(run):
    code, out, err = run("train", "cgml", "photos", *QUICK, "--param", "data.held_out=.5")
    assert code == 0, err
    assert "before" in out
    assert "after" in out
    assert "measured on 12 items of 2 classes that were held out" in out
    log = csv.DictReader(Path("out/log.csv").read_text().splitlines())
    assert [row["epoch"] for row in log] == ["0", "1"]


def test_blocks_are_trained_on_pictures(run, photos):
    (photos / "k1" / "broken.png").write_bytes(b"no picture")
    small = ("model.kind=last_blocks", "model.size=64", "model.views=2", "model.dim=8", "pml.per_class=2")
    said = told(run, "pml", "photos", *QUICK, *(word for each in small for word in ("--param", each)))
    assert said["items"] == 24
    assert [Path(bad["path"]).name for bad in said["skipped"]] == ["broken.png"]
    assert backbone("out/model.onnx").dim == 8


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("source", ["v.npy", "flat.fold"])
def test_vectors_without_labels(run, source):
    said = told(run, "mom", source, *QUICK)
    assert (said["items"], said["measured_on"], said["before"]) == (96, 0, {})
    assert said["written"] == ["head.onnx", "features.npz", "curves.png"]
    learned = read_vector_file(Path("out/features.npz"))
    assert learned.vectors.shape == (96, 12)  # no wider than what it was made from
    np.testing.assert_allclose(np.linalg.norm(learned.vectors, axis=1), 1, atol=1e-5)
    code, out, err = run("train", "mom", source, "--out", "again", "--epochs", "1")
    assert "next: foldwalk index again/features.npz --out better.fold" in out
    code, out, err = run("index", "again/features.npz", "--out", "better.fold")
    assert code == 0, err
    code, out, err = run("describe", "v.npy", "--model", "again/head.onnx", "--out", "new.npz")
    assert code == 0, err
    again = read_vector_file(Path("again/features.npz")).vectors
    np.testing.assert_allclose(read_vector_file(Path("new.npz")).vectors, again, atol=1e-5)
    np.save("wide.npy", np.ones((3, 13), np.float32))
    code, _, err = run("describe", "wide.npy", "--model", "again/head.onnx", "--out", "wide.npz")
    assert code == 2
    assert "wide.npy has 13 dimensions, but again/head.onnx was trained on 12" in err


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", ["mom", "pml", "cgml", "edms"])
def test_labels_of_a_file_show_what_was_gained(run, name):
    said = told(run, name, "v.npz", *QUICK)
    assert said["measured_on"] == 24
    assert said["before"].keys() == said["after"].keys()
    assert {"R@1", "MAP@R"} <= said["after"].keys()


@pytest.mark.usefixtures("vectors")
def test_an_index_is_labelled_by_folders_or_by_a_field(run):
    assert told(run, "pml", "x.fold", *QUICK)["measured_on"] == 24  # two of eight folders
    by_field = told(run, "pml", "x.fold", "--by", "kind", "--epochs", "1", "--out", "field")
    assert by_field["measured_on"] == 0  # one of five values would not tell
    assert by_field["config"]["pml"]["classes"] == 5
    assert by_field["config"]["data"]["held_out"] == 0.25
    more = told(
        run, "pml", "x.fold", "--by", "kind", "--epochs", "1", "--out", "more", "--param", "data.held_out=.4"
    )
    assert more["measured_on"] > 0
    np.testing.assert_equal(read_vector_file(Path("more/features.npz")).keys[0], "c0/0")


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize("described_by", ["effnet_lite0", "effnet_lite0:rmac"])
def test_a_head_on_the_vectors_of_an_index_becomes_a_backbone(run, described_by):
    run("index", "flat", "--backbone", described_by, "--out", "flat.fold")
    said = told(run, "mom", "flat.fold", *QUICK, "--param", "model.dim=9")
    assert said["written"] == ["model.onnx", "curves.png", "mined.jpg"]
    with Index.open("flat.fold") as index:
        first, vectors = index.keys()[0], index.vectors()
    with Image.open(Path("flat", first)) as picture:
        found = backbone("out/model.onnx").embed([picture.convert("RGB")])
    state = torch.load("out/checkpoint.pt", weights_only=True)["model"]
    weight, bias = (
        next(v for k, v in state.items() if k.endswith(end)).numpy() for end in ("weight", "bias")
    )
    expected = vectors[:1] @ weight.T + bias
    cosine = (found * expected).sum() / np.linalg.norm(expected)
    assert cosine > 0.999
    _, out, _ = run("train", "mom", "flat.fold", *QUICK, "--param", "model.dim=9")
    assert f"next: foldwalk index {Path('flat').absolute()} --backbone out/model.onnx" in out


@pytest.mark.usefixtures("photos")
def test_labels_of_a_csv_file(run):
    files = sorted(Path("flat").iterdir())
    rows = [f"{path.name},{path.name[0]}" for path in files[:12]]
    rows += [f"{path},{path.name[0]}" for path in files[12:18]]
    Path("some.csv").write_text("path,label\n" + "\n".join(rows))
    said = told(run, "pml", "flat", "--labels", "some.csv", *QUICK, "--param", "pml.per_class=2")
    assert said["items"] == 18  # those without a label are left out
    assert said["config"]["pml"]["classes"] == 3
    everything = told(run, "mom", "flat", "--labels", "some.csv", "--epochs", "0", "--out", "all")
    assert everything["items"] == 24


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("nobody.png,1", "line 1: there is no item 'nobody.png'"),
        ("c0/0,1\nc0/0,2", "line 2: 'c0/0' has another label further up"),
        ("c0/0", "line 1: it must read key,label"),
        ("key,label\n", "holds no label"),
        ('"c0/0', "this is no CSV"),
    ],
)
def test_bad_labels_are_refused(run, rows, expected):
    Path("bad.csv").write_text(rows)
    assert expected in refused(run, "pml", "x.fold", "--labels", "bad.csv", *QUICK)
    assert not Path("out").exists()


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("pml", "v.npy"), "pml learns from labels, but v.npy has none: sort the pictures into one folder"),
        (("cgml", "flat.fold"), "foldwalk train mom needs none"),
        (("pml", "same.npz"), "all labels of same.npz are the same"),
        (("pml", "each.npz"), "no two items of each.npz share a label"),
        (("mom", "few.npy"), "few.npy holds 5 items to train on; mom needs at least 10"),
        (("mom", "v.npy", "--by", "kind"), "v.npy has no metadata for --by kind"),
        (("mom", "v.npy", "--by", "folders"), "no item of v.npy lies in a folder"),
        (("mom", "x.fold", "--by", "colour"), "has the field 'colour'; there are kind"),
        (("mom", "x.fold", "--by", "kind", "--labels", "v.npy"), "two kinds of labels"),
        (
            ("mom", "v.npy", "--param", "model.kind=last_blocks"),
            "but those of v.npy are not there",
        ),
        (("mom", "v.npy", "--param", "model.kind=conv"), "conv is for data sets"),
        (("mom", "v.npy", "--param", "data.train=orl"), "v.npy is what is trained on"),
        (("mom", "v.npy", "--param", "mom.margin=-1"), "mom.margin: input should be greater than 0"),
        (("mom", "v.npy", "--param", "mum.margin=1"), "no section mum"),
        (("mom", "v.npy", "--param", "margin=1"), "--param margin must read section.name=value"),
        (("mom", "v.npy", "--config", "nowhere"), "no configuration 'nowhere'"),
        (("mom", "nowhere/x"), "does not exist"),
        (("mom", "nowhere"), 'no data set "nowhere"'),
        (("mom", "empty"), "empty holds no pictures"),
        (("mom", "damaged"), "holds no picture that can be read (damaged/0.png: it is not a picture"),
        (("mom",), "mom needs something to train on"),
        (("mom", "--config", "cub-pml", "--by", "folders"), "--labels and --by are for a SOURCE"),
        (("gradnet", "v.npy", "--by", "folders"), "gradnet learns without labels"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(run, arguments, expected):
    np.savez("same.npz", vectors=VECTORS, labels=np.zeros(96, int))
    np.savez("each.npz", vectors=VECTORS, labels=np.arange(96))
    np.save("few.npy", VECTORS[:5])
    Path("empty").mkdir()
    Path("damaged").mkdir()
    for number in range(12):
        Path("damaged", f"{number}.png").write_bytes(b"no picture")
    assert expected in refused(run, *arguments, *QUICK)
    assert not Path("out").exists()


@pytest.mark.usefixtures("vectors")
def test_a_configuration_beside_a_source_says_everything_but_the_data(run):
    above = ("--param", "model.dim=6", "--seed", "7")
    assert "a batch of 13 classes" in refused(run, "pml", "v.npz", "--config", "cub-pml", *QUICK, *above)
    said = told(run, "pml", "v.npz", "--config", "cub-pml", *QUICK, *above, "--param", "pml.classes=4")
    assert said["config"]["data"]["train"] == "v.npz"
    assert said["config"]["training"]["seed"] == 7
    assert said["config"]["training"]["schedule"] == "cosine"
    assert said["config"]["pml"]["loss"] == "multi_similarity"
    assert read_vector_file(Path("out/features.npz")).vectors.shape[1] == 6


def test_sections_of_parameters():
    assert parse_sections(["a.b=1", "a.c.d=x", "e.f=.5"]) == {"a": {"b": 1, "c": {"d": "x"}}, "e": {"f": 0.5}}
    for wrong in (["a=1"], ["a.=1"], [".a=1"], ["a.b=1", "a.b.c=2"], ["a.b.c=2", "a.b=1"], ["a.b.c.d=1"]):
        with pytest.raises(BadInput, match="--param"):
            parse_sections(wrong)
