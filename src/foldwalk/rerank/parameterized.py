"""What is made of named parameters and a seed: `CAS(cluster_k=10, seed=1)`.

`preset="roxford"` stands for the parameters that a preset of this name holds; what is given beside it wins.
It is no parameter itself: what is kept, copied and shown are the values.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, ClassVar, Self

from foldwalk.core.estimator import Estimator
from foldwalk.core.seeds import check_seed
from foldwalk.rerank.params import Params


class Parameterized(Estimator):
    """`Parameters` says which there are; `params` holds them checked, `seed` drives whatever is random."""

    name: ClassVar[str]
    Parameters: ClassVar[type[Params]] = Params
    params: Any

    def __init__(self, *, seed: int = 0, **parameters: Any) -> None:
        parameters = self.Parameters.with_preset(self.name, parameters)
        self.params = self.Parameters.make(self.name, parameters)
        self.seed = check_seed(seed)
        self._as_given = parameters

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fields = {name: field.default for name, field in cls.Parameters.model_fields.items()}
        keywords = [
            Parameter(n, Parameter.KEYWORD_ONLY, default=d) for n, d in (fields | {"seed": 0}).items()
        ]
        cls.__signature__ = Signature(keywords)  # type: ignore[attr-defined]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Every parameter and the seed, those that were given as they were given."""
        fields = self.Parameters.model_fields.items()
        return {name: self._as_given.get(name, field.default) for name, field in fields} | {"seed": self.seed}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters, those of a preset first. What was fitted with others is forgotten."""
        return super().set_params(**self.Parameters.with_preset(self.name, parameters))

    def __repr__(self) -> str:
        chosen = ", ".join(f"{k}={v!r}" for k, v in self.params.model_dump(exclude_defaults=True).items())
        return f"<{self.name}({chosen})>"
