"""A method's parameters: declared once, with type, default, range and meaning; checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from foldwalk import views
from foldwalk.core.errors import BadParameter
from foldwalk.core.estimator import check_names


@dataclass(frozen=True)
class Preset:
    """Parameters that belong together, and where they come from."""

    text: str
    values: dict[str, Any]


class Params(BaseModel):
    """Base of every method's parameter class."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    presets: ClassVar[dict[str, Preset]] = {}

    metric: Literal["cosine", "euclidean"] = Field(
        "cosine", description="cosine scales every vector to length one; euclidean takes vectors as they are"
    )
    search: Literal["auto", "exact", "approximate"] = Field(
        "auto", description="how queries find their nearest items; auto: exactly while that is affordable"
    )
    views: str = Field(
        "raw",
        description="how the vectors are looked at: one view, or several whose answers are fused",
        json_schema_extra={"range": "names of views (foldwalk views), joined by commas"},
    )

    @field_validator("views", mode="before")
    @classmethod
    def _known_views(cls, value: Any) -> Any:
        """A list of names is as good as a text; every name is known."""
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        if not isinstance(text, str):
            return text
        named = [name.strip() for name in text.split(",")]
        for name in named:
            views.create(name)
        if len(set(named)) < len(named):
            raise ValueError("a view is named twice")
        return ",".join(named)

    @classmethod
    def with_preset(cls, method: str, values: dict[str, Any]) -> dict[str, Any]:
        """The values, with those of the preset that they name where they say nothing themselves."""
        if "preset" not in values or not cls.presets:
            return values
        name = values["preset"]
        if not isinstance(name, str) or name not in cls.presets:
            raise BadParameter(
                f"{method}: preset is {name!r}, but it must be one of {', '.join(cls.presets)}."
            )
        own = {parameter: value for parameter, value in values.items() if parameter != "preset"}
        return cls.presets[name].values | own

    @classmethod
    def make(cls, method: str, values: dict[str, Any]) -> Self:
        """The parameters, or one sentence naming the one that is wrong."""
        check_names(method, values, cls.model_fields)
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0]) if first["loc"] else "parameters"
            allowed = {p.name: p.range for p in parameters_of(cls)}.get(name, "")
            raise BadParameter(
                f"{method}: parameter {name} is {values.get(name)!r}, but it must be {allowed}."
            ) from None


def neighborhood(default: int, description: str, low: int = 1, high: int = 100_000) -> Any:
    """A parameter that counts neighbours: it cannot reach beyond the gallery."""
    return Field(default, ge=low, le=high, description=description, json_schema_extra={"neighborhood": True})


def uncut(description: str = "cut no row") -> Any:
    """The parameter `dense`, by which a method gives up what keeps it small; `Reranker.limit` obeys it."""
    return Field(False, description=f"{description}, for at most 5,000 items")


@dataclass(frozen=True)
class Parameter:
    """One parameter as `describe` shows it."""

    name: str
    type: str
    default: Any
    low: float | None
    high: float | None
    choices: tuple[Any, ...]
    text: str
    neighborhood: bool
    range: str


NOUNS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    dict: "a table",
    NoneType: "none",
}


def _noun(annotation: Any) -> str:
    """What values of a type are called."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        named = [str(part) or '""' for part in parts]
        return f"one of {', '.join(named)}" if len(named) > 1 else named[0]
    if origin in (Union, UnionType):
        return " or ".join(map(_noun, parts))
    return NOUNS.get(origin or annotation, str(annotation))


def parameters_of(params: type[BaseModel]) -> tuple[Parameter, ...]:
    """Every parameter of a class, in the order of declaration, the common ones last."""
    common = Params.model_fields
    fields = {n: f for n, f in params.model_fields.items() if n not in common}
    fields |= {n: params.model_fields[n] for n in common if n in params.model_fields}
    out = []
    for name, field in fields.items():
        choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        low = high = None
        above = below = ""
        for rule in field.metadata:
            if isinstance(rule, Ge):
                low, above = float(str(rule.ge)), f"from {rule.ge}"
            elif isinstance(rule, Gt):
                low, above = float(str(rule.gt)), f"above {rule.gt}"
            elif isinstance(rule, Le):
                high, below = float(str(rule.le)), f"to {rule.le}"
            elif isinstance(rule, Lt):
                high, below = float(str(rule.lt)), f"below {rule.lt}"
        kind = getattr(field.annotation, "__name__", str(field.annotation)) if not choices else "choice"
        allowed = f"{_noun(field.annotation)} {above} {below}".strip()
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        out.append(
            Parameter(
                name,
                kind,
                field.default,
                low,
                high,
                choices,
                field.description or "",
                bool(extra.get("neighborhood", False)),
                str(extra.get("range", " ".join(allowed.split()))),
            )
        )
    return tuple(out)
