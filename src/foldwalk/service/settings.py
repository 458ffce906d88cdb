"""What whoever starts the service may set; every limit has a default that suits a small machine."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from foldwalk.core import BadInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def half_of_memory() -> int:
    """Half of what the machine has, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class ServiceSettings(BaseModel):
    """`token` None means that nothing can be changed through the service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field("cas", description="ranks when a request names no method; the map is drawn with it")
    methods: tuple[str, ...] = Field((), description="methods on offer; none named: all without training")
    token: SecretStr | None = Field(
        None, min_length=16, description="what a request must show to change the index"
    )
    hosts: tuple[str, ...] = Field(LOOPBACK, description='names it answers to; "*" is any')
    upload_bytes: int = Field(20_000_000, ge=1_000, description="most bytes of a request")
    pixels: int = Field(50_000_000, ge=1_000, description="most pixels of a picture")
    top: int = Field(200, ge=1, description="most results of a search")
    at_once: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 1),
        ge=1,
        description="searches that run side by side",
    )
    waiting: int = Field(32, ge=0, description="searches that may wait for their turn; the next one gets 429")
    map_items: int = Field(3_000, ge=10, description="most items on the map")
    stop_seconds: int = Field(30, ge=1, description="how long running requests may take to finish at the end")
    free_parameters: bool = Field(
        False, description="whether visitors without the token may choose parameters beside the presets"
    )
    fit_seconds: int = Field(600, ge=1, description="most seconds of one fit")
    fit_memory: int = Field(
        default_factory=half_of_memory,
        ge=1_000_000,
        description="most bytes that one fit may need beside the collection itself; half of the machine's",
    )
    fits_waiting: int = Field(4, ge=0, description="fits that may wait for their turn; the next one gets 429")
    prepare_seconds: float = Field(
        2.0,
        gt=0,
        description="most seconds of computing that the service itself spends on a method that keeps nothing",
    )
    where_values: int = Field(10_000, ge=1, description="most values of a filter")

    @classmethod
    def make(cls, **values: object) -> ServiceSettings:
        """The settings, or one sentence naming the one that is wrong."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{first['loc'][0]}: {first['msg'].lower()}.") from None

    @property
    def writes(self) -> bool:
        return self.token is not None
