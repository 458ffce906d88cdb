"""What strangers wrote (keys, metadata, names of files) is shown and not obeyed."""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from foldwalk import Index
from foldwalk.cli import output
from foldwalk.core.shown import shown
from foldwalk.measure import jobs
from samples import clustered

# Colour, a link, the clipboard, a one-byte CSI, the title, text that runs backwards, a new line, no letter.
NASTY = "\x1b[31m\x1b]8;;http://x\x1b\\\x1b]52;c;AA==\x07\x9b2J\x1b]0;t\x07\u202egpj\r\n\udcff"
MARKUP = "[bold]fat[/bold] [link=http://x]here[/link] [/] :bell: \\"
SEEN = r"\x1b[31m\x1b]8;;http://x\x1b\\x1b]52;c;AA==\x07\x9b2J\x1b]0;t\x07\u202egpj\r\n\udcff"
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def strangers(tmp_path) -> Path:
    """An index whose keys and metadata no command of ours would have taken."""
    with Index.create(tmp_path / "x.fold", backbone=None) as index:
        index.add_vectors(clustered(n=12, d=4)[0], [f"k{i}" for i in range(12)])
    nasty = NASTY.removesuffix("\udcff")  # which SQLite cannot hold
    with sqlite3.connect(tmp_path / "x.fold" / "catalog.db") as db:
        db.execute("UPDATE items SET key = ? WHERE key = 'k1'", (nasty,))
        db.execute("UPDATE items SET key = ? WHERE key = 'k2'", (MARKUP,))
        db.execute("UPDATE items SET metadata = ?", (json.dumps({nasty: NASTY, MARKUP: MARKUP}),))
    db.close()
    return tmp_path / "x.fold"


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "x.fold", "k0", "--method", "plain", "--top", "12"),
        ("search", "x.fold", MARKUP, "--method", "plain", "--fold"),
        ("explain", "x.fold", "k0", NASTY.removesuffix("\udcff"), "--method", "plain"),
        ("search", "x.fold", NASTY),
        ("remove", "x.fold", NASTY),
        ("verify", "x.fold"),
        ("info", NASTY),
        ("methods", NASTY),
        ("datasets", NASTY),
        ("rerank", f"--{NASTY}"),
        ("rerank", "--gallery", NASTY, "--out", "r.npz"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.usefixtures("strangers")
def test_a_terminal_is_told_nothing(run, monkeypatch, arguments, as_json):
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, out, err = run(*arguments, *(["--json"] if as_json else []))
    assert code == 1 if arguments[0] == "verify" else code in (0, 2)  # the checksums do not fit
    assert not RAW.search(COLOURS.sub("", out) + err)


@pytest.mark.usefixtures("strangers")
def test_keys_are_shown_letter_by_letter(run):
    _, out, _ = run("search", "x.fold", "k0", "--method", "plain", "--top", "12", "--json")
    hits = json.loads(out)["results"][0]["hits"]
    assert {NASTY.removesuffix("\udcff"), MARKUP} <= {hit["key"] for hit in hits}
    assert hits[0]["metadata"] == {NASTY.removesuffix("\udcff"): NASTY, MARKUP: MARKUP}
    _, out, _ = run("explain", "x.fold", "k0", MARKUP, "--method", "plain")
    assert MARKUP in out
    _, out, _ = run("search", "x.fold", "k0", "--method", "plain", "--top", "12")
    in_cells = re.sub(r"[│\s]+", "", out)  # long keys are folded
    assert re.sub(r"\s", "", "[bold]fat[/bold]") in in_cells
    assert r"\x1b[31m\x1b]8" in in_cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NASTY, SEEN),
        ("plain", "plain"),
        ("größe 東京 🦊", "größe 東京 🦊"),
        ("👩\u200d🚀 می\u200cخواهم a\xa0b", "👩\u200d🚀 می\u200cخواهم a\xa0b"),
        ("a\tb\x00", r"a\tb\x00"),
        ("\u2028\U000e0041\ufeff", r"\u2028\U000e0041\ufeff"),
    ],
)
def test_what_is_shown(text, expected):
    assert shown(text) == expected


def test_files_whose_names_are_no_text(foldwalk, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in (b"\xff.png", b"\x1b[31m.png", b"[bold].png"):
        (folder / os.fsdecode(name)).write_bytes(b"no picture")
    result = foldwalk("index", "photos", "--backbone", "pixels", "--out", "x.fold")
    assert not RAW.search(result.stdout + result.stderr)
    assert "photos/[bold].png" in result.stderr
    np.save(tmp_path / os.fsdecode(b"\xff.npy"), clustered(n=12, d=4)[0])
    result = foldwalk("describe", os.fsdecode(b"\xff.npy"), "--out", os.fsdecode(b"\xfe.npz"))
    assert (result.returncode, r"\udcfe.npz: 12 items" in result.stdout) == (0, True)
    result = foldwalk("describe", os.fsdecode(b"\xff.npy"), "--out", os.fsdecode(b"\xfd.npz"), "--json")
    assert json.loads(result.stdout)["out"] == ["\udcfd.npz"]


def test_a_report_of_a_set_whose_name_is_no_text(run, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "measure", lambda job: jobs.measure_here(job, job.load()))
    vectors, labels = clustered(n=24, d=4)
    np.savez(tmp_path / "\udcff[bold].npz", vectors=vectors, labels=labels)
    code, out, err = run("bench", "--dataset", "\udcff[bold].npz", "--methods", "plain", "--report", "report")
    assert (code, r"\udcff[bold].npz" in out) == (0, True), err
    for name in ("index.html", "results.csv", "results.json"):
        assert r"\udcff[bold].npz" in (tmp_path / "report" / name).read_text("utf-8")


def test_a_terminal_without_the_letters(foldwalk, monkeypatch, tmp_path):
    np.save(tmp_path / "東.npy", clustered(n=12, d=4)[0])
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = foldwalk("describe", "東.npy", "--out", "京.npz")
    assert (result.returncode, r"\u4eac.npz: 12 items" in result.stdout) == (0, True)


def test_every_word_passes_one_place():
    """Nothing is printed past say, remark and print_json; a table is printed by console()."""
    for path in Path(output.__file__).parent.glob("*.py"):
        calls = [
            node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)
        ]
        called = {function.id for function in calls if isinstance(function, ast.Name)}
        assert "print" not in called or path.name == "output.py", path


def test_remarks_and_answers_go_where_they_belong(capsys):
    output.say("an\x07swer")
    output.remark("re\x1bmark")
    assert capsys.readouterr() == ("an\\x07swer\n", "re\\x1bmark\n")
