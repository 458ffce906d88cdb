"""The index: vectors, keys, thumbnails and metadata in a store, and the k-NN graph of the collection."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from foldwalk import stores
from foldwalk.core.errors import FoldwalkError
from foldwalk.core.neighbors import Neighbors
from foldwalk.core.types import Float32Array
from foldwalk.core.vector_files import VectorFile
from foldwalk.descriptors import FOR_INDEXES
from foldwalk.index import backup, exchange, info, pictures, sync, vectors, verify
from foldwalk.index.asking import explain, search
from foldwalk.index.asking.handed import Handed
from foldwalk.index.backbone import backbone_name, load_backbone
from foldwalk.index.learned import learned, learned_features, trained_net
from foldwalk.index.models import KeptModels
from foldwalk.index.tuning import outlook, tune
from foldwalk.index.tuning.by_pairs import Pair
from foldwalk.index.tuning.labels import FOLDERS, has_folders
from foldwalk.index.tuning.preference import KeptPreference, check_choice
from foldwalk.index.tuning.types import Candidate, Outlook, Tuned
from foldwalk.index.types import (
    AddReport,
    Backup,
    Explanation,
    Info,
    ModelState,
    Preference,
    Results,
    Text,
    Verification,
)
from foldwalk.index.view import View
from foldwalk.machine.forked import refuse_forked
from foldwalk.rerank.registry import DEFAULT
from foldwalk.stores import CannotWrite, Item, Store

if TYPE_CHECKING:
    from PIL.Image import Image

    from foldwalk.rerank import Reranker
    from foldwalk.rerank.learned.gradnet import GradNet, GradNetMethod

PLAIN = "plain"
PathLike = str | os.PathLike[str]
Metadata = Mapping[str, Mapping[str, Any]]


class Index:
    """A collection in a store. Make one with `Index.create`, open one with `Index.open`.

    Many may read while one writes; a reader keeps the version it has seen until `refresh`. One object may be
    shared by threads.
    """

    def __init__(self, store: Store, backbone: Any = None) -> None:
        self.store = store
        self._backbone = backbone
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._view = View(store)

    # Open and close ---------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: PathLike, backbone: Any = FOR_INDEXES, metric: str = "cosine") -> Index:
        """Make an empty index in a new folder, or at the URL of another store (`foldwalk stores`).

        `backbone` is a name, a file, a callable or a Backbone of `foldwalk.descriptors`, or None for an index
        of vectors only.
        """
        return cls(stores.create(path, metric, backbone_name(backbone)), backbone)

    @classmethod
    def open(cls, path: PathLike, backbone: Any = None) -> Index:
        """Open an index. Give `backbone` again where it was an object of your own, not a name or a file."""
        return cls(stores.open(path), backbone)

    def close(self) -> None:
        """Keep the graph as it is now and let go of the files."""
        self._view.keep_graph()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is in it ----------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """Its folder, where the store is one."""
        return Path(self.store.place)

    @property
    def metric(self) -> str:
        """How vectors are compared: "cosine" or "euclidean"."""
        return self._view.facts.metric

    @property
    def dim(self) -> int | None:
        """Numbers per vector; None while the index is empty."""
        return self._view.facts.dim

    @property
    def version(self) -> int:
        """Grows by one with every committed change."""
        return self._view.facts.version

    def refresh(self) -> bool:
        """Look for changes by others; True if there were any."""
        with self._lock:
            if self.store.version() == self._view.facts.version:
                return False
            self._view = View(self.store, self._view)
            return True

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, key: object) -> bool:
        return key in self._view.positions

    def keys(self) -> list[str]:
        """The keys, in the order in which the items came."""
        return list(self._view.keys)

    def vectors(self) -> Float32Array:
        """(n, d) in the order of `keys`, to be read only. With the cosine metric each has length one."""
        rows = self._view.all_vectors().view()
        rows.flags.writeable = False
        return rows

    def contents(self) -> VectorFile:
        """Vectors, keys and metadata (JSON) of all items, as `export` writes them; to be read only."""
        return exchange.contents(self._view)

    def vector(self, key: str) -> Float32Array:
        """A copy of the vector of one item, as the metric sees it."""
        view = self._view
        return np.array(view.vector(view.position(key)))

    def item(self, key: str) -> Item:
        """What is kept about one item: its metadata and where it came from."""
        return self.store.item(key)

    def thumbnail(self, key: str) -> bytes | None:
        """A small JPEG, where the item came as a picture."""
        return self.store.thumbnail(key)

    # Change -----------------------------------------------------------------------------------------------

    def add_vectors(
        self, array: npt.ArrayLike, keys: Sequence[str] | None = None, metadata: Metadata | None = None
    ) -> AddReport:
        """Add vectors (n, d), in one change. A key that is there already is replaced.

        Without keys they are numbered. `metadata` maps keys to dictionaries; keys it does not name keep what
        they have.
        """
        return self._added(lambda: vectors.add_vectors(self.store, array, keys, metadata))

    def add_images(
        self,
        paths_or_folder: PathLike | Iterable[PathLike],
        root: PathLike | None = None,
        metadata: Metadata | None = None,
        on_bad: str = "skip",
        prune: bool = False,
    ) -> AddReport:
        """Add pictures. A picture's key is its path below `root` (the folder, if one was given).

        A second folder gets a prefix, which the report names; a picture that the index knows keeps its key.
        Files that are there with the same size and time are passed over, so a broken-off call can simply be
        made again. One that was moved or renamed keeps its vector and metadata. Those that are gone from the
        folder are reported, and removed with `prune`. `on_bad` says what happens to files that are no
        pictures: "skip" or "raise".
        """
        backbone = self.backbone()
        return self._added(
            lambda: pictures.add_images(self.store, backbone, paths_or_folder, root, metadata, on_bad, prune)
        )

    def sync(
        self,
        folders: Iterable[PathLike] | None = None,
        force: bool = False,
        leave: Callable[[Path], bool] | None = None,
    ) -> AddReport:
        """Bring the index up to date with its folders, or with those that are named: add and prune in one.

        Of a folder that is not there nothing is removed, nor of one without pictures unless by `force`.
        Pictures of which `leave` says so are passed over this time.
        """
        return self._added(lambda: sync.sync(self.store, self.backbone(), folders, force, leave))

    def roots(self) -> dict[str, str]:
        """The folders that pictures came from, by what their keys begin with."""
        return self.store.roots()

    def add_picture(self, picture: Image, key: str, metadata: Mapping[str, Any] | None = None) -> AddReport:
        """Add one picture that is in memory, an upload say."""
        return self._added(lambda: pictures.add_picture(self.store, self.backbone(), picture, key, metadata))

    def remove(self, keys: Iterable[str]) -> int:
        """Remove items; with an unknown key among them nothing changes. Says how many were removed."""
        with self._changing():
            return self.store.delete(keys)

    def import_file(self, path: PathLike) -> AddReport:
        """Add the vectors of a .npy, .npz or .parquet file, with the keys and metadata it holds."""
        return self._added(lambda: exchange.import_file(self.store, Path(path)))

    def rebuild(self) -> None:
        """Close the gaps of removed items, build the k-NN graph from scratch, and learn kept views again."""
        with self._writing:
            self.store.compact()
            self.refresh()
            self._view.rebuild_graph()
            self._view.learn_views()

    # Search -----------------------------------------------------------------------------------------------

    def search(
        self,
        query: Any,
        top: int = 10,
        method: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        fold: bool | float = False,
        fit: bool = True,
    ) -> Results:
        """The `top` best items for a query, in the latest version, by the method that `method_for` gives.

        `query` is the path of a picture, a PIL image, a vector (d,), `Key(...)`, `Text(...)` or `Like(...)`;
        a string is a file where one exists, else a key. `where` keeps items by their metadata:
        ``{"field": value}``, a list of values, or ``{"min": a, "max": b}``. `fold` puts near-duplicates under
        the first of them; a number is the similarity from which two items count as such. With `fit` false a
        method that is not in memory is not fitted: NotFitted is raised.
        """
        method, parameters = self.method_for(method, parameters, query)
        view, where = self._latest(), where or {}
        return search.search(view, query, self.backbone, top, method, parameters, where, fold, fit)

    def explain(
        self,
        query: Any,
        key: str,
        method: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        fit: bool = True,
    ) -> Explanation:
        """The strongest chain of pictures from the query to an item, and what the method did to its rank."""
        method, parameters = self.method_for(method, parameters, query)
        return explain.explain(self._latest(), query, self.backbone, key, method, parameters, fit)

    def fitted(self, method: str, parameters: Mapping[str, Any] | None = None) -> Reranker:
        """A method that has seen this version of the collection; kept in memory and with the store."""
        return self._view.fitted(method, parameters or {})

    def is_fitted(self, method: str, parameters: Mapping[str, Any] | None = None) -> bool:
        """Whether a search by this method need not train first; what is fitted without training always is."""
        return self._latest().is_fitted(method, parameters or {})

    def is_ready(self, method: str, parameters: Mapping[str, Any] | None = None) -> bool:
        """Whether a search by this method need neither fit nor read anything first."""
        return self._view.is_ready(method, parameters or {})

    def hand_over(self, method: str, parameters: Mapping[str, Any] | None = None) -> Handed | None:
        """Fit a method for another process; None where it finds everything with the store."""
        return self._view.hand_over(method, parameters or {})

    def load_fitted(
        self, method: str, parameters: Mapping[str, Any] | None = None, handed: Handed | None = None
    ) -> bool:
        """Take into memory what another process fitted; says whether that was possible, and never fits."""
        return self._view.load_fitted(method, parameters or {}, handed)

    # The method that suits it -----------------------------------------------------------------------------

    def preferred(self) -> tuple[str, dict[str, Any]] | None:
        """The method, with its parameters, that searches use where none is named; None: the usual one."""
        found = KeptPreference(self.store, self.metric).load()
        return None if found is None else (found.method, found.parameters)

    def method_for(
        self, method: str | None = None, parameters: Mapping[str, Any] | None = None, query: Any = None
    ) -> tuple[str, dict[str, Any]]:
        """What a search uses that names this method, or none; parameters go before those preferred.

        A text is searched with by plain similarity unless a method is named: texts lie apart from pictures.
        """
        if method is None and isinstance(query, Text):
            method = PLAIN
        known = (method, {}) if method is not None else self.preferred() or (DEFAULT, {})
        return known[0], {**known[1], **(parameters or {})}

    def tune(
        self,
        by: str = FOLDERS,
        pairs: Iterable[Pair] | None = None,
        candidates: Iterable[Candidate] | None = None,
        keep: bool = True,
    ) -> Tuned:
        """Compare methods by labels, and prefer the best where the evidence is enough (docs/auto.md).

        Labels are the folders of the keys, a field of the metadata, or `pairs` marked the same or different.
        """
        if keep and not KeptModels(self.store).can_keep():
            raise self._cannot_keep("what it prefers")
        tuned = tune.tune(self._latest(), by, pairs, candidates, Candidate(*self.method_for()))
        if not keep or not tuned.enough or tuned.winner == tuned.used:
            return tuned
        self.prefer(tuned.best.method, tuned.best.parameters, tuned.reason)
        return replace(tuned, kept=True)

    def outlook(self) -> Outlook:
        """What can be seen of the collection without labels, and what `auto` makes of it."""
        return outlook.outlook(self._latest())

    def has_folders(self) -> bool:
        """Whether the keys have folders that `tune` can take for labels."""
        return has_folders(self._view.keys)

    def prefer(
        self, method: str, parameters: Mapping[str, Any] | None = None, reason: str = "chosen by hand"
    ) -> None:
        """Have searches that name no method use this one, until another is preferred."""
        preference = Preference(method, dict(parameters or {}), reason)
        check_choice(method, preference.parameters, self.metric)
        if not KeptPreference(self.store, self.metric).save(preference):
            raise self._cannot_keep("what it prefers")

    def forget_preferred(self) -> bool:
        """Have searches that name no method use the usual one again; says whether there was another."""
        known = self.preferred() is not None
        if not KeptPreference(self.store, self.metric).forget():
            raise CannotWrite(f"{self.store.place} gives no right to remove what it prefers.")
        return known

    # Learned features -------------------------------------------------------------------------------------

    def attach(self, trained: GradNetMethod) -> None:
        """Keep a method that was trained on `vectors()` with the index, in place of the one before.

        Searches by its name use it from now on. Items that come later get their features from it.
        """
        if KeptModels(self.store).save(trained, self._view.numbers) is None:
            raise self._cannot_keep()

    def check_can_attach(self) -> None:
        """Refuse where `attach` would have no right to write, before the training."""
        if not KeptModels(self.store).can_keep():
            raise self._cannot_keep()

    def _cannot_keep(self, what: str = "what is trained on it") -> CannotWrite:
        return CannotWrite(f"{self.store.place} has no room or no right to keep {what}.")

    def models(self) -> tuple[ModelState, ...]:
        """The methods that were trained on the collection, and how many items came and went since."""
        return self._latest().models()

    def model(self) -> GradNet:
        """The network that was trained on the collection, as training left it."""
        return trained_net(self._latest())

    def features(self) -> Float32Array:
        """(n, D): the learned features of all items in the order of `keys`, by the model attached."""
        return learned_features(self._latest())

    def transform(self, array: npt.ArrayLike) -> Float32Array:
        """(q, D): the learned features of vectors that need not be in the index, by the model attached."""
        return learned(self._latest()).transform(array)

    def neighbors(self) -> Neighbors:
        """The nearest others of every item, in the order of `keys`."""
        return self._view.graph().neighbors(self.metric)

    # Look after it ----------------------------------------------------------------------------------------

    def info(self) -> Info:
        """What is in it, how large it is, and how current its graph is."""
        return info.info(self._latest())

    def verify(self, files: bool = False) -> Verification:
        """Check everything that is kept, change nothing; with `files` also the files the items came from."""
        return verify.verify(self.store.url, files)

    def backup(self, path: PathLike, force: bool = False) -> Backup:
        """Copy this version to a new folder, an index itself, while others write; checked before it counts.

        With `force` an index that is there is replaced, never another folder.
        """
        return backup.backup(self.store, Path(path), force)

    def export(self, path: PathLike, neighbors: bool = True, overwrite: bool = False) -> Path:
        """Write vectors, keys, metadata and neighbours to a .npz or .parquet file.

        A file that is there is replaced only with `overwrite`.
        """
        return exchange.export_file(self._latest(), Path(path), neighbors, overwrite)

    def backbone(self) -> Any:
        """What turns pictures into the vectors of this index; loaded when it is first needed."""
        with self._lock:
            self._backbone = load_backbone(self._backbone, self.store.facts())
            return self._backbone

    def _latest(self) -> View:
        refuse_forked()
        self.refresh()
        return self._view

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Around a call that writes: threads take turns, and afterwards the graph is brought up to date."""
        with self._writing:
            yield
            # The change is there, whatever comes of the graph: who needs it next brings it up to date.
            with suppress(OSError, MemoryError, FoldwalkError):
                if self.refresh():
                    self._view.graph()

    def _added(self, add: Callable[[], AddReport]) -> AddReport:
        """Add, bring the graph up to date, and say how long both took."""
        began = time.perf_counter()
        with self._changing():
            report = add()
        return replace(report, seconds=time.perf_counter() - began)

    def __repr__(self) -> str:
        return f"<Index {self.store.place}: {len(self)} items, version {self.version}>"
