"""What a kind of network says of itself, and how one of it is loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from foldwalk.descriptors.networks.shared.network import Network


class AnyNetwork:
    """What every `Network` is, to be asked for without torch."""


class Kind(ABC):
    """A library, or one network: `named` is how a user names one of it, `extra` what it needs.

    A kind is never made: it is a name for two functions. Its file imports torch only inside `load`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    named: ClassVar[str]
    example: ClassVar[str]
    extra: ClassVar[str]
    remark: ClassVar[str] = ""

    @classmethod
    def claim(cls, model: object) -> str | None:
        """What is left of a name of this kind, `library:NAME`, without the library; None where it is not."""
        library, _, own = str(model).partition(":")
        return own if own and library == cls.name else None

    @classmethod
    def lasting(cls, own: str) -> str:
        """`own` as it can be noted: what names a file names it from anywhere."""
        return own

    @classmethod
    @abstractmethod
    def load(cls, name: str, own: str) -> Network:
        """The network a user calls `name`, of which `own` is what `claim` left."""
