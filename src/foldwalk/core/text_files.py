"""Text of strangers in files: one sentence where there is none that can be read."""

from __future__ import annotations

from pathlib import Path

from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.memory import OF_A_LETTER, need_memory


def read_text_file(path: Path, what: str = "", longest: int | None = None) -> str:
    """The text of a file, which is in UTF-8 and fits into memory; `what` stands before its name in errors.

    A file of more than `longest` bytes is refused.
    """
    name = f"{what} {path}".strip()
    try:
        if not path.is_file():  # a folder, a pipe that would be waited for, links that lead in a circle
            raise MissingData(f"{name} does not exist or is not a file.")
        if longest is not None and path.stat().st_size > longest:
            raise BadInput(f"{name} is longer than {longest} bytes, which no such file is.")
        need_memory(OF_A_LETTER * path.stat().st_size, name)
        return path.read_text(encoding="utf-8-sig")  # a mark at its head is no part of it
    except (BadInput, MissingData):
        raise
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not text in UTF-8: {error}.") from None
