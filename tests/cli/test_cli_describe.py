"""``foldwalk describe``: pictures, vectors and an index to vectors, with and without a trained model."""

from __future__ import annotations

import json
from pathlib import Path

import faiss
import numpy as np
import pytest
from PIL import Image

from foldwalk import Index, descriptors
from foldwalk.core.vector_files import VectorFile, read_vector_file, write_vector_file
from foldwalk.learn import GradNet
from samples import clustered

GALLERY, LABELS = clustered(n=80, d=8)
KEYS = [f"ü{row}" for row in range(len(GALLERY))]
SMALL = {"epochs": 1, "rounds": 1, "layer_sizes": "512,128,64", "anchors": 5}


@pytest.fixture
def photos(tmp_path):
    """Twelve pictures in two folders, and a file that is none."""
    for i in range(12):
        values = np.random.default_rng(i).integers(0, 255, (4, 4, 3), dtype=np.uint8)
        path = tmp_path / "photos" / f"{i % 2}" / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(values).resize((32, 32), Image.Resampling.NEAREST).save(path)
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8\xff broken")
    return tmp_path / "photos"


@pytest.fixture
def vectors(tmp_path):
    return write_vector_file(
        tmp_path / "v.npz", VectorFile(GALLERY, KEYS, [f'{{"n": {row}}}' for row in range(80)], LABELS)
    )


def pixels(paths):
    return descriptors.describe(paths, descriptors.backbone("pixels")).vectors


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_folder_of_pictures(run, photos, suffix):
    code, out, err = run("describe", "photos", "--backbone", "pixels", "--out", f"f{suffix}")
    assert (code, "left out: photos/broken.jpg: " in err) == (0, True)
    assert out.startswith(f"f{suffix}: 12 items of 1024 dimensions, 1 left out, ")
    file = read_vector_file(Path(f"f{suffix}"))
    assert file.keys == sorted(f"{i % 2}/{i}.png" for i in range(12))
    assert np.array_equal(file.vectors, pixels([photos / key for key in file.keys]))


@pytest.mark.usefixtures("photos")
def test_pictures_by_name_and_json(run):
    names = ["photos/1/3.png", "photos/0/8.png", "photos/broken.jpg"]
    code, out, err = run("describe", *names, "--backbone", "pixels", "--out", "f.npy", "--json")
    said = json.loads(out)
    assert (code, said["items"], said["dimensions"]) == (0, 2, 1024)
    assert [bad["path"] for bad in said["skipped"]] == ["photos/broken.jpg"]
    assert said["out"] == ["f.npy", "f.npy.keys.json"]
    assert json.loads(Path("f.npy.keys.json").read_text()) == names[:2]
    assert np.array_equal(np.load("f.npy"), pixels(names[:2]))
    assert "left out: photos/broken.jpg" in err


@pytest.mark.usefixtures("vectors")
def test_vectors_to_faiss_give_cosines(run):
    code, out, _ = run("describe", "v.npz", "--out", "v.faiss")
    assert (code, "v.faiss and v.faiss.keys.json: 80 items of 8 dimensions" in out) == (0, True)
    index = faiss.read_index("v.faiss")
    unit = GALLERY / np.linalg.norm(GALLERY, axis=1, keepdims=True)
    scores, ids = index.search(unit[:3], 80)
    assert isinstance(index, faiss.IndexFlatIP)
    assert json.loads(Path("v.faiss.keys.json").read_text()) == KEYS
    assert np.allclose(scores, -np.sort(-(unit[:3] @ unit.T), axis=1), atol=1e-5)
    assert ids[:, 0].tolist() == [0, 1, 2]
    np.save("plain.npy", GALLERY)
    assert run("describe", "plain.npy", "--out", "v.faiss", "--force")[0] == 0
    assert not Path("v.faiss.keys.json").exists()  # the keys of what was there before


def test_an_index_by_distance_to_faiss(run, tmp_path):
    with Index.create(tmp_path / "x.fold", backbone=None, metric="euclidean") as index:
        index.add_vectors(GALLERY, KEYS)
    assert run("describe", "x.fold", "--out", "x.index")[0] == 0
    distances, _ = faiss.read_index("x.index").search(GALLERY[:2], 1)
    assert np.allclose(distances, 0, atol=1e-5)
    squared = faiss.read_index("x.index").search(GALLERY[:1], 80)[0][0, -1]
    assert squared == pytest.approx(((GALLERY - GALLERY[0]) ** 2).sum(axis=1).max(), rel=1e-5)


@pytest.fixture
def net():
    pytest.importorskip("torch")
    return GradNet(**SMALL).fit(GALLERY[:60])


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("place", ["trained", "trained/model.safetensors"])
def test_vectors_through_a_model(run, net, place):
    Path("trained").mkdir()
    net.save("trained/model.safetensors")
    code, _, err = run("describe", "v.npz", "--model", place, "--out", "f.parquet")
    assert code == 0, err
    file = read_vector_file(Path("f.parquet"))
    assert np.allclose(file.vectors, net.transform(GALLERY), atol=1e-6)
    assert (file.keys, file.labels.tolist()) == (KEYS, list(LABELS))
    assert file.metadata[7] == '{"n": 7}'


def test_pictures_through_the_model_of_an_index(run, photos):
    pytest.importorskip("torch")
    inside = sorted(photos.glob("0/*.png"))
    with Index.create("x.fold", backbone="pixels") as index:
        index.add_images(inside, root=photos)
        index.search("0/2.png", method="gradnet", parameters=SMALL)
        own, net = index.features(), index.model()
    code, _, err = run("describe", "photos/1", "--model", "x.fold", "--out", "new.npz")
    assert code == 0, err
    new = read_vector_file(Path("new.npz"))
    assert new.keys == sorted(f"{i}.png" for i in range(1, 12, 2))
    assert np.allclose(
        new.vectors, net.transform(pixels([photos / "1" / key for key in new.keys])), atol=1e-5
    )
    assert run("describe", "x.fold", "--model", "x.fold", "--out", "own.npz")[0] == 0
    learned = read_vector_file(Path("own.npz"))
    assert learned.keys == [path.relative_to(photos).as_posix() for path in inside]
    assert np.array_equal(learned.vectors, own)  # what training gave them, not what a stranger would get
    assert run("describe", "x.fold", "--out", "plain.npz")[0] == 0
    assert read_vector_file(Path("plain.npz")).vectors.shape == (6, 1024)


@pytest.mark.usefixtures("photos", "vectors")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nowhere", "--out", "f.npz"), "nowhere does not exist"),
        (("photos", "--out", "f.txt"), "f.txt must be a .npy, .npz, .parquet, .faiss or .index file"),
        (("photos", "--out", "no/f.npz"), "no is not a folder; create it first"),
        (("v.npz", "--out", "v.npz", "--force"), "v.npz is one of the inputs"),
        (
            ("v.npz", "--out", "taken.npz"),
            "taken.npz exists already; choose another name, or replace it with",
        ),
        (("v.npz", "--backbone", "pixels", "--out", "f.npz"), "--backbone describes pictures"),
        (("v.npz", "photos", "--out", "f.npz"), "several sources must all be pictures"),
        (("photos", "photos/0", "--out", "f.npz"), "one folder at a time"),
        (("photos/broken.jpg", "--backbone", "pixels", "--out", "f.npz"), "no picture that can be read"),
        (("empty", "--backbone", "pixels", "--out", "f.npz"), "empty holds no picture that can be read."),
        (("v.npz", "--model", "photos", "--out", "f.npz"), "photos has no model.safetensors"),
        (("v.npz", "--model", "m.onnx", "--out", "f.npz"), "m.onnx does not exist"),
        (("v.npz", "--model", "none.fold", "--out", "f.npz"), "none.fold does not exist"),
        (("v.npz", "--model", "v.npz", "--out", "f.npz"), "v.npz is not a GRAD-Net"),
        (("v.npz", "--model", "bare.fold", "--out", "f.npz"), "foldwalk train gradnet bare.fold"),
    ],
)
def test_refusals(run, tmp_path, arguments, expected):
    (tmp_path / "empty").mkdir()
    (tmp_path / "taken.npz").write_bytes(b"mine")
    with Index.create(tmp_path / "bare.fold", backbone=None) as index:
        index.add_vectors(GALLERY, KEYS)
    code, out, err = run("describe", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err
    assert not Path("f.npz").exists()
    assert (tmp_path / "taken.npz").read_bytes() == b"mine"


@pytest.mark.usefixtures("photos")
def test_a_model_of_other_vectors_is_refused(run, net):
    net.save("m.safetensors")
    code, _, err = run(
        "describe", "photos", "--model", "m.safetensors", "--backbone", "pixels", "--out", "f.npz"
    )
    assert code == 2
    assert "was trained on vectors of 8 dimensions, but pixels gives 1024" in err
    np.save("wide.npy", np.ones((3, 9)))
    code, _, err = run("describe", "wide.npy", "--model", "m.safetensors", "--out", "f.npz")
    assert (code, "wide.npy has 9 dimensions, but m.safetensors was trained on 8" in err) == (2, True)
