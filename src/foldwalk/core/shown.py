"""Text of strangers as a terminal may show it: keys, metadata and file names can hold what it would obey.

Escape sequences move the cursor, set the title or the clipboard and hide links; marks of direction turn a
name around. They are written out, as in \\x1b, and so are bytes of a file name that are not UTF-8.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# Words of some languages, and emoji of several parts, are written with them.
JOINERS = "\u200c\u200d"


def shown(
    text: str, escape: Callable[[str], str] = lambda letter: letter.encode("unicode_escape").decode()
) -> str:
    """The text in one line, with every letter written out that does more than be seen."""
    if text.isprintable():  # quick to tell, and mostly so
        return text
    return "".join(letter if _harmless(letter) else escape(letter) for letter in text)


def _harmless(letter: str) -> bool:
    # Co is left to private fonts, Cn to letters younger than Python; Zs are other kinds of blanks.
    return letter.isprintable() or letter in JOINERS or unicodedata.category(letter) in ("Zs", "Co", "Cn")
