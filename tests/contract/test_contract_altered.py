"""Saved methods whose arrays somebody altered: refused in one sentence, never a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_contract import create

from foldwalk import rerank
from foldwalk.core import BadInput
from samples import clustered

NAMES = [*rerank.names(), "pairs"]
# What no array may be. Other alterations may be lawful: infinite radii, another order of the items.
NEVER = {"text", "complex", "deeper", "nothing", "too short", "too long", "fractions"} | {
    *("nan", "3e+38", "-3e+38", "-2", "1000000", "2147483647", "-2147483648", "2^62")
}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, list[list[str]]]:
    """For each method what came of its altered arrays; a line that ends in "begun" is where it crashed."""
    folder = tmp_path_factory.mktemp("altered")
    gallery, queries = clustered(n=40)[0], clustered(n=4, seed=1)[0]
    np.save(folder / "queries.npy", queries)
    waiting = []
    for name in NAMES:
        method = create("k_reciprocal" if name == "pairs" else name)
        fitted = method.fit(graph=gallery @ gallery.T * 0.99) if name == "pairs" else method.fit(gallery)
        rerank.save(fitted, folder / f"{name}.npz")
        # Vectors and neighbours are the same everywhere: altered for two methods alone.
        if fitted.state() or name in ("k_reciprocal", "pairs"):
            waiting.append(name)
    told: dict[str, list[list[str]]] = {name: [] for name in waiting}
    while waiting:
        script = str(Path(__file__).with_name("altered_state.py"))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", script, str(folder), *waiting], capture_output=True, text=True
        )
        for line in done.stdout.splitlines():
            name, *what, outcome = json.loads(line)
            told[name] = [one for one in told[name] if one[:-1] != what] + [[*what, outcome]]
        assert done.returncode <= 0, done.stderr
        last = json.loads(done.stdout.splitlines()[-1])[0]
        waiting = waiting[waiting.index(last) + 1 :]  # what crashed is known by its last line
    return told


@pytest.mark.parametrize("name", NAMES)
def test_altered_arrays_are_refused_and_never_crash(name, told):
    for key, what, outcome in told.get(name, []):
        if key == "pairs_indptr" and what == "too long":
            allowed = {"no ranking"}  # one more row, which knows nobody
        elif key == "state_share/own" and what == "missing":
            allowed = {"other ranking"}  # as files of before it was kept, which say nothing of few items
        elif what == "missing":
            allowed = {"refused", "same"}
        else:
            allowed = {"refused"} if what in NEVER else {"refused", "same", "other ranking"}
        assert outcome in allowed, (key, what, outcome)


def test_every_method_that_keeps_something_was_altered(told):
    assert {"cas", "eir", "fsr", "gdp", "gnn", "cdm", "gradnet", "gss", "auto", "pairs"} <= set(told)
    assert all(len(alterations) > 10 for alterations in told.values())


@pytest.mark.parametrize("name", ["plain", "cdm", "fsr"])
def test_what_a_method_does_not_keep_is_refused(name, tmp_path):
    gallery, path = clustered(n=40)[0], tmp_path / "fitted.npz"
    with np.load(rerank.save(create(name).fit(gallery), path)) as file:
        arrays = {key: file[key] for key in file.files}
    np.savez(path, **arrays, state_stranger=np.ones(3))
    with pytest.raises(BadInput, match=r"fitted.npz is not a method saved by foldwalk: .*\.$"):
        rerank.load(path)
