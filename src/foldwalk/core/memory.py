"""Whether something fits into memory, asked before it is read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from foldwalk.core.errors import BadInput

# Bytes that a letter of JSON or of a table may come to once it is read: "[]," is a list and a place for it.
OF_A_LETTER = 24
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_memory() -> int | None:
    """Bytes that are free for this process, as the system and its container say; None where they do not."""
    said = [_of_system(), _of_process(), *(_of_container(*files) for files in _CGROUPS)]
    return min((left for left in said if left is not None), default=None)


def need_memory(size: int, what: str) -> None:
    """Refuse what takes more bytes than there are; `what` begins the sentence."""
    free = available_memory()
    if free is not None and size > free:
        raise BadInput(f"{what} would take {_readable(size)} of memory, but {_readable(free)} are free.")


def limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has, where the system can hold it to that."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more,) * 2)


def _address_space() -> int:
    import resource

    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _of_system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_process() -> int | None:
    """What is left of the address space, where it is limited."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        return max(1, most - _address_space())
    except (ImportError, OSError, ValueError, IndexError):
        return None


def _of_container(limit: str, used: str) -> int | None:
    try:
        return max(1, int(Path(limit).read_text()) - int(Path(used).read_text()))
    except (OSError, ValueError):  # none, or "max"
        return None


def _readable(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} bytes"
