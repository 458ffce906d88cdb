"""A word to whoever waits while kernels are compiled: the first time after installation it takes a while."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from numba.core import event


class FirstTime(event.Listener):
    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if not self.told:
            self.told = True
            print(
                "Compiling for this processor: once after installation, up to a few minutes.",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


@cache
def tell_of_compiling() -> None:
    """Say so on stderr, once a process, when a kernel is compiled that was not kept from before."""
    event.register("numba:compile", FirstTime())  # type: ignore[no-untyped-call]
