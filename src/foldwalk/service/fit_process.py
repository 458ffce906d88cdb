"""The process that fits: reads one request a line, answers one line each, and ends with its input.

The first line says where the collection is and what a fit may take. The address may hold a password, which
is why it comes this way and not as an argument. Time is limited by an alarm that ends the process, memory
by the system, which then refuses more (on Linux): what the process holds before a fit does not count.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from foldwalk.core import FoldwalkError
from foldwalk.index import Index
from foldwalk.index.asking.handed import Handed
from foldwalk.rerank import create
from foldwalk.service.errors import status_of

LOW_PRIORITY = 5
_log = logging.getLogger("foldwalk.service")


def fit(index: Index, method: str, parameters: dict[str, Any], file: str) -> dict[str, Any]:
    """Fit, and hand over in a file what the other process cannot find with the store."""
    handed = index.hand_over(method, parameters)
    if handed is not None:
        handed.write(file)
    seconds = 0.0 if handed is None or handed.state else _preparing(index, method, parameters, handed)
    return {"version": index.version, "file": None if handed is None else file, "preparing": seconds}


def _preparing(index: Index, method: str, parameters: dict[str, Any], handed: Handed) -> float:
    """Seconds of computing that the other process needs, where nothing is kept and it prepares itself."""
    vectors = index.fitted(method, parameters).vectors
    again = create(method, **{**parameters, "metric": index.metric})
    began = time.process_time()
    again.adopt(vectors, neighbors=handed.neighbors or index.neighbors())
    return time.process_time() - began


def limit_memory(more: int) -> None:
    """Let the process have so many bytes more than it has now; where that cannot be said, as many as ever."""
    with suppress(OSError, ValueError):
        held = next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmData:")
        )
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (held + more, most))


def serve(read: Callable[[], str], answer: Callable[[dict[str, Any]], None]) -> None:
    about = json.loads(read())
    with Index.open(about["url"]) as index:
        while line := read():
            asked = json.loads(line)
            index.refresh()
            index.vectors()  # mapped or read now: what the collection takes does not count
            limit_memory(about["memory"])
            signal.alarm(about["seconds"])
            try:
                said = fit(index, asked["method"], asked["parameters"], asked["file"])
            except MemoryError:
                answer({"limit": "memory"})
                return  # what is left of the attempt goes with the process
            except FoldwalkError as error:
                said = _failure(error)
            except Exception:
                _log.exception("%s could not be fitted", asked["method"])
                said = {"error": f"{asked['method']} could not be fitted; the log says why.", "status": 503}
            signal.alarm(0)
            answer(said)


def _failure(error: FoldwalkError) -> dict[str, Any]:
    return {"error": str(error), "status": status_of(error)}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this process
    os.nice(LOW_PRIORITY)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not get among the answers

    def answer(said: dict[str, Any]) -> None:
        print(json.dumps(said), file=answers, flush=True)

    try:
        serve(sys.stdin.readline, answer)
    except FoldwalkError as error:  # the collection cannot be opened or read
        answer({**_failure(error), "ends": True})


if __name__ == "__main__":
    main()
