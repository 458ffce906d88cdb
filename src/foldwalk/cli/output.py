"""Where the commands' words go: results to stdout, remarks to stderr."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON on stdout, nothing else.")]


def console() -> Console:
    """A console on stdout that leaves a closed pipe to `run`, as print does."""
    from rich.console import Console

    class PlainPipes(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return PlainPipes()


def print_json(value: Any) -> None:
    from foldwalk.core.json_text import to_json

    print(to_json(value))


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def command_line() -> str:
    """What the user typed, for reports."""
    return shlex.join(["foldwalk", *sys.argv[1:]])
