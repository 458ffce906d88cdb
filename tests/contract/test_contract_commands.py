"""Every command with every kind of bad input: one sentence, exit code 2, nothing half-written, no waiting.

The commands and their parameters come from the command line itself. A call that works has one value replaced
at a time by something from `bad_inputs`. Long work (serving, measuring, training) is cut off where it would
begin, as by Ctrl-C: what is tested is all that stands before it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from bad_inputs import NUMBERS, TEXTS, damaged_copies, make_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from foldwalk import Index
from foldwalk.cli import main
from foldwalk.index.verify import verify
from samples import clustered

SECONDS = 20
COMMANDS = typer.main.get_command(main.app).commands
CALLBACKS = {command.callback.__name__: command.callback for command in main.app.registered_commands}
# A call of each command that works. One that is missing here is tried with the values that its names suggest.
CALLS: dict[str, dict[str, str]] = {
    "demo": {"out": "demo"},
    "index": {"source": "v.npy", "out": "new.fold"},
    "search": {"index": "x.fold", "queries": "v:1", "method": "plain"},
    "explain": {"index": "x.fold", "query": "v:1", "key": "v:2", "method": "plain"},
    "sync": {"index": "p.fold"},
    "restore": {"source": "x.fold", "out": "back.fold"},
    "backup": {"index": "x.fold", "out": "copy.fold"},
    "remove": {"index": "x.fold", "keys": "v:1"},
    "export": {"index": "x.fold", "out": "e.npz"},
    "describe": {"sources": "v.npy", "out": "d.npz"},
    "rerank": {"gallery": "v.npy", "out": "r.npz", "method": "plain"},
    "evaluate": {"dataset": "v.npz", "methods": "plain"},
    "bench": {"dataset": "v.npz", "methods": "plain", "report": "report"},
    "tune": {"index": "x.fold", "by": "side", "methods": "plain,aqe", "report": "report"},
    "train": {"name": "gradnet", "source": "v.npy", "out": "trained"},
}
# Where a parameter does not go with that call: another one, which it belongs to.
OWN_CALLS: dict[tuple[str, str], dict[str, str]] = {
    ("describe", "backbone"): {"sources": "photos", "out": "d.npz"},
    ("evaluate", "ranking"): {"dataset": "v.npz"},
    ("index", "metadata"): {"source": "photos", "out": "new.fold", "backbone": "pixels"},
    ("rerank", "distances"): {"out": "r.npz", "method": "plain"},
    ("tune", "pairs"): {"index": "x.fold", "methods": "plain,aqe"},
    ("train", "config"): {"name": "mom", "out": "trained"},
    ("train", "labels"): {"name": "mom", "source": "v.npy", "out": "trained"},
    ("train", "source"): {"name": "mom", "out": "trained"},
    ("train", "by"): {"name": "mom", "source": "x.fold", "out": "trained"},
    ("train", "param"): {"name": "mom", "source": "v.npy", "out": "trained"},
}
SUGGESTED = {"index": "x.fold", "source": "v.npy", "out": "out.npz"}


@dataclass(frozen=True)
class Parameter:
    name: str
    option: str | None
    kind: str
    suffixes: tuple[str, ...]


def parameters(command: str) -> list[Parameter]:
    """What takes a value, whether it is text or a number, and which files its help names."""
    hints = typing.get_type_hints(CALLBACKS[command])
    found = []
    for declared in COMMANDS[command].params:
        kinds = {*typing.get_args(hints[declared.name]), hints[declared.name]}
        if bool in kinds:
            continue
        option = declared.opts[0] if declared.opts[0].startswith("-") else None
        words = f"{declared.metavar or ''} {declared.help or ''}"
        kind = "number" if {int, float} & kinds else "text"
        found.append(Parameter(declared.name, option, kind, tuple(re.findall(r"\.[a-z]+\b", words))))
    return found


def cases() -> Iterator[Any]:
    for command in COMMANDS:
        for parameter in parameters(command):
            yield pytest.param(command, parameter, id=f"{command}-{parameter.name}")


def arguments(command: str, replaced: str = "", value: str = "") -> list[str]:
    """The call that works, with one value replaced."""
    values = OWN_CALLS.get((command, replaced), _working(command)) | ({replaced: value} if replaced else {})
    options, rest = [], []
    for parameter in parameters(command):
        if parameter.name not in values:
            continue
        if parameter.option is None:
            rest.append(values[parameter.name])
        else:
            options.append(f"{parameter.option}={values[parameter.name]}")
    return [command, *options, "--", *rest]


def _working(command: str) -> dict[str, str]:
    needed = {declared.name for declared in COMMANDS[command].params if declared.required}
    return CALLS.get(command) or {name: SUGGESTED.get(name, "v:1") for name in needed}


@pytest.fixture(scope="module")
def bad(tmp_path_factory, good) -> dict[str, list[str]]:
    made = make_files(tmp_path_factory.mktemp("bad"))
    made["fold"] += damaged_copies(good / "x.fold", tmp_path_factory.mktemp("damaged"))
    return made


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    """What a working call needs: vectors, the same with labels, an index of them, pictures and theirs."""
    folder = tmp_path_factory.mktemp("good")
    vectors, labels = clustered(n=24, d=4)
    np.save(folder / "v.npy", vectors)
    np.savez(folder / "v.npz", vectors=vectors, labels=labels)
    (folder / "photos").mkdir()
    Image.new("RGB", (20, 20), (40, 90, 200)).save(folder / "photos" / "blue.png")
    with Index.create(folder / "x.fold", backbone=None) as index:
        index.import_file(folder / "v.npy")
        sides = {key: {"side": place % 2} for place, key in enumerate(index.keys())}
        index.add_vectors(vectors, index.keys(), sides)
    with Index.create(folder / "p.fold", backbone="pixels") as index:
        index.add_images(folder / "photos")
    return folder


class Hangs(BaseException):
    """Raised within a command that takes too long; no handler of errors catches it."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def long_work_is_cut_off(monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    import uvicorn

    from foldwalk.learn.trainer import job
    from foldwalk.measure import jobs
    from foldwalk.report import demo
    from foldwalk.rerank.learned.gradnet import GradNet

    for owner, name in (
        (uvicorn.Server, "run"),
        (jobs, "measure"),
        (demo, "_measure"),
        (GradNet, "fit"),
        (job.Trainer, "fit"),
    ):
        monkeypatch.setattr(owner, name, interrupted)
    monkeypatch.setattr(main, "app", typer.main.get_command(main.app))  # built once instead of at every call


@pytest.fixture
def complaints(run, good, tmp_path) -> Callable[..., list[str]]:
    """Run a command in a fresh folder: what it did that no command may do."""
    folder = tmp_path / "here"

    def call(typed: Sequence[str], codes: Sequence[int] = (0, 2, 130)) -> list[str]:
        shutil.copytree(good, folder)
        os.chdir(folder)
        before = contents(folder)
        try:
            with within(SECONDS):
                code, out, err = run(*typed)
            return [*said_wrong(code, out, err, codes), *left_behind(folder, before, code)]
        except Hangs:
            return [f"took more than {SECONDS} s"]
        finally:
            os.chdir(tmp_path)
            shutil.rmtree(folder)

    return call


def said_wrong(code: int, out: str, err: str, codes: Sequence[int]) -> list[str]:
    wrong = []
    told = [line for line in err.splitlines() if line.startswith("foldwalk: ")]
    if code not in codes and not (code == 1 and "problems" in out):  # so verify ends where it finds some
        wrong.append(f"exit code {code}: {err[-300:]!r}")
    if "Traceback" in err or "internal error" in err:
        wrong.append(f"no sentence for a user: {err[-300:]!r}")
    if code == 2 and (len(told) != 1 or not err.endswith(f"{told[0]}\n") or len(told[0]) < 20):
        wrong.append(f"not one sentence: {err[-300:]!r}")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out + err):
        wrong.append(f"control characters: {(out + err)[-300:]!r}")
    return wrong


def left_behind(folder: Path, before: dict[str, bytes | str], code: int) -> list[str]:
    after = contents(folder)
    if after == before:
        return []
    wrong = [f"left {name}" for name in after if "/." in f"/{name}"]
    if code not in (0, 130):
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        wrong.append(f"exit code {code}, but {sorted(changed)} changed")
    return wrong + [f"damaged: {problem}" for place in folder.glob("*.fold") for problem in problems(place)]


def problems(place: Path) -> Sequence[str]:
    return verify(place).problems if (place / "catalog.db").is_file() else [f"{place} is half an index"]


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file and its bytes, but for what an index derives from its items: that may come at any time."""
    found: dict[str, bytes | str] = {}
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        if "/derived" in name or name.endswith((".db-wal", ".db-shm", "/lock")):
            continue
        found[name] = place.read_bytes() if place.is_file() else "folder"
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_the_call_that_everything_starts_from_works(complaints, command):
    assert complaints(arguments(command), codes=(0, 130)) == []


@pytest.mark.parametrize(("command", "parameter"), list(cases()))
def test_bad_input_is_one_sentence(complaints, bad, command, parameter):
    if parameter.kind == "number":
        values = [*NUMBERS, *TEXTS[:5]]
    else:
        values = [*TEXTS, *bad[""], *(path for suffix in parameter.suffixes for path in bad.get(suffix, []))]
        values += (
            bad["fold"] if ".fold" in parameter.suffixes or parameter.name in ("index", "source") else []
        )
    wrong = [
        ascii(f"{value[:80]}: {complaint}")
        for value in values
        for complaint in complaints(arguments(command, parameter.name, value))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def words(command: str) -> st.SearchStrategy[str]:
    """What may stand on a command line: options, values good and bad, and noise that names no place."""
    options = [option for declared in COMMANDS[command].params for option in declared.opts if "-" in option]
    noise = st.text(st.characters(exclude_characters="/.~"), max_size=12)
    known = st.sampled_from([*options, "x.fold", "v.npy", "v.npz", "v:1", "plain", *NUMBERS, *TEXTS])
    return st.one_of(known, known, noise, st.floats().map(str), st.integers().map(str))


LINES = st.sampled_from(sorted(COMMANDS)).flatmap(
    lambda command: st.lists(words(command), max_size=7).map(lambda rest: [command, *rest])
)


@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(line=LINES)
def test_any_line_of_words_is_answered(complaints, line):
    assert complaints(line) == []
