"""The features of the model that is attached to an index, for its items and for vectors from elsewhere."""

from __future__ import annotations

from foldwalk.core.errors import MissingData
from foldwalk.core.types import Float32Array
from foldwalk.index.view import View
from foldwalk.rerank.learned.gradnet import GradNet, GradNetMethod
from foldwalk.rerank.learned.gradnet.grown import GrownGradNet


def learned(view: View) -> GradNetMethod | GrownGradNet:
    """The attached model on the items of today; nothing is trained here."""
    name = GradNetMethod.name
    found = view.fitted(name, {}) if any(model.method == name for model in view.models()) else None
    if not isinstance(found, (GradNetMethod, GrownGradNet)):
        place = view.store.place
        raise MissingData(f"{place} has no trained model: train one with  foldwalk train {name} {place}")
    return found


def learned_features(view: View) -> Float32Array:
    """Of all items, in the order of the view."""
    found = learned(view)
    return found.features if isinstance(found, GrownGradNet) else found.model.features


def trained_net(view: View) -> GradNet:
    """The network itself, on the items that it was trained on."""
    found = learned(view)
    return found.trained.model if isinstance(found, GrownGradNet) else found.model
