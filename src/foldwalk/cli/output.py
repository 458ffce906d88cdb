"""Where the commands' words go: results to stdout, remarks to stderr."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from foldwalk.rerank.params import Parameter

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON on stdout, nothing else.")]


def console() -> Console:
    """A console on stdout that leaves a closed pipe to `run`, as print does."""
    from rich.console import Console

    class PlainPipes(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return PlainPipes()


def parameter_table(parameters: Iterable[Parameter]) -> Table:
    """The parameters of a method or a training."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("parameter", "default", "range", "meaning")
    for p in parameters:
        table.add_row(f"[bold]{p.name}", escape(str(p.default)), escape(p.range), escape(p.text))
    return table


def print_json(value: Any) -> None:
    from foldwalk.core.json_text import to_json

    print(to_json(value))


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def command_line() -> str:
    """What the user typed, for reports."""
    return shlex.join(["foldwalk", *sys.argv[1:]])
