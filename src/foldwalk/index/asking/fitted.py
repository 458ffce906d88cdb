"""Methods that have seen the collection: fitted when first asked for, kept in memory and with the store.

What is kept is what fitting computed and no vectors or neighbours, which the index has already. Its kind
carries a checksum of the parameters and of the program's version, its version is that of the vectors.

A method that learns features is trained once: the model stays with the index when the vectors change (see
`models`). Where parameters are asked for that the model was not trained with, they are fitted as any method.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from foldwalk import __version__, rerank
from foldwalk.core.errors import BadInput, NotFitted
from foldwalk.core.neighbors import Neighbors
from foldwalk.index.asking.handed import Handed
from foldwalk.index.asking.kept_fits import KIND, KeptFits, method_of
from foldwalk.index.models import KeptModels, Model
from foldwalk.index.views.kept import KeptViews
from foldwalk.rerank.base import Reranker
from foldwalk.rerank.expansion.plain import Plain
from foldwalk.rerank.learned.gradnet import GradNetMethod
from foldwalk.stores import Facts, Store

if TYPE_CHECKING:
    from foldwalk.index.view import View

IN_MEMORY = 4
MODEL = f"{KIND}/{GradNetMethod.name}-model-"
SAVED_FROM = 2_000  # items: below, fitting is quicker than reading, unless it trains a network


class FittedMethods:
    """The fitted methods of one version of the vectors."""

    def __init__(self, store: Store, facts: Facts) -> None:
        self.store, self.facts = store, facts
        self.models, self.kept = KeptModels(store), KeptFits(store, facts)
        self._methods: OrderedDict[str, Reranker] = OrderedDict()
        self._lock, self._fitting = threading.Lock(), threading.Lock()

    def get(self, method: str, parameters: Mapping[str, Any], view: View, fit: bool = True) -> Reranker:
        """The method; where it is not in memory and may not be fitted either, NotFitted."""
        self._refuse_empty(view)
        unfitted = self._create(method, parameters)
        known = self._remembered(self._name(unfitted, parameters, view.scale))
        if known is None and not fit:
            raise NotFitted(f"{method} is not fitted for this version of {self.store.place}.")
        if known is None:
            with self._fitting:  # one at a time: a second thread that wants the same waits and finds it
                name = self._name(unfitted, parameters, view.scale)
                known = self._remembered(name)
                if known is None:
                    known = self._from_model(name, view) or self._fit(unfitted, name, view)
                    self._remember(self._name(unfitted, parameters, view.scale), known)
        return known

    def once(self, method: str, parameters: Mapping[str, Any], view: View) -> Reranker:
        """The method for one use: fitted anew, neither remembered nor kept."""
        self._refuse_empty(view)
        unfitted = self._create(method, parameters)
        wanted = unfitted.views_wanted(len(view))
        learned = self._views(view).find(wanted) if wanted else None
        return unfitted.adopt(view.prepared, neighbors=self._neighbors(unfitted, view), learned=learned)

    def _refuse_empty(self, view: View) -> None:
        if len(view) == 0:
            raise BadInput(f"{self.store.place} is empty; add something before searching.")

    def has(self, method: str, parameters: Mapping[str, Any], view: View) -> bool:
        """Whether `get` need not train."""
        unfitted = self._create(method, parameters)
        if not unfitted.needs_training:
            return True
        name = self._name(unfitted, parameters, view.scale)
        return self.kept.has(name) or name.startswith(MODEL) or self._remembered(name) is not None

    def ready(self, method: str, parameters: Mapping[str, Any], view: View) -> bool:
        """Whether it is in memory; it then counts as used."""
        name = self._name(self._create(method, parameters), parameters, view.scale)
        return self._remembered(name) is not None

    def load(
        self, method: str, parameters: Mapping[str, Any], view: View, handed: Handed | None = None
    ) -> bool:
        """Take into memory what another process fitted; says whether that was possible, never fits.

        It is what was handed over, or else what the store keeps.
        """
        unfitted = self._create(method, parameters)
        with self._fitting:
            name = self._name(unfitted, parameters, view.scale)
            loaded = self._remembered(name) or self._loaded(unfitted, name, view, handed)
            if loaded is not None:
                self._remember(name, loaded)
        return loaded is not None

    def hand_over(self, method: str, parameters: Mapping[str, Any], view: View) -> Handed | None:
        """Fitted, as `load` takes it in another process; None where the store keeps all that is needed."""
        fitted = self.get(method, parameters, view)
        name = self._name(self._create(method, parameters), parameters, view.scale)
        handed = Handed.of(fitted, view.graph().neighbors(self.facts.metric))
        model = self._model(name)
        kept = self.kept.has(name, fitted.known_views) or (
            model is not None and np.array_equal(model.numbers, view.numbers)
        )
        return None if kept and handed.neighbors is None else handed

    def names(self) -> tuple[str, ...]:
        """What is fitted for this version or was trained before, in memory or kept with the store."""
        with self._lock:
            fitted = {method_of(name) for name in self._methods}
        return tuple(sorted(fitted | self.kept.names() | set(self.models.names())))

    def notes(self) -> dict[str, str]:
        """What the methods of `names` did and why, where they say so."""
        with self._lock:
            fitted = {method_of(name): method.note for name, method in self._methods.items() if method.note}
        return self.kept.notes() | fitted

    def _create(self, method: str, parameters: Mapping[str, Any]) -> Reranker:
        metric = parameters.get("metric", self.facts.metric)
        if metric != self.facts.metric:
            raise BadInput(f"{method}: the index is by {self.facts.metric}; leave out the parameter metric.")
        return rerank.create(method, **{**parameters, "metric": metric})

    def _name(self, method: Reranker, given: Mapping[str, Any], scale: float) -> str:
        """Under which it is kept: by the model that was trained with what was given, else by parameters."""
        if isinstance(method, GradNetMethod):
            trained = self.models.trained_with(method.name)
            wanted = {**method.params.model_dump(), "seed": method.seed}
            if trained is not None and all(trained.get(name) == wanted[name] for name in given):
                return f"{MODEL}{self.models.version(method.name)}"
        return self._kind(method, scale)

    def _kind(self, method: Reranker, scale: float) -> str:
        """What was fitted in another scale of the vectors has another name."""
        text = json.dumps({**method.params.model_dump(), "seed": method.seed, "scale": scale}, sort_keys=True)
        digest = blake2b(f"{__version__} {self.facts.uid} {text}".encode(), digest_size=8).hexdigest()
        return f"{KIND}/{method.name}-{digest}"

    def _remembered(self, name: str) -> Reranker | None:
        with self._lock:
            if name in self._methods:
                self._methods.move_to_end(name)
            return self._methods.get(name)

    def _remember(self, name: str, method: Reranker) -> None:
        with self._lock:
            self._methods[name] = method
            while len(self._methods) > IN_MEMORY:
                self._methods.popitem(last=False)

    def _loaded(self, method: Reranker, name: str, view: View, handed: Handed | None) -> Reranker | None:
        model = self._model(name)
        if model is not None and np.array_equal(model.numbers, view.numbers):
            return model.method
        if model is not None:
            method = model.on(view.numbers)
        wanted = () if handed else method.views_wanted(len(view))  # what was handed over holds its own
        learned = self._views(view).find(wanted) if wanted else None
        state = handed.state if handed else self.kept.load(name, learned)
        if state is None or (wanted and learned is None):
            return None
        neighbors = handed.neighbors if handed else None
        neighbors = neighbors or self._neighbors(method, view)
        with suppress(Exception):  # whole, but not what it should be, or without the neighbours it needs
            return method.adopt(view.prepared, neighbors=neighbors, state=state, learned=learned)
        return None

    def _fit(self, method: Reranker, name: str, view: View) -> Reranker:
        if isinstance(method, Plain):  # needs no graph, which may have to be made first
            return method.adopt(view.prepared)
        wanted = method.views_wanted(len(view))
        learned = self._views(view).current(wanted, view.prepared) if wanted else None
        neighbors = self._neighbors(method, view)
        kept = len(view) >= SAVED_FROM or method.needs_training
        saved = self.kept.load(name, learned) if kept else None
        if saved is not None:
            with suppress(Exception):  # whole, but not what it should be: fit again
                return method.adopt(view.prepared, neighbors=neighbors, state=saved, learned=learned)
        fitted = method.adopt(view.prepared, neighbors=neighbors, learned=learned)
        # The first is what later items go by; one that could not be used is replaced.
        first = name.startswith(MODEL) or self.models.trained_with(fitted.name) is None
        if isinstance(fitted, GradNetMethod) and first:
            kept = self.models.save(fitted, view.numbers) is None
        if kept:
            self.kept.save(name, learned, fitted.state(whole=False), fitted.note)
        return fitted

    def _neighbors(self, method: Reranker, view: View) -> Neighbors | None:
        """Those that the index keeps; None where they are too few, and the method has to find its own."""
        known = view.graph().neighbors(self.facts.metric)
        return known if method.can_take(known, len(view)) else None

    def _views(self, view: View) -> KeptViews:
        return KeptViews(self.store, self.facts, view.numbers)

    def _from_model(self, name: str, view: View) -> Reranker | None:
        """The model that the name stands for, brought to the items of this version; it is not trained."""
        model = self._model(name)
        if model is None:
            return None
        if np.array_equal(model.numbers, view.numbers):
            return model.method
        return self._fit(model.on(view.numbers), name, view)

    def _model(self, name: str) -> Model | None:
        """The model that a name stands for, where it fits the vectors."""
        model = self.models.load(GradNetMethod.name) if name.startswith(MODEL) else None
        return model if model is not None and model.method.vectors.dim == self.facts.dim else None
