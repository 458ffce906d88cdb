"""The command ``foldwalk``: its commands put together, and every error said in one line."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from foldwalk import __version__
from foldwalk.cli.add import add
from foldwalk.cli.backbones import backbones
from foldwalk.cli.backup import backup
from foldwalk.cli.bench import bench
from foldwalk.cli.datasets import datasets
from foldwalk.cli.demo import demo
from foldwalk.cli.describe import describe
from foldwalk.cli.evaluate import evaluate
from foldwalk.cli.explain import explain
from foldwalk.cli.export import export
from foldwalk.cli.index import index
from foldwalk.cli.info import info
from foldwalk.cli.methods import methods
from foldwalk.cli.output import remark, say, warnings_as_remarks
from foldwalk.cli.rebuild import rebuild
from foldwalk.cli.remove import remove
from foldwalk.cli.repair import repair
from foldwalk.cli.rerank import rerank
from foldwalk.cli.restore import restore
from foldwalk.cli.search import search
from foldwalk.cli.serve import serve
from foldwalk.cli.stores import stores
from foldwalk.cli.sync import sync
from foldwalk.cli.train import train
from foldwalk.cli.trainings import trainings
from foldwalk.cli.tune import tune
from foldwalk.cli.verify import verify
from foldwalk.cli.views import views

app = typer.Typer(name="foldwalk", add_completion=False, pretty_exceptions_enable=False)
_JOURNEY = (demo, index, search, explain, serve)
_CARE = (add, sync, remove, info, tune, verify, repair, rebuild, backup, restore, export, describe)
_RESEARCH = (rerank, methods, datasets, views, stores, backbones, trainings, evaluate, bench, train)
for _panel, _commands in (
    ("A collection", _JOURNEY),
    ("Looking after it", _CARE),
    ("Methods and measurements", _RESEARCH),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)

# typer carries its own copy of click or depends on it, by version: this names the class in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_OWN_FAULT = _BROKEN_PIPE = 1
_BAD_INPUT, _INTERRUPTED = 2, 130


def _show_version(asked: bool) -> None:
    if asked:
        say(f"foldwalk {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Image search that walks the manifold: rank along the nearest-neighbour graph, without labels."""


def run() -> None:
    """Entry point of the console script."""
    if sys.argv[1:2] == ["train"]:  # here, where the process is the command's own
        from foldwalk.machine.freed_memory import keep_freed_memory

        keep_freed_memory()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that the terminal has no letters for are no error
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(_exit_code(sys.argv[1:] or ["--help"]))


def _exit_code(arguments: list[str]) -> int:
    try:
        _refuse_nul(arguments)
        with warnings_as_remarks():
            code = app(arguments, prog_name="foldwalk", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # Whatever is still buffered has no reader; without this the interpreter complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE  # what typer itself exits with when it is the first to notice
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except Exception as error:
        message = _explain(error)
        if message is None and os.environ.get("FOLDWALK_TRACEBACK"):
            raise
        own_fault = f"internal error, {type(error).__name__}: {error} (FOLDWALK_TRACEBACK=1 shows where)."
        remark(f"foldwalk: {' '.join((message or own_fault).split())}")
        return _BAD_INPUT if message else _OWN_FAULT


def _refuse_nul(arguments: list[str]) -> None:
    """A shell cannot type it, but other programs can hand it in; no name of a file has it."""
    from foldwalk.core import BadInput

    for argument in arguments:
        if "\0" in argument:
            raise BadInput(f"the argument {argument!r} has a NUL byte in it.")


def _explain(error: Exception) -> str | None:
    """What to tell the user; None for errors that are foldwalk's own fault."""
    from foldwalk.core import FoldwalkError

    if isinstance(error, _UsageError):
        message = str(error.format_message())  # type: ignore[attr-defined]
        context = getattr(error, "ctx", None)
        return f"{message.rstrip('.')} (see {context.command_path} --help)." if context else message
    if isinstance(error, FoldwalkError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}."
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use fewer or smaller vectors."
    return None
