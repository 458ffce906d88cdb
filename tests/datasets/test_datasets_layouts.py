"""Sets with classes or identities, in small trees of the published layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from foldwalk import datasets
from foldwalk.core import BadInput, MissingData, Ranking


def names_below(dataset: datasets.Dataset, folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in dataset.gallery_paths]


def evaluate(dataset: datasets.Dataset, *rows: list[int]) -> dict[str, float]:
    ids = np.array(rows)
    return dataset.protocol.evaluate(Ranking(ids, np.tile(-np.arange(ids.shape[1]), (len(ids), 1))))


CUB = [
    "001.Albatross/a_1.jpg",
    "100.Pelican/b_1.jpg",
    "101.Gull/c_1.jpg",
    "101.Gull/c_2.jpg",
    "200.Wren/d_1.jpg",
]


def cub_tree(root: Path, write, draw_picture) -> Path:
    folder = root / "CUB_200_2011"
    for name in CUB:
        draw_picture(folder / "images" / name)
    write(folder / "images.txt", "\n".join(f"{i} {name}" for i, name in enumerate(CUB, 1)))
    write(
        folder / "image_class_labels.txt", "\n".join(f"{i} {int(name[:3])}" for i, name in enumerate(CUB, 1))
    )
    return folder


def test_cub_lists_and_class_folders_agree(tmp_path: Path, write, draw_picture) -> None:
    folder = cub_tree(tmp_path / "lists", write, draw_picture)
    for name in CUB:
        draw_picture(tmp_path / "plain" / "images" / "cub200_112" / name)
    for root in (tmp_path / "lists", tmp_path / "plain"):
        test = datasets.load("cub200", root)
        assert test.kind == "pictures"
        assert test.labels.tolist() == ["101.Gull", "101.Gull", "200.Wren"]
        train = datasets.load("cub_first100", root)
        assert train.labels.tolist() == ["001.Albatross", "100.Pelican"]
    assert names_below(datasets.load("cub200", tmp_path / "lists"), folder / "images") == CUB[2:]
    with pytest.raises(BadInput, match="not used as raw pixels"):
        datasets.load("cub200:pixels", tmp_path / "lists")


def test_cub_features_find_pictures_below_images(tmp_path: Path, write, draw_picture, save_features) -> None:
    cub_tree(tmp_path, write, draw_picture)
    save_features(
        tmp_path,
        "cub_last100_net",
        x=np.eye(3),
        labels=np.array(["101.Gull", "101.Gull", "200.Wren"]),
        paths=np.array(["c_2.jpg", "c_1.jpg", "d_1.jpg"]),
    )
    dataset = datasets.load("cub200", tmp_path)
    assert dataset.kind == "features"
    assert [path.name for path in dataset.gallery_paths] == ["c_2.jpg", "c_1.jpg", "d_1.jpg"]


def test_cub_refuses_bad_lists(tmp_path: Path, write, draw_picture) -> None:
    folder = cub_tree(tmp_path, write, draw_picture)
    write(folder / "images.txt", "1 ../../secret.jpg\n2 a.jpg")
    with pytest.raises(BadInput, match=r"images\.txt names '\.\./\.\./secret\.jpg'"):
        datasets.load("cub200", tmp_path)
    write(folder / "images.txt", "77 101.Gull/c_1.jpg")
    with pytest.raises(BadInput, match=r"no class for 101\.Gull/c_1\.jpg"):
        datasets.load("cub200", tmp_path)
    write(folder / "images.txt", "3 101.Gull/gone.jpg")
    with pytest.raises(MissingData, match=r"gone\.jpg is listed, but is not there"):
        datasets.load("cub200", tmp_path)
    (folder / "image_class_labels.txt").unlink()
    with pytest.raises(MissingData, match=r"image_class_labels\.txt is missing"):
        datasets.load("cub200", tmp_path)


def cars_annotations(path: Path, field: str, cars: list[tuple[str, int]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = np.array(
        [(10, name, number) for name, number in cars],
        dtype=[("bbox_x1", object), (field, object), ("class", object)],
    )
    scipy.io.savemat(path, {"annotations": entries[None, :]})


CARS = [("000001.jpg", 98), ("000002.jpg", 99), ("000003.jpg", 196), ("000004.jpg", 99)]


def test_cars_of_the_whole_list(tmp_path: Path, draw_picture) -> None:
    folder = tmp_path / "cars196"
    for name, _ in CARS:
        draw_picture(folder / "car_ims" / name)
    cars_annotations(folder / "cars_annos.mat", "relative_im_path", [(f"car_ims/{n}", c) for n, c in CARS])
    dataset = datasets.load("cars196", tmp_path)
    assert names_below(dataset, folder) == [f"car_ims/00000{i}.jpg" for i in (2, 3, 4)]
    assert dataset.labels.tolist() == ["99", "196", "99"]
    train = datasets.load("cars196-train", tmp_path)
    assert names_below(train, folder) == ["car_ims/000001.jpg"]
    assert train.labels.tolist() == ["98"]


def test_cars_of_the_development_kit(tmp_path: Path, draw_picture) -> None:
    folder = tmp_path / "stanford_cars"
    cars_annotations(folder / "devkit" / "cars_train_annos.mat", "fname", CARS)
    with pytest.raises(MissingData, match=r"cars_test_annos_withlabels\.mat"):
        datasets.load("cars196", tmp_path)
    cars_annotations(folder / "cars_test_annos_withlabels.mat", "fname", CARS[:2])
    for name, _ in CARS:
        draw_picture(folder / "cars_train" / name)
        draw_picture(folder / "cars_test" / name)
    dataset = datasets.load("cars196", tmp_path)
    assert names_below(dataset, folder) == [
        "cars_test/000002.jpg",
        "cars_train/000002.jpg",
        "cars_train/000003.jpg",
        "cars_train/000004.jpg",
    ]
    assert dataset.labels.tolist() == ["99", "99", "196", "99"]
    train = datasets.load("cars196-train", tmp_path)
    assert names_below(train, folder) == ["cars_test/000001.jpg", "cars_train/000001.jpg"]
    cars_annotations(folder / "cars_test_annos_withlabels.mat", "fname", [("../x.jpg", 99)])
    with pytest.raises(BadInput, match="leads out"):
        datasets.load("cars196", tmp_path)
    cars_annotations(folder / "cars_test_annos_withlabels.mat", "name", CARS)
    with pytest.raises(BadInput, match='must have "fname" and "class"'):
        datasets.load("cars196", tmp_path)


def test_stanford_online_products(tmp_path: Path, write, draw_picture) -> None:
    folder = tmp_path / "Stanford_Online_Products"
    names = ["bicycle_final/1_0.JPG", "bicycle_final/1_1.JPG", "chair_final/2_0.JPG"]
    for name in names:
        draw_picture(folder / name.replace("JPG", "jpg")).rename(folder / name)
    rows = ["image_id class_id super_class_id path"]
    rows += [f"{i} {name.split('/')[1][0]} 1 {name}" for i, name in enumerate(names, 1)]
    write(folder / "Ebay_test.txt", "\n".join(rows))
    dataset = datasets.load("sop", tmp_path)
    assert names_below(dataset, folder) == names
    assert dataset.labels.tolist() == ["1", "1", "2"]
    figures = evaluate(dataset, [1, 2], [2, 0], [0, 1])
    assert [figures[f"R@{k}"] for k in (1, 10, 100, 1000)] == [0.5, 1, 1, 1]
    assert not datasets.describe("sop-train", tmp_path).present
    write(folder / "Ebay_train.txt", "\n".join([rows[0], rows[3].replace(" 2 ", " 7 ")]))
    train = datasets.load("sop-train", tmp_path)
    assert names_below(train, folder) == names[2:]
    assert train.labels.tolist() == ["7"]
    write(folder / "Ebay_test.txt", rows[0])
    with pytest.raises(MissingData, match="lists no picture"):
        datasets.load("sop", tmp_path)


def test_grocery_of_the_repository(tmp_path: Path, write, draw_picture) -> None:
    folder = tmp_path / "GroceryStoreDataset" / "dataset"
    draw_picture(folder / "test" / "Fruit" / "Kiwi" / "Kiwi_001.jpg")
    write(folder / "test.txt", "test/Fruit/Kiwi/Kiwi_001.jpg, 11, 5\n")
    dataset = datasets.load("grocery", tmp_path)
    assert dataset.labels.tolist() == ["11"]
    write(folder / "test.txt", "/etc/passwd, 11, 5\n")
    with pytest.raises(BadInput, match="leads out"):
        datasets.load("grocery", tmp_path)


INSHOP = [
    ("img/WOMEN/Dresses/id_00000002/02_1_front.jpg", "id_00000002", "train"),
    ("img/WOMEN/Dresses/id_00000007/01_1_front.jpg", "id_00000007", "query"),
    ("img/WOMEN/Dresses/id_00000007/02_1_front.jpg", "id_00000007", "gallery"),
    ("img/MEN/Denim/id_00000080/01_1_front.jpg", "id_00000080", "gallery"),
    ("img/MEN/Denim/id_00000080/02_1_front.jpg", "id_00000080", "query"),
]


@pytest.mark.parametrize(("above", "list_folder"), [("", "Eval"), ("Img", "Anno"), ("", "")])
def test_inshop(tmp_path: Path, write, draw_picture, above: str, list_folder: str) -> None:
    folder = tmp_path / "inshop"
    for name, _, _ in INSHOP:
        draw_picture(folder / above / name)
    text = "5\nimage_name item_id evaluation_status\n" + "\n".join("   ".join(row) for row in INSHOP)
    write(folder / list_folder / "list_eval_partition.txt", text)
    dataset = datasets.load("inshop", tmp_path)
    assert names_below(dataset, folder / above) == [INSHOP[2][0], INSHOP[3][0]]
    assert [path.parent.name for path in dataset.query_paths] == ["id_00000007", "id_00000080"]
    assert evaluate(dataset, [0, 1], [1, 0])["mAP"] == 1
    half = evaluate(dataset, [1, 0], [1, 0])
    assert half["mAP"] == pytest.approx(0.75)
    assert [half[f"R@{k}"] for k in (1, 10, 20, 30, 40, 50)] == [0.5, 1, 1, 1, 1, 1]
    assert dataset.query_picture(0).size == (6, 4)
    train = datasets.load("inshop-train", tmp_path)
    assert names_below(train, folder / above) == [INSHOP[0][0]]
    assert train.labels.tolist() == ["id_00000002"]
    assert train.query_paths is None


def test_inshop_features(tmp_path: Path, write, save_features) -> None:
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    columns = [np.array(column) for column in zip(*INSHOP, strict=True)]
    save_features(tmp_path, "inshop_net", x=x, paths=columns[0], labels=columns[1], split=columns[2])
    alone = datasets.load("inshop", tmp_path)
    text = "5\nimage_name item_id evaluation_status\n" + "\n".join(" ".join(row) for row in INSHOP)
    write(tmp_path / "inshop" / "list_eval_partition.txt", text)
    for dataset in (alone, datasets.load("inshop", tmp_path)):
        assert np.array_equal(dataset.gallery, x[[2, 3]])
        assert np.array_equal(dataset.queries, x[[1, 4]])
        assert evaluate(dataset, [1, 0], [1, 0])["mAP"] == pytest.approx(0.75)
        assert dataset.gallery_paths is None
        assert dataset.query_picture(0) is None
    with pytest.raises(MissingData, match="inshop as pictures"):
        datasets.load("inshop:pictures", tmp_path)


MARKET = {
    "bounding_box_test": [
        "-1_c1s1_000401_03.jpg",
        "0000_c2s1_000001_00.jpg",
        "0002_c1s1_000451_01.jpg",
        "0002_c3s1_000551_01.jpg",
        "0007_c2s1_000001_01.jpg",
    ],
    "query": ["0002_c1s1_000451_00.jpg", "0007_c4s1_000001_00.jpg"],
}


def market_tree(folder: Path, draw_picture) -> Path:
    for below, names in MARKET.items():
        for name in names:
            draw_picture(folder / below / name)
    (folder / "query" / "Thumbs.db").write_bytes(b"?")
    return folder


def check_market(dataset: datasets.Dataset) -> None:
    assert dataset.labels.tolist() == [-1, 0, 2, 2, 7]
    # junk (0) and the same person under the same camera (2) are passed over, the distractor (1) is wrong
    figures = evaluate(dataset, [0, 2, 1, 3, 4], [4, 0, 1, 2, 3])
    assert figures["mAP"] == pytest.approx((0.5 + 1) / 2)
    assert figures["CMC@1"] == 0.5


def test_market(tmp_path: Path, draw_picture) -> None:
    folder = market_tree(tmp_path / "Market-1501-v15.09.15", draw_picture)
    dataset = datasets.load("market1501", tmp_path)
    assert names_below(dataset, folder / "bounding_box_test") == MARKET["bounding_box_test"]
    assert [path.name for path in dataset.query_paths] == MARKET["query"]
    check_market(dataset)
    draw_picture(folder / "query" / "somebody.jpg")
    with pytest.raises(BadInput, match=r"query/somebody\.jpg does not begin with an identity and a camera"):
        datasets.load("market1501", tmp_path)
    for path in (folder / "query").iterdir():
        path.unlink()
    with pytest.raises(MissingData, match="query holds no pictures"):
        datasets.load("market1501", tmp_path)


def test_market_features(tmp_path: Path, draw_picture, save_features) -> None:
    paths = [*MARKET["query"], *MARKET["bounding_box_test"]]
    split = ["query"] * 2 + ["gallery"] * 5
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    save_features(tmp_path, "market1501_net", x=x, paths=np.array(paths), split=np.array(split))
    alone = datasets.load("market1501", tmp_path)
    assert alone.picture(0) is None
    market_tree(tmp_path / "market1501", draw_picture)
    beside = datasets.load("market1501", tmp_path)
    assert beside.picture(0) is not None
    for dataset in (alone, beside):
        assert np.array_equal(dataset.gallery, x[2:])
        assert np.array_equal(dataset.queries, x[:2])
        check_market(dataset)
    save_features(tmp_path, "market1501_net", x=x[2:], x_query=x[:2])
    assert np.array_equal(datasets.load("market1501", tmp_path).queries, x[:2])
    with pytest.raises(BadInput, match="does not say what is gallery or test"):
        datasets.load(str(tmp_path / "features" / "market1501_net.npz"), tmp_path / "elsewhere")


def test_the_same_name_may_be_query_and_gallery(tmp_path: Path, save_features) -> None:
    name = "0002_c1s1_000451_00.jpg"
    paths, split = np.array([name, name, "0002_c2s1_1_00.jpg"]), np.array(["query", "gallery", "gallery"])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    save_features(tmp_path, "market1501_net", x=x, paths=paths, split=split)
    dataset = datasets.load("market1501", tmp_path)
    assert np.array_equal(dataset.queries, x[:1])
    assert np.array_equal(dataset.gallery, x[1:])


CUHK03 = {"detected": "cuhk03", "labeled": "cuhk03-labeled"}


@pytest.mark.parametrize("boxes", ["labeled", "detected"])
def test_cuhk03_like_market(tmp_path: Path, draw_picture, boxes: str) -> None:
    market_tree(tmp_path / "CUHK03-NP" / boxes, draw_picture)
    check_market(datasets.load(CUHK03[boxes], tmp_path))
    other = {"labeled": "detected", "detected": "labeled"}[boxes]
    assert not datasets.describe(CUHK03[other], tmp_path).present


@pytest.mark.parametrize("boxes", ["labeled", "detected"])
def test_cuhk03_by_its_protocol_file(tmp_path: Path, draw_picture, boxes: str) -> None:
    names = ["1_001_1_01.png", "1_001_2_06.png", "1_002_1_01.png", "1_002_2_06.png", "1_002_1_02.png"]
    folder = tmp_path / "cuhk03"
    for name in names:
        draw_picture(folder / f"images_{boxes}" / name)
    config = folder / f"cuhk03_new_protocol_config_{boxes}.mat"
    values = {
        "filelist": np.array(names, dtype=object)[:, None],
        "labels": np.array([[1], [1], [2], [2], [2]]),
        "camId": np.array([[1], [2], [1], [2], [1]]),
        "train_idx": np.array([[1], [2]]),
        "query_idx": np.array([[3]]),
        "gallery_idx": np.array([[2], [4], [5]]),
    }
    scipy.io.savemat(config, values)
    dataset = datasets.load(CUHK03[boxes], tmp_path)
    assert [path.name for path in dataset.gallery_paths] == [names[1], names[3], names[4]]
    assert [path.name for path in dataset.query_paths] == [names[2]]
    assert evaluate(dataset, [2, 1, 0])["mAP"] == 1  # item 2 is the same person under the same camera
    assert evaluate(dataset, [2, 0, 1])["mAP"] == pytest.approx(0.5)
    scipy.io.savemat(config, values | {"query_idx": np.array([[6]])})
    with pytest.raises(BadInput, match="query_idx lies outside the 5 names"):
        datasets.load(CUHK03[boxes], tmp_path)
    scipy.io.savemat(config, values | {"camId": np.array([[1]])})
    with pytest.raises(BadInput, match="as many labels and cameras"):
        datasets.load(CUHK03[boxes], tmp_path)


def test_small_sets_in_their_authors_folders(tmp_path: Path, draw_picture) -> None:
    for name in ("att_faces/s1/1.pgm", "att_faces/s1/2.pgm", "att_faces/s10/1.pgm"):
        draw_picture(tmp_path / name, size=(92, 112), grey=7)
    for name in ("obj1__0.png", "obj1__5.png", "obj2__0.png"):
        draw_picture(tmp_path / "coil-20-proc" / name, size=(128, 128), grey=8)
    for name in ("Bone-1.gif", "Bone-2.gif", "device0-1.gif", "device0-12.gif"):
        draw_picture(tmp_path / "original" / name, size=(30, 50), grey=255)
    orl, coil, mpeg = (datasets.load(name, tmp_path) for name in ("orl", "coil20", "mpeg7"))
    assert [d.kind for d in (orl, coil, mpeg)] == ["pixels"] * 3
    assert orl.labels.tolist() == ["s1", "s1", "s10"]
    assert coil.labels.tolist() == ["obj1", "obj1", "obj2"]
    assert mpeg.labels.tolist() == ["bone", "bone", "device0", "device0"]
    assert [d.gallery.shape[1] for d in (orl, coil, mpeg)] == [92 * 112, 32 * 32, 64 * 64]
    assert (orl.gallery == 7).all()
    assert (coil.gallery == 8).all()
    assert (mpeg.gallery == 255).all()
