"""Where the commands' words go: results to stdout, remarks to stderr.

All of them pass here, so that nothing in a key, in metadata or in a file name can speak to the terminal.
"""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from foldwalk.rerank.params import Parameter

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON on stdout, nothing else.")]

Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


def console() -> Console:
    """A console on stdout that shows text as `say` does, and leaves a closed pipe to `run`."""
    from rich.console import Console

    from foldwalk.core.shown import shown

    class Careful(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(shown(text), **options)

    return Careful(emoji=False)  # a key may read :bell:


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

    print(to_json(value), flush=True)


def say(text: str) -> None:
    """One line of the answer."""
    from foldwalk.core.shown import shown

    print(shown(text), flush=True)


def print_json_line(value: Any) -> None:
    """One of several answers: a line each, at once."""
    from foldwalk.core.json_text import to_json

    print(to_json(value, indent=None), flush=True)


def remark(text: str) -> None:
    """One line beside it."""
    from foldwalk.core.shown import shown

    print(shown(text), file=sys.stderr)


@contextmanager
def warnings_as_remarks() -> Iterator[None]:
    """What the library warns of in one line, without the place in the code; other warnings as they are."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category is UserWarning:
                remark(" ".join(str(message).split()))
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


def command_line() -> str:
    """What the user typed, for reports."""
    return shlex.join(["foldwalk", *sys.argv[1:]])
