"""The service under mixed load for an hour, stopped and killed in between: is anything acknowledged lost?

    python -m benchmarks.service.restarts [--minutes 60] [--restarts 12] [--items 1000]

What is done and what is checked stands in yardsticks/endurance.py. Clients and service share the machine.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from endurance import run_endurance
from harness import save


def show(results: dict[str, Any]) -> None:
    columns = ("answered", "p50_ms", "p99_ms", "refused", "faults", "broken_off")
    table = Table("kind", *columns)
    for kind, row in results["kinds"].items():
        table.add_row(kind, *(str(row[column]) for column in columns))
    lives = Table("life", "ended by", "RSS warm, MB", "RSS at the end, MB", "seconds to end")
    for number, life in enumerate(results["lives"]):
        values = (life["ended_by"], life["rss_warm_mb"], life["rss_end_mb"], life["end_s"])
        lives.add_row(str(number), *map(str, values))
    console = Console()
    console.print(table, lives)
    names = ("acknowledged_keys", "lost", "verified", "faults", "tracebacks", "log_bytes")
    console.print({name: results[name] for name in names})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--restarts", type=int, default=12)
    parser.add_argument("--items", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = run_endurance(Path(folder), 60 * options.minutes, options.restarts, options.items)
    show(results)
    save("service_restarts", {**vars(options), **results})


if __name__ == "__main__":
    main()
