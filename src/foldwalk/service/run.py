"""Start the service and stop it well: running requests finish, new ones are refused."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from foldwalk.core import BadInput
from foldwalk.service.app import create_app
from foldwalk.service.connections import connection_class
from foldwalk.service.quiet_log import keep_quiet
from foldwalk.service.settings import ServiceSettings
from foldwalk.stores.registry import PathLike


def serve(
    index: PathLike,
    host: str = "127.0.0.1",
    port: int = 8000,
    settings: ServiceSettings | None = None,
    started: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the index until the process is told to end (SIGINT or SIGTERM).

    Port 0 takes one that is free. `started` is told the address as soon as connections are taken.
    """
    settings = settings or ServiceSettings()
    app = create_app(index, settings)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    keep_quiet(settings.log_seconds)
    config = uvicorn.Config(
        app,
        http=connection_class(settings),
        ws="none",
        log_config=None,
        access_log=False,
        log_level="warning",
        server_header=False,
        backlog=settings.backlog,
        # Work goes on for clients that have hung up: so many at once, as there are connections.
        limit_concurrency=settings.connections + 1,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    # Searches run side by side, so a matrix product of one query must not call up every core: threads that
    # wait for each other there cost a busy machine ten times the work.
    with _listening(host, port, settings) as connection, threadpool_limits(1, user_api="blas"):
        name = f"[{host}]" if ":" in host else host
        started(f"http://{name}:{connection.getsockname()[1]}")
        server = uvicorn.Server(config)
        app.state.engine.warming.when_damaged = lambda: setattr(server, "should_exit", True)
        server.run(sockets=[connection])
    if app.state.engine.warming.damage is not None:
        raise app.state.engine.warming.damage


def _listening(host: str, port: int, settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # A name that cannot be one is found out before there is a socket that would stay open.
        socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        connection = socket.create_server((host, port), family=family, backlog=settings.backlog)
    except (OSError, OverflowError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(
            f"{host}:{port} cannot be listened at: {reason}; choose another --port or --host."
        ) from None
    # Connections inherit it. Without it the end of an answer waits 40 ms for the client's acknowledgement.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The system itself gives up a client that takes nothing of what is left to be sent, where it can.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = int(1000 * settings.send_seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return connection
