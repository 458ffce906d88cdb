"""``foldwalk serve``: an index as an HTTP service with a page."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, remark, say
from foldwalk.cli.sources import IndexPlace


def serve(
    index: IndexPlace,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 is every one.")] = "127.0.0.1",
    method: Annotated[
        str | None,
        typer.Option(help="Method when a request names none; without it the one that the index prefers."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods to offer, separated by commas; without it all that need no training."),
    ] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Allow changes with a token; one is made if none is given.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(envvar="FOLDWALK_TOKEN", help="The token for changes, 16 letters or more; allows them."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Answer to this host name too; * is any. A --host of the network needs it. May be repeated."
        ),
    ] = None,
    upload_mb: Annotated[float, typer.Option(help="Largest upload in megabytes.")] = 20.0,
    max_top: Annotated[int, typer.Option(min=1, help="Most results of one search.")] = 200,
    at_once: Annotated[int | None, typer.Option(min=1, help="Searches at a time; as many as cores.")] = None,
    waiting: Annotated[int, typer.Option(min=0, help="Searches that may wait; the next gets 429.")] = 32,
    free_parameters: Annotated[
        bool, typer.Option("--free-parameters", help="Let everyone choose parameters, not only presets.")
    ] = False,
    fit_seconds: Annotated[
        int, typer.Option(min=1, help="Most seconds that fitting a method may take.")
    ] = 600,
    fit_memory_mb: Annotated[
        int | None,
        typer.Option(min=1, help="Most megabytes that fitting a method may take; half of the machine's."),
    ] = None,
    as_json: AsJson = False,
    read_token: Annotated[
        str | None,
        typer.Option(
            envvar="FOLDWALK_READ_TOKEN", help="Let only those read who show this token, 16 letters or more."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Another limit of docs/service.md. May be repeated."),
    ] = None,
) -> None:
    """Serve an index: search by picture in the browser, or over HTTP."""
    import secrets

    from foldwalk.cli.output import print_json
    from foldwalk.cli.params import parse_names
    from foldwalk.service import ServiceSettings
    from foldwalk.service import serve as serve_index
    from foldwalk.service.announce import who_may
    from foldwalk.service.settings import LOOPBACK

    made = secrets.token_urlsafe(24) if writes and token is None else None
    _require_names(host, allow_host)
    settings = ServiceSettings.make(
        method=method,
        methods=tuple(parse_names(methods, "--methods")) if methods else (),
        token=token or made,
        read_token=read_token,
        hosts=tuple(dict.fromkeys((*LOOPBACK, host, *(allow_host or ())))),
        upload_bytes=_bytes(upload_mb),
        top=max_top,
        waiting=waiting,
        free_parameters=free_parameters,
        fit_seconds=fit_seconds,
        **({"at_once": at_once} if at_once else {}),
        **({"fit_memory": fit_memory_mb * 1_000_000} if fit_memory_mb else {}),
        **_limits(limit or []),
    )

    def started(url: str) -> None:
        if as_json:
            reads = "token" if read_token else "everyone"
            access = {"reads": reads, "writes": settings.writes, "hosts": settings.hosts}
            print_json({"url": url, "index": index, "token": made, **access})
        else:
            say(f"{index} at {url}  (stop with Ctrl-C)")
            for sentence in who_may(settings, host):
                remark(sentence)
            if made:
                remark(f"the token for changes is {made}")

    serve_index(index, host, port, settings, started)


def _require_names(host: str, allowed: list[str] | None) -> None:
    from foldwalk.core import BadInput
    from foldwalk.service.announce import is_loopback

    if not is_loopback(host) and not allowed:
        raise BadInput(
            f"--host {host} opens the service to the network: say with --allow-host under which names "
            f"visitors ask for it, or --allow-host '*' for any."
        )


def _bytes(megabytes: float) -> int:
    from foldwalk.core import BadInput

    if not 0.001 <= megabytes <= 1000:  # which nan is not either
        raise BadInput(f"--upload-mb is {megabytes:g}, but it must be from 0.001 to 1000.")
    return int(megabytes * 1e6)


def _limits(items: list[str]) -> dict[str, str]:
    from foldwalk.core import BadInput
    from foldwalk.service.settings import LIMITS

    limits = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or name not in LIMITS:
            raise BadInput(f"--limit {item} must read name=value with one of {', '.join(LIMITS)}.")
        limits[name] = value
    return limits
