"""Finds the loaders in `sets/` and loads a data set by its name: adding a data set is adding a file there."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from functools import cache
from pathlib import Path
from typing import cast

from foldwalk.core.errors import BadInput, UnknownName
from foldwalk.datasets import sets
from foldwalk.datasets.class_sources import ClassFolders, ClassSource
from foldwalk.datasets.dataset import Dataset
from foldwalk.datasets.features import FEATURE_SUFFIXES
from foldwalk.datasets.query_sources import QuerySource
from foldwalk.datasets.sources import KINDS, DatasetCard, Kind, Source


@cache
def _sources() -> dict[str, Source]:
    modules = (
        importlib.import_module(f"{sets.__name__}.{m.name}") for m in pkgutil.iter_modules(sets.__path__)
    )
    return {source.name: source for module in modules for source in module.SOURCES}


def names() -> list[str]:
    """The names of all data sets that can be loaded."""
    return sorted(_sources())


def describe(name: str, root: str | os.PathLike[str] | None = None) -> DatasetCard:
    """What a data set is, what is looked for, where to get it, and whether it is there."""
    folder = data_root(root)
    source, _ = _parse(name, "auto", folder)
    return source.describe(folder)


def load(name: str, root: str | os.PathLike[str] | None = None, kind: str = "auto") -> Dataset:
    """Load a data set by name.

    kind: "features" (a feature file), "pixels" (raw grey pixels), "pictures" (paths and protocol only), or
    "auto": features where there are any, else pixels for sets that are searched by them, else pictures. The
    name may carry the kind ("orl:pixels"), or be the path of a feature file. A name that no loader has is
    looked for as <root>/features/NAME_*.npz and as class folders <root>/images/NAME. root: where the data
    lies; else the environment variable FOLDWALK_DATA, else ./data.
    """
    folder = data_root(root)
    if name.endswith(FEATURE_SUFFIXES):
        if kind not in ("auto", "features"):
            raise BadInput(f'{name} is a feature file: its kind is "features", not "{kind}".')
        path = Path(name)
        return _owner(path.stem).load_file(path, folder)
    source, chosen = _parse(name, kind, folder)
    return source.load(folder, chosen)


def data_root(root: str | os.PathLike[str] | None = None) -> Path | None:
    """Where data lies: the argument, else FOLDWALK_DATA, else ./data if it is there, else nowhere (None)."""
    if root is not None:
        return Path(root)
    if os.environ.get("FOLDWALK_DATA"):
        return Path(os.environ["FOLDWALK_DATA"])
    here = Path("data")
    return here if here.is_dir() else None


def _parse(name: str, kind: str, root: Path | None) -> tuple[Source, Kind]:
    """The loader and the kind that a name such as "orl:pixels" or "synthetic:5000" means."""
    base, *extras = name.split(":")
    source = _find(base, root)
    kinds = {kind} - {"auto"}
    for extra in extras:
        if extra in KINDS:
            kinds.add(extra)
        else:
            source = source.with_argument(extra)
    if not kinds <= set(KINDS):
        raise UnknownName(f'there is no kind "{kind}"; choose {", ".join(KINDS)}.')
    if len(kinds) > 1:
        raise BadInput(f'"{name}" cannot be loaded as {" and ".join(sorted(kinds))} at once.')
    return source, cast(Kind, kinds.pop() if kinds else "auto")


def _find(name: str, root: Path | None) -> Source:
    if name in _sources():
        return _sources()[name]
    unregistered = ClassFolders(name)
    if name and name not in (".", "..") and not set(name) & set("/\\*?[") and unregistered.found(root):
        return unregistered
    near = difflib.get_close_matches(name.lower(), names(), n=3, cutoff=0.5)
    hint = f"the nearest names are {', '.join(near)}" if near else f"known are {', '.join(names())}"
    raise UnknownName(f'there is no data set "{name}"; {hint}.')


def _owner(stem: str) -> ClassSource | QuerySource:
    """The loader whose features a file of that name holds; a plain one where no name fits."""
    for name, source in _sources().items():
        if isinstance(source, ClassSource | QuerySource) and (stem == name or stem.startswith(f"{name}_")):
            return source
    return ClassFolders(stem)
