"""What whoever starts the service may set; every limit has a default that suits a small machine."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from foldwalk.core import BadInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_BYTES = 1_000_000_000


def half_of_memory() -> int:
    """Half of what the machine has, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class ServiceSettings(BaseModel):
    """`token` None means that nothing can be changed through the service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str | None = Field(
        None,
        description="ranks when a request names no method, and the map is drawn with it; none: the one that "
        "the index prefers",
    )
    methods: tuple[str, ...] = Field((), description="methods on offer; none named: all without training")
    token: SecretStr | None = Field(
        None, min_length=16, description="what a request must show to change the index"
    )
    hosts: tuple[str, ...] = Field(LOOPBACK, description='names it answers to; "*" is any')
    upload_bytes: int = Field(
        20_000_000, ge=1_000, le=MOST_BYTES, description="most bytes of an uploaded picture"
    )
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
    read_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="what a request must show to read; none: everyone who reaches it reads",
    )
    connections: int = Field(512, ge=1, description="connections at once; then the longest waiting gives way")
    backlog: int = Field(128, ge=1, description="connections that the system keeps until they are taken")
    header_seconds: float = Field(10, gt=0, le=3600, description="until a request's head must have come in")
    idle_seconds: int = Field(5, ge=1, le=3600, description="until a connection without a request is closed")
    body_seconds: float = Field(60, gt=0, le=3600, description="until a request's body must have come in")
    send_seconds: float = Field(30, gt=0, le=3600, description="until a client must take what it is sent")
    json_bytes: int = Field(2_000_000, ge=1_000, le=MOST_BYTES, description="most bytes of a JSON request")
    uploads: int = Field(128, ge=1, description="requests with a body at once; the next one gets 429")
    spool_bytes: int = Field(
        500_000_000, ge=1_000, description="most bytes of all bodies together; the next one gets 429"
    )
    log_seconds: float = Field(
        10, ge=0, le=86_400, description="the same line is logged once in so long, then with a count"
    )

    @classmethod
    def make(cls, **values: object) -> ServiceSettings:
        """The settings, or one sentence naming the one that is wrong."""
        try:
            made = cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{first['loc'][0]}: {first['msg'].lower()}.") from None
        if made.token is not None and made.token == made.read_token:
            raise BadInput("read_token: is the token for changes as well; give each its own.")
        return made

    @property
    def writes(self) -> bool:
        return self.token is not None

    @property
    def reading_tokens(self) -> tuple[SecretStr, ...]:
        """Those that open everything to be read; none where no token is needed for it."""
        if self.read_token is None:
            return ()
        return (self.read_token,) if self.token is None else (self.read_token, self.token)


# Those that `foldwalk serve --limit` takes; the others have options of their own.
LIMITS = (
    *("pixels", "map_items", "stop_seconds", "connections", "backlog", "header_seconds", "idle_seconds"),
    *("body_seconds", "send_seconds", "json_bytes", "uploads", "spool_bytes", "log_seconds"),
    *("fits_waiting", "prepare_seconds", "where_values"),
)
