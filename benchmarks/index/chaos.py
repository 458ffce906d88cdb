"""What an index survives: kills at any moment, readers beside a writer, folders full of broken pictures.

    python -m benchmarks.index.chaos [--kills 200] [--seconds 60] [--readers 8] [--broken 300]

What is done and what is checked stands in yardsticks/chaos.py; a short form of it is a test.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from chaos import run_broken, run_index_kills, run_kills
from chaos_readers import run_readers
from harness import save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--broken", type=int, default=300)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, work in (
            ("broken_pictures", lambda: run_broken(options.broken, 300, folder)),
            ("readers", lambda: run_readers(options.readers, options.seconds, folder)),
            ("kills", lambda: run_kills(options.kills * 3 // 4, folder)),
            ("index_kills", lambda: run_index_kills(options.kills - options.kills * 3 // 4, folder)),
        ):
            began = time.perf_counter()
            results[part] = work() | {"wall_s": round(time.perf_counter() - began, 1)}
            print(part, results[part], flush=True)
    save("chaos", results)


if __name__ == "__main__":
    main()
