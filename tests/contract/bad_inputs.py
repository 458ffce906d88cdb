"""Files, names and numbers that no command can use, made by code; each file by the kind it pretends to be."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e400",
    "1" + "0" * 40,
    "-" + "9" * 30,
    "0x10",
    "1_0",
    "",
    " ",
    "½",
)
ESCAPES = "\x1b]8;;http://x\x07\x1b[31m\x9b2J\u202e[bold][/]"
TEXTS = (
    "",
    " ",
    "nul\0byte",
    "\udcff\udc80",  # bytes that are not UTF-8, as Python hands them on
    ESCAPES,
    "=",
    "k=nan",
    "plain.k=inf",
    "k=" + "9" * 5_000,
    "k=" + "-" * 5_000,
    "k=" + "(" * 500,
    "year=1..x",
    "x" * 5_000,
    "-",
    "none://host/x",
    "file://",
    "http://127.0.0.1:1/x.npy",
    "/dev/null",
    "/dev/zero",
    "/proc/self/mem",
    "/proc/nowhere/x.npz",
    "missing/x.npz",
)
DEEP = 100_000


def _npy(shape: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (118 - len(header) - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def _array(value: object) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(value))
    return out.getvalue()


def _zip(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return out.getvalue()


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


# What a stranger's file of each kind may hold.
CONTENTS: dict[str, dict[str, bytes]] = {
    ".npy": {
        "huge": _npy("(1000000000, 1000000)"),
        "negative": _npy("(-1, 4)"),
        "deep": _npy("(" * 5_000),
        "object": _npy("(2, 2)").replace(b"<f4", b"|O'"),
        "pickle": b"\x80\x04}.",
        "scalar": _array(3.0),
        "empty-rows": _array(np.zeros((0, 4), np.float32)),
        "no-columns": _array(np.zeros((4, 0), np.float32)),
        "not-finite": _array([[np.nan, np.inf], [1, 2]]),
        "text": _array(["a", "b"]),
        "cube": _array(np.zeros((2, 2, 2))),
    },
    ".npz": {
        "huge": _zip(vectors=_npy("(1000000000, 1000000)")),
        "two": _zip(a=_array([[1.0]]), b=_array([[1.0]])),
        "keys": _zip(vectors=_array([[1.0, 2.0]] * 2), keys=_array(["a", "a"])),
        "odd-keys": _zip(vectors=_array([[1.0, 2.0]] * 2), keys=_array(["\x1b[31m", ""])),
        "metadata": _zip(vectors=_array([[1.0, 2.0]]), metadata=_array(["[" * DEEP])),
        "ranking": _zip(ids=_array([[0, 10**12]]), scores=_array([[1.0, 0.5]])),
        "floats": _zip(ids=_array([[np.nan]]), scores=_array([[1.0]])),
        "sparse": _zip(
            format=_array(b"csr"),
            shape=_array([10**9, 10**9]),
            data=_array([1.0]),
            indices=_array([7]),
            indptr=_array([0, 1]),
        ),
    },
    ".parquet": {"half": b"PAR1" + b"\0" * 20 + b"PAR1"},
    ".csv": {
        "minus": _text("key,n\na,-\n"),
        "signs": _text(f"key,n\na,{'-' * 20_000}1\n"),
        "brackets": _text(f"key,n\na,{'(' * 20_000}\n"),
        "digits": _text(f"key,n\na,{'9' * 10_000}\n"),
        "no-key": _text("a,b\n1,2\n"),
        "wide": _text(f"key,n\na,{'x' * 200_000}\n"),
        "latin": b"key,n\na,\xff\n",
        "nul": b"key,n\na,\0\n",
        "ranking": _text("query,position,id,score\n999999999999,0,0,1\n"),
        "words": _text("query,position,id,score\na,b,c,d\n"),
    },
    ".json": {
        "deep": _text("[" * DEEP),
        "deep-inside": _text('{"v:1": ' + '{"a":' * DEEP + "1" + "}" * DEEP + "}"),
        "list": b"[]",
        "values": b'{"v:1": 3}',
        "nan": b'{"v:1": {"a": NaN, "b": 1e999}}',
        "digits": b'{"v:1": {"a": ' + b"9" * 10_000 + b"}}",
        "lone": b'{"v:1": {"a": "\\ud800"}}',
    },
    ".toml": {
        "deep": _text("a = " + "[" * DEEP),
        "dotted": _text("a" + ".a" * DEEP + " = 1"),
        "dotted-short": _text("data" + ".a" * 4_000 + " = 1"),
        "section": _text("[nowhere]\nx = 1"),
        "flat": _text("data = 3"),
        "types": _text("[data]\ntrain = 3\n[training]\nepochs = 'many'"),
        "path": _text('[data]\ntrain = "bad\\u0000name"'),
        "infinite": _text("[training]\nlearning_rate = inf\nepochs = 99999999999999999999"),
    },
    ".onnx": {"bytes": b"\x08\x07" + b"\xff" * 64},
    ".safetensors": {
        "huge": struct.pack("<Q", 2**62) + b"{}",
        "header": struct.pack("<Q", 2) + b"[]",
        "deep": struct.pack("<Q", 5_000) + b"[" * 5_000,
    },
    ".png": {"bomb": _png(60_000, 60_000), "few": _png(8, 8)},
    ".faiss": {"bytes": b"IxFI" + b"\xff" * 64},
}


def make_files(folder: Path) -> dict[str, list[str]]:
    """Bad files of each kind, by suffix; "" are those that are no file, "fold" broken indexes."""
    made: dict[str, list[str]] = {suffix: [] for suffix in CONTENTS}
    for suffix, contents in CONTENTS.items():
        for name, content in {**contents, "empty": b"", "noise": bytes(range(256)) * 4}.items():
            path = folder / f"{name}{suffix}"
            path.write_bytes(content)
            made[suffix].append(str(path))
        for name, make in NO_FILES.items():
            path = folder / f"{name}{suffix}"
            make(path)
            made[suffix].append(str(path))
    made[""] = []
    for name, make in {**NO_FILES, **FOLDERS}.items():
        path = folder / name
        make(path)
        made[""].append(str(path))
    made["fold"] = []
    for name, make in {**NO_FILES, **INDEXES}.items():
        path = folder / f"{name}.fold"
        make(path)
        made["fold"].append(str(path))
    return made


def damaged_copies(index: Path, folder: Path) -> list[str]:
    """Copies of an index, each with one of its files lost, cut or overwritten."""
    made = []
    for file in sorted(path.relative_to(index) for path in index.rglob("*") if path.is_file()):
        size = (index / file).stat().st_size
        damages = {"cut": b"cut", "zeros": bytes(size), "noise": b"\xff" * size} if size else {}
        for damage, content in {"lost": None, **damages}.items():
            copy = folder / f"{file.name}-{damage}.fold"
            shutil.copytree(index, copy)
            (copy / file).unlink()
            if content is not None:
                (copy / file).write_bytes(content)
            made.append(str(copy))
    return made


def _fifo_inside(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "a.png")
    (folder / "b.png").symlink_to("/dev/zero")
    (folder / "c.png").symlink_to(folder / "c.png")
    (folder / os.fsdecode(b"\xff.png")).write_bytes(b"no picture")
    (folder / f"{ESCAPES.replace('/', '')}.png").write_bytes(b"no picture")


def _index_of(catalog: Callable[[Path], object]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        folder.mkdir()
        catalog(folder / "catalog.db")

    return make


def _other_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 1")
        db.execute("CREATE TABLE state (a)")
    db.close()


NO_FILES: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "fifo": os.mkfifo,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path),
    "zeros": lambda path: path.symlink_to("/dev/zero"),
}
FOLDERS: dict[str, Callable[[Path], object]] = {"odd-files": _fifo_inside}
INDEXES: dict[str, Callable[[Path], object]] = {
    "noise": _index_of(lambda path: path.write_bytes(bytes(range(256)) * 64)),
    "nothing": _index_of(lambda path: path.write_bytes(b"")),
    "catalog-folder": _index_of(lambda path: path.mkdir()),
    "catalog-fifo": _index_of(os.mkfifo),
    "catalog-loop": _index_of(lambda path: path.symlink_to(path)),
    "other-tables": _index_of(_other_tables),
    "a-file": lambda path: path.write_bytes(b"x"),
}
