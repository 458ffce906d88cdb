"""What an index survives: the processes that change it and are killed, and folders full of broken pictures.

A child process changes an index without a pause and tells what it is about to do and what it has done. It is
killed (SIGKILL) at a random moment. Then another process opens the index: everything that was reported done
must be there, what was being done is there as a whole or not at all (pictures: batch by batch), every vector
is the one that belongs to its key, and verify finds nothing. The next child goes on with the same index.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from broken_pictures import write_broken, write_good
from chaos_looks import PROCESSES, compile_once, in_process, look, vectors_of
from foldwalk.index import Index, pictures
from foldwalk.stores.folder.writing import FolderWriter
from foldwalk.stores.types import Counts

PICTURES, MANY_PICTURES, BATCH = 60, 320, 16


# One who changes it -----------------------------------------------------------------------------------------


def change(path: Path, photos: Path, seed: int, report: Connection) -> None:
    """Change the index until killed; every change is announced and confirmed."""
    pictures.COMMIT_EVERY = pictures.BATCH = BATCH
    rng = np.random.default_rng(seed)
    index = Index.open(path)
    report.send(("ready", "", []))
    for step in range(10_000):
        kind = str(rng.choice(["add", "add", "remove", "photos", "forget", "rebuild"]))
        known = [key for key in list(index.keys()) if key.startswith("v")]
        if kind == "add":
            keys = [f"v{seed}-{step}-{i}" for i in range(int(rng.integers(1, 200)))]
            act: Callable[[], object] = _adding(index, keys)
        elif kind == "remove":
            share = min(len(known), int(rng.integers(1, 150)))
            keys = [str(key) for key in rng.choice(known, share, replace=False)] if known else []
            act = _removing(index, keys)
        elif kind == "photos":
            keys = sorted(path.name for path in photos.iterdir() if path.name not in index)
            act = lambda: index.add_images(photos)  # noqa: E731
        elif kind == "forget":
            keys = [key for key in list(index.keys()) if not key.startswith("v")]
            act = _removing(index, keys)
        else:
            keys, act = [], index.rebuild
        report.send(("begin", kind, keys))
        act()
        report.send(("done", kind, keys))


def _adding(index: Index, keys: list[str]) -> Callable[[], object]:
    return lambda: index.add_vectors(vectors_of(keys), keys)


def _removing(index: Index, keys: list[str]) -> Callable[[], object]:
    return lambda: index.remove(keys)


def possible(model: set[str], begun: tuple[str, list[str]] | None) -> list[set[str]]:
    """The states that are allowed: before the change that was being made, after it, or between batches."""
    if begun is None:
        return [model]
    kind, keys = begun
    if kind == "photos":
        return [model | set(keys[:end]) for end in [*range(0, len(keys), BATCH), len(keys)]]
    if kind in ("remove", "forget"):
        return [model, model - set(keys)]
    return [model, model | set(keys)]


def run_kills(count: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Kill a writer `count` times; the index goes on from one to the next."""
    rng = np.random.default_rng(seed)
    photos, path = folder / "photos", folder / "chaos.fold"
    write_good(photos, PICTURES)
    compile_once(folder)
    Index.create(path, backbone="pixels").close()
    model: set[str] = set()
    found: Counter[str] = Counter()
    problems: list[str] = []
    changes = 0
    for kill in range(count):
        changes_first, delay = int(rng.integers(0, 5)), float(rng.uniform(0, 0.05))
        done, begun = kill_once(path, photos, seed * 10_000 + kill, changes_first, delay)
        changes += len(done)
        for kind, keys in done:
            model = possible(model, (kind, keys))[-1]
        keys, wrong = in_process(look, path)
        problems += [f"kill {kill}: {problem}" for problem in wrong]
        allowed = possible(model, begun)
        if set(keys) not in allowed:
            problems.append(f"kill {kill}, during {begun and begun[0]}: a state between two changes")
        elif begun is not None:
            found[f"{begun[0]}: {'after' if set(keys) == allowed[-1] != model else 'before or between'}"] += 1
        else:
            found["between changes"] += 1
        model = set(keys)
    return {
        "kills": count,
        "changes_committed": changes,
        "killed_during": dict(sorted(found.items())),
        "items_in_the_end": len(model),
        "problems": problems,
    }


def kill_once(
    path: Path, photos: Path, seed: int, changes_first: int, delay: float
) -> tuple[list[tuple[str, list[str]]], tuple[str, list[str]] | None]:
    """Kill a writer some time after so many changes.

    Returns the changes that were confirmed, and the one that was begun and not confirmed.
    """
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=change, args=(path, photos, seed, sender))
    process.start()
    sender.close()
    messages = [receiver.recv()]
    while sum(word == "done" for word, *_ in messages) < changes_first:
        messages.append(receiver.recv())
    time.sleep(delay)
    process.kill()
    process.join()
    with suppress(EOFError):
        while receiver.poll(0):
            messages.append(receiver.recv())
    receiver.close()
    done = [(kind, keys) for word, kind, keys in messages if word == "done"]
    word, kind, keys = messages[-1]
    return done, (kind, keys) if word == "begin" else None


def index_photos(path: Path, photos: Path, report: Connection) -> None:
    """What ``foldwalk index`` does: make the index or go on with it, and add the pictures."""
    pictures.COMMIT_EVERY = pictures.BATCH = BATCH
    put_items = FolderWriter.put_items

    def reported(*args: Any) -> Counts:
        counts = put_items(*args)
        report.send("commit")
        return counts

    FolderWriter.put_items = reported
    report.send("ready")
    index = Index.open(path) if path.exists() else Index.create(path, backbone="pixels")
    index.add_images(photos)
    index.close()
    report.send("done")


def run_index_kills(count: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Kill ``foldwalk index`` and run it again, which goes on, until all is there; then begin anew."""
    rng = np.random.default_rng(seed)
    photos, path = folder / "many", folder / "again.fold"
    write_good(photos, MANY_PICTURES)
    compile_once(folder)
    wanted = sorted(file.name for file in photos.iterdir())
    allowed = [wanted[:end] for end in [*range(0, len(wanted), BATCH), len(wanted)]]
    problems: list[str] = []
    reached: Counter[str] = Counter()
    before: list[str] = []
    for kill in range(count):
        receiver, sender = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=index_photos, args=(path, photos, sender))
        process.start()
        sender.close()
        for _ in range(int(rng.integers(1, 8))):  # "ready", then commits
            if receiver.recv() == "done":
                break
        time.sleep(float(rng.uniform(0, 0.05)))
        process.kill()
        process.join()
        receiver.close()
        keys: list[str] = []
        if path.exists():
            keys, wrong = in_process(look, path)
            problems += [f"kill {kill}: {problem}" for problem in wrong]
        if keys not in allowed or len(keys) < len(before):
            problems.append(f"kill {kill}: {len(keys)} pictures after {len(before)}")
        reached[f"{len(keys)} of {len(wanted)} pictures"] += 1
        before = keys
        if keys == wanted:
            shutil.rmtree(path)
            before = []
    return {"kills": count, "found": dict(sorted(reached.items())), "problems": problems}


# Broken pictures --------------------------------------------------------------------------------------------


def run_broken(broken: int, good: int, folder: Path) -> dict[str, Any]:
    mixed = folder / "mixed"
    write_good(mixed, good)
    kinds = write_broken(mixed, broken)
    with Index.create(folder / "mixed.fold", backbone="pixels") as index:
        report = index.add_images(mixed)
        skipped = {Path(bad.path).name for bad in report.skipped}
        checked = index.verify()
        problems = list(checked.problems)
    problems += [f"{name} was taken for a picture" for name in sorted(set(kinds) - skipped)]
    problems += [f"{name} was left out" for name in sorted(skipped - set(kinds))]
    return {
        "good": good,
        "added": report.added,
        "broken": broken,
        "left_out": dict(sorted(Counter(kinds[name] for name in skipped if name in kinds).items())),
        "problems": problems,
    }
