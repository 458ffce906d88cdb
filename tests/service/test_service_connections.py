"""Strangers at the port: many connections, slow ones, those that do not read, those that hang up."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import resource
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from service_samples import running_service

from foldwalk.service import ServiceSettings
from foldwalk.service.connections import connection_class

LIMITS = {"connections": 40, "header_seconds": 1, "body_seconds": 4, "send_seconds": 1, "idle_seconds": 2}
BODIES = {"json_bytes": 20_000, "uploads": 3, "spool_bytes": 250_000}
WAIT = 20.0


@dataclass
class Service:
    address: tuple[str, int]
    process: subprocess.Popen[str]
    log: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=WAIT)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, str]:
        connection = http.client.HTTPConnection(*self.address, timeout=WAIT)
        try:
            connection.request(method, path, body, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def figures(self) -> str:
        return self.ask("GET", "/metrics")[1]

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def service(pictures_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    path = tmp_path_factory.mktemp("log") / "log"
    options = [
        option for name, value in (LIMITS | BODIES).items() for option in ("--limit", f"{name}={value}")
    ]
    with path.open("w") as log, running_service(pictures_index, *options, log=log) as (said, process):
        url = urlsplit(said["url"])
        yield Service((str(url.hostname), int(url.port or 0)), process, path)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side ended it, all that was sent before read."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    return True


def drip(connection: socket.socket, pieces: Iterator[bytes]) -> None:
    """Send piece by piece until the other side has had enough."""
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            connection.send(piece)
            time.sleep(0.02)


def endless(piece: bytes) -> Iterator[bytes]:
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        yield piece
    pytest.fail("it was never cut")


def test_the_one_that_waits_longest_gives_way_to_the_next(service: Service) -> None:
    before = service.files()
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(service.connect()) for _ in range(300)]
        assert service.ask("GET", "/api/health")[0] == 200
        assert service.files() <= before + LIMITS["connections"] + 2
        assert all(is_cut(stranger) for stranger in strangers)  # the last ones for having said nothing
    assert service.ask("GET", "/api/health")[0] == 200


def test_a_head_that_drips_is_cut_and_others_are_served_meanwhile(service: Service) -> None:
    with service.connect() as slow:
        slow.send(b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        assert service.ask("GET", "/api/health")[0] == 200
        drip(slow, endless(b"x"))
        assert is_cut(slow)


def test_the_second_head_of_a_connection_may_not_drip_either(service: Service) -> None:
    with service.connect() as slow:
        slow.sendall(b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
        drip(slow, endless(b"G"))
        assert is_cut(slow)


def test_what_is_left_of_a_refused_body_is_not_taken_for_ever(service: Service) -> None:
    head = b"POST /api/search HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 10000\r\n\r\n"
    with service.connect() as slow:
        slow.sendall(head)
        assert slow.recv(65536).startswith(b"HTTP/1.1 421")
        drip(slow, endless(b"x"))
        assert is_cut(slow)


def head_of(length: int, kind: str = "application/json") -> bytes:
    lines = (
        "POST /api/search HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Type: {kind}",
        f"Content-Length: {length}",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_a_body_that_drips_is_408(service: Service) -> None:
    with service.connect() as slow:
        slow.sendall(head_of(10_000) + b'{"key": "')
        answer = http.client.HTTPResponse(slow)
        answer.begin()
        assert (answer.status, b"within 4 seconds" in answer.read()) == (408, True)


def test_a_client_that_does_not_read_is_given_up(service: Service) -> None:
    with socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.settimeout(WAIT)
        greedy.connect(service.address)
        greedy.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):  # many requests at once, no answer read
            for _ in range(3000):
                greedy.send(b"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        inode = greedy.getsockname()[1]
        wait_for(lambda: f"{inode:04X}" not in established(service.address[1]))
    assert service.ask("GET", "/api/health")[0] == 200


def established(port: int) -> set[str]:
    """Ports of the other ends of the service's connections."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[2].split(":")[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"}


def test_hanging_up_is_no_fault(service: Service) -> None:
    with service.connect() as leaving:
        leaving.sendall(head_of(10_000) + b'{"key": "')
    hung_up = 'foldwalk_requests_total{method="POST",route="/api/search",status="499"} 1.0'
    wait_for(lambda: hung_up in service.figures())
    assert 'status="5' not in service.figures()
    assert "Traceback" not in service.log.read_text()


def test_json_is_much_smaller_than_a_picture_may_be(service: Service) -> None:
    status, said = service.ask("POST", "/api/search", b" " * 20_001, "application/json")
    assert (status, json.loads(said)) == (
        413,
        {"error": "the request is larger than the 0.02 MB that are allowed."},
    )


def form(size: int) -> tuple[bytes, str]:
    start = b'--x\r\nContent-Disposition: form-data; name="picture"; filename="a"\r\n\r\n'
    return start + b"p" * size + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"


def test_so_many_uploads_at_once_and_so_many_bytes_in_all(service: Service) -> None:
    body, kind = form(100_000)
    with contextlib.ExitStack() as stack:
        for _ in range(BODIES["uploads"]):
            stack.enter_context(service.connect()).sendall(head_of(len(body), kind) + body[:1000])
        wait_for(lambda: service.ask("POST", "/api/search", b'{"key": "none"}', "application/json")[0] == 429)
    wait_for(lambda: service.ask("POST", "/api/search", b'{"key": "none"}', "application/json")[0] == 404)
    with contextlib.ExitStack() as stack:
        three = [stack.enter_context(service.connect()) for _ in range(3)]
        for each in three:
            each.sendall(head_of(len(body), kind) + body[:-9])
        answered, _, _ = select.select(three, [], [], WAIT)  # the one for which there was no room
        assert answered[0].recv(65536).startswith(b"HTTP/1.1 429")
    wait_for(lambda: service.ask("POST", "/api/search", body, kind)[0] == 422)  # taken, but no picture


def test_a_word_of_its_own_for_a_method_is_counted_as_other(service: Service) -> None:
    for number in range(20):
        assert service.ask(f"WORD{number}", f"/api/place/{number}")[0] in (404, 405)
    figures = service.figures()
    assert re.search(r'foldwalk_requests_total{method="other",route="other",status="\d+"} 20.0', figures)
    assert "WORD" not in figures


def test_rubbish_fills_no_log(service: Service) -> None:
    before = len(service.log.read_text().splitlines())
    for _ in range(200):
        with service.connect() as stranger:
            stranger.sendall(b"\x00\x01 rubbish\r\n\r\n")
            assert is_cut(stranger)
    assert len(service.log.read_text().splitlines()) <= before + 3


def test_without_a_file_left_it_waits_and_goes_on(pictures_index: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as log, running_service(pictures_index, log=log) as (said, process):
        url = urlsplit(said["url"])
        service = Service((str(url.hostname), int(url.port or 0)), process, path)
        few = service.files() + 20
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (few, few))
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(service.connect())
            wait_for(lambda: "out of system resource" in path.read_text())
        assert service.ask("GET", "/api/health")[0] == 200
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize(("soft", "hard", "most"), [(1024, 4096, 512), (300, 400, 144), (150, 150, 8)])
def test_connections_are_as_many_as_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.append(wanted))
    assert connection_class(ServiceSettings()).most == most
    assert limits[-1][0] == max(soft, min(hard, 512 + 128 + 128))
