"""The command: how it begins, what it says, and that it lets running requests finish when told to stop."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from service_samples import running_service

from foldwalk.cli import main
from foldwalk.service import ServiceSettings
from foldwalk.service.run import _listening

WAIT = 60.0
BODY = json.dumps({"key": "ring/05.png", "top": 3}).encode()


def is_answering(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_request_under_way_is_answered_before_the_end(pictures_index: Path) -> None:
    with running_service(pictures_index, "--writes") as (said, process):
        assert len(said["token"]) >= 32  # made, since none was given
        host = urlsplit(said["url"]).netloc
        assert host.startswith("127.0.0.1:")
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.putrequest("POST", "/api/search")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders(BODY[:5])
        assert is_answering(said["url"])  # and has seen what came before
        process.terminate()
        while is_answering(said["url"]):
            time.sleep(0.05)
        assert process.poll() is None  # it waits for the rest
        connection.send(BODY[5:])
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(json.loads(answer.read())["hits"]) == 3
        connection.close()
        assert process.wait(timeout=30) in (0, -15)


@pytest.mark.parametrize("damage", ["no numbers", "cut short"])
def test_a_damaged_index_is_said_and_ends_the_service(own_index: Path, damage: str) -> None:
    (block,) = (own_index / "blocks").iterdir()
    content = block.read_bytes()
    block.write_bytes(b"\xff" * len(content) if damage == "no numbers" else content[:100])
    command = [sys.executable, "-m", "foldwalk", "serve", str(own_index), "--port", "0"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert said.returncode == 2
    assert said.stderr.splitlines()[-1].startswith("foldwalk: ")
    assert "backup" in said.stderr.splitlines()[-1]  # how to get it back
    assert "Traceback" not in said.stderr


def test_answers_are_sent_without_waiting_for_acknowledgements() -> None:
    with _listening("127.0.0.1", 0, ServiceSettings()) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_bad_arguments_are_one_line_and_exit_2(
    pictures_index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = str(pictures_index)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        cases = {
            (str(tmp_path / "no.fold"),): "no.fold",
            (index, "--port", port): f"127.0.0.1:{port} cannot be listened at",
            (index, "--host", "no.such.host.invalid", "--allow-host", "x"): "cannot be listened at",
            (index, "--host", "0.0.0.0"): "--allow-host '*' for any",
            (index, "--upload-mb", "inf"): "--upload-mb is inf, but it must be from 0.001 to 1000",
            (index, "--upload-mb", "nan"): "--upload-mb is nan",
            (index, "--upload-mb", "-1"): "--upload-mb is -1",
            (index, "--upload-mb", "1e300"): "--upload-mb is 1e+300",
            (index, "--limit", "uploads"): "--limit uploads must read name=value",
            (index, "--limit", "token=1"): "with one of pixels,",
            (index, "--limit", "body_seconds=inf"): "body_seconds: ",
            (index, "--limit", "body_seconds=nan"): "body_seconds: ",
            (index, "--read-token", "short"): "read_token",
            (index, "--token", "x" * 20, "--read-token", "x" * 20): "give each its own",
            (index, "--method", "cass"): "there is no method 'cass'",
            (index, "--methods", "plain,cass"): "there is no method 'cass'",
            (index, "--token", "short"): "token",
            (index, "--port", "70000"): "--port",
        }
        for arguments, words in cases.items():
            assert main._exit_code(["serve", *arguments]) == 2
            said = capsys.readouterr()
            assert said.out == ""
            assert said.err.count("\n") == 1
            assert words in said.err
