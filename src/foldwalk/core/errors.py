"""What can go wrong, as classes a caller can catch.

Each message is one sentence that says what is wrong, where, and what to do about it: the command line prints
it as it is, the service sends it as it is.
"""

from __future__ import annotations


class FoldwalkError(Exception):
    """Base of every error foldwalk raises on purpose."""


class BadInput(FoldwalkError, ValueError):
    """The data or an argument cannot be used."""


class BadParameter(BadInput):
    """A method's parameter is unknown or out of its range."""


class TooFewNeighbors(BadInput):
    """The neighbours that were handed in are fewer than a method asks for."""


class UnknownName(BadInput, KeyError):
    """No method, data set or option of that name."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class NotFitted(FoldwalkError, RuntimeError):
    """A method was asked to rank before it saw a gallery."""


class Forked(FoldwalkError, RuntimeError):
    """The process was made in a way that compiled kernels do not survive."""


class MissingData(FoldwalkError, FileNotFoundError):
    """A file or a data set is not where it was looked for."""


class MissingExtra(FoldwalkError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f'{purpose} needs the package {package}: install it with  pip install "foldwalk[{extra}]".'
        )


def one_line(error: BaseException) -> str:
    """What an error of another library says, as part of a sentence."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
