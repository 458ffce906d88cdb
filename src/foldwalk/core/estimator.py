"""What scikit-learn asks of an estimator, answered without importing scikit-learn, which takes its time."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Collection, Iterable
from inspect import signature
from typing import Any, Self

from foldwalk.core.errors import BadParameter


class Estimator:
    """A class whose constructor takes parameters by name and keeps them under these names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The parameters of the constructor as they were given; none of them has parameters of its own."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters. What was fitted with others is forgotten: call `fit` again."""
        known = self.get_params()
        check_names(type(self).__name__, parameters, known)
        if parameters:
            type(self).__init__(self, **{**known, **parameters})
        return self

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({values})"

    @property
    def n_features_in_(self) -> int:
        """How many dimensions the fitted vectors have, by scikit-learn's name for it."""
        dim = self._fitted_dim()
        if dim is None:
            raise AttributeError(f"{type(self).__name__} is not fitted yet")
        return dim

    @abstractmethod
    def _fitted_dim(self) -> int | None:
        """How many dimensions the fitted vectors have; None as long as nothing was fitted."""

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_dim() is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags, TransformerTags

        transforms = TransformerTags(preserves_dtype=["float32"]) if hasattr(self, "transform") else None
        return Tags(None, TargetTags(required=False), transforms)


def check_names(owner: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a parameter that `owner` does not have, with those it may have been meant to be."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}."
            raise BadParameter(f"{owner} has no parameter {name!r}; {hint}")
