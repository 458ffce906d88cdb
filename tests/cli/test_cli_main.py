"""The command as a whole: help, version, exit codes, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foldwalk import __version__
from foldwalk.cli import main

COMMANDS = ("demo", "rerank", "methods", "datasets", "evaluate", "bench", "describe", "train")


def test_every_command_has_help_with_json() -> None:
    runner = CliRunner()
    listed = runner.invoke(main.app, ["--help"]).output
    for command in COMMANDS:
        assert command in listed
        result = runner.invoke(main.app, [command, "--help"])
        assert result.exit_code == 0
        assert "--json" in result.output


def test_version() -> None:
    result = CliRunner().invoke(main.app, ["--version"])
    assert result.output == f"foldwalk {__version__}\n"
    assert result.exit_code == 0


def test_help_does_not_import_the_heavy_packages() -> None:
    code = (
        "import sys; from foldwalk.cli.main import app\n"
        "heavy = ('numpy', 'numba', 'faiss', 'sklearn', 'matplotlib', 'torch')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["rerank", "--bogus"], "No such option: --bogus"),
        (["rerank", "--gallery", "g.npy"], "Missing option '--out'"),
        (["rerank", "--gallery", "g.npy", "--out", "r.npz", "--top", "many"], "'--top'"),
        (["methods", "plian"], "did you mean plain"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(foldwalk, arguments: list[str], expected: str) -> None:
    result = foldwalk(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("foldwalk: ")
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr


def test_a_card_says_what_a_method_needs() -> None:
    runner = CliRunner()
    shown = runner.invoke(main.app, ["methods", "gradnet"]).output
    assert "Needs training: yes. Queries join the graph: yes. Answers from stored rows: no" in shown
    card = json.loads(runner.invoke(main.app, ["methods", "eir", "--json"]).output)
    assert (card["needs_training"], card["joins_graph"], card["answers_from_rows"]) == (False, True, True)


def test_what_the_library_warns_of_is_one_line(monkeypatch, capsys) -> None:
    def warned(*_: object, **__: object) -> None:
        warnings.warn("mind\nthe gap", UserWarning, stacklevel=2)
        warnings.warn("an older way", RuntimeWarning, stacklevel=2)

    monkeypatch.setattr(main, "app", warned)
    with pytest.warns(RuntimeWarning, match="an older way"):  # others stay as they are
        assert main._exit_code([]) == 0
    assert capsys.readouterr().err == "mind the gap\n"


def test_no_arguments_show_the_help(foldwalk) -> None:
    result = foldwalk()
    assert result.returncode == 0
    assert "Usage: foldwalk" in result.stdout


def test_unexpected_errors_are_one_line_and_exit_1(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("a bug\nof ours")

    monkeypatch.delenv("FOLDWALK_TRACEBACK", raising=False)
    monkeypatch.setattr(main, "app", broken)
    monkeypatch.setattr(sys, "argv", ["foldwalk", "methods"])
    with pytest.raises(SystemExit) as exit_info:
        main.run()
    assert exit_info.value.code == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "internal error, TypeError: a bug of ours" in error


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_interruptions_are_silent(error: type[BaseException]) -> None:
    """In a process of its own, since a broken pipe closes its stdout for good."""
    code = (
        "from foldwalk.cli import main\n"
        f"def broken(*a, **k): raise {error.__name__}\n"
        "main.app = broken\nmain.run()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == {KeyboardInterrupt: 130, BrokenPipeError: 1}[error]
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize("arguments", [["methods"], ["methods", "--json"]])
def test_a_closed_pipe_is_silent(arguments: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "foldwalk", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()  # before anything was written, as head does after its last line
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 1


@pytest.mark.parametrize("lines", [1, 2])
def test_ctrl_c_during_a_measurement_ends_everything_quietly(tmp_path: Path, lines: int) -> None:
    """The measuring process must neither complain nor outlive its parent."""
    said = tmp_path / "said"
    with open(said, "w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "foldwalk", "bench", "--dataset", "digits", "--methods", "all"],
            cwd=tmp_path,
            stderr=stderr,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Whoever runs the tests in the background ignores Ctrl-C, and so would what they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    while said.read_text().count("measuring: ") < lines:
        assert process.poll() is None, said.read_text()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C reaches the whole group
    out, _ = process.communicate(timeout=120)  # ends when no process of the group holds the pipe any more
    assert process.returncode == 130
    assert "Traceback" not in said.read_text()
    assert out == ""


def test_methods_as_json_has_every_method() -> None:
    from foldwalk import rerank

    result = CliRunner().invoke(main.app, ["methods", "--json"])
    cards = json.loads(result.output)
    assert [card["name"] for card in cards] == rerank.names()
    assert cards[0]["name"] == "plain"


def test_methods_card_shows_parameters_with_defaults() -> None:
    result = CliRunner().invoke(main.app, ["methods", "plain"])
    assert result.exit_code == 0
    assert "metric" in result.output
    assert "cosine" in result.output


def test_what_cannot_be_trained_is_said_before_torch_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5_000)
    lines = [
        ["train", "gradnet", "nowhere.npy", "--out", "t"],
        ["train", "gradnet", "nowhere.fold"],
        ["train", "gradnet", "file", "--out", "file"],
        ["train", "gradnet", "digits", "--out", "t", "--start", "nowhere"],
        ["train", "gradnet", "digits", "--out", "/proc/t"],
        ["train", "mom", "--config", "nowhere", "--out", "t"],
        ["train", "mom", "--config", "folder.toml", "--out", "t"],
        ["train", "mom", "--config", "deep.toml", "--out", "t"],
        ["train", "mom", "--config", "cub-mom-paper", "--out", "file/t"],
        ["train", "mom", "--config", "cub-mom-paper", "--out", "/proc/t"],
    ]
    code = (
        "import sys; from foldwalk.cli import main\n"
        f"print([main._exit_code(line) for line in {lines!r}], 'torch' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert result.stdout == f"{[2] * len(lines)} False\n", result.stderr
    assert result.stderr.count("\n") == len(lines)
