"""List what can be measured: what each script is about, and its command."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks import ROOT


def scripts() -> dict[str, Path]:
    """The files that are run, by the name that stands behind `python -m`."""
    found = sorted((ROOT / "benchmarks").glob("*/*.py"))
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in found
        if "__main__" in path.read_text("utf-8")
    }


def main() -> None:
    for name, path in scripts().items():
        about = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        print(f"python -m {name}\n    {about.splitlines()[0]}")
    print("\nEach takes --help, but for the few without options. How long they take: benchmarks/README.md")


if __name__ == "__main__":
    main()
