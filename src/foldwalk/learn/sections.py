"""One section of a training's configuration: fields with ranges, refused in one sentence."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from foldwalk.core.errors import BadParameter


class Section(BaseModel):
    """Base of every section; each field says by its description what it means."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            where, why = ".".join(map(str, first["loc"])), str(first["msg"])
            raise BadParameter(f"{where}: {why[0].lower()}{why[1:]}.") from None


def by_whole_name(section: str, values: BaseModel) -> dict[str, Any]:
    """The values of a section, each called as in "cgml.weight"."""
    return {f"{section}.{name}": value for name, value in values.model_dump().items()}
