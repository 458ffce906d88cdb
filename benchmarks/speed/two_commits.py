"""Two commits side by side: CPU seconds of fitting and ranking, alternating in one run.

    python -m benchmarks.speed.two_commits OLD NEW [--sizes 10000,100000] [--methods ...] [--rounds 5]

OLD and NEW are checkouts; both run with this interpreter. The k-NN graph is made once and handed in. Each
measurement is a process of its own that fits and ranks two to six times, all but the first of which count. A
figure is the median of the rounds, in which the two commits take turns; "ratio" is new over old.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import save

QUERIES, DIM, WIDTH, TOP = 1_000, 128, 400, 100
METHODS = "plain,cas,eir,k_reciprocal,gdp,lhrr"

MAKE = f"""
import sys
import numpy as np
from foldwalk.core import Vectors
from foldwalk.datasets import synthetic
from foldwalk.neighbors import knn_graph
n, target = int(sys.argv[1]), sys.argv[2]
data = synthetic(n, d={DIM})
gallery = Vectors.check(data.gallery).unit()
queries = np.resize(data.queries, ({QUERIES}, {DIM}))
queries = (queries + np.random.default_rng(0).normal(0, .01, queries.shape)).astype(np.float32)
found = knn_graph(gallery, {WIDTH})
np.savez(target, gallery=gallery.values, queries=queries, ids=found.ids, sims=found.similarities)
"""

WORK = f"""
import sys, time
import numpy as np
from foldwalk import rerank
name, file = sys.argv[1:]
with np.load(file) as kept:
    gallery, queries, ids, sims = (kept[part] for part in ("gallery", "queries", "ids", "sims"))
width = {{"lhrr": ids.shape[1]}}.get(name, 100)
known = (ids[:, :width], sims[:, :width])
seconds = []
while len(seconds) < 2 or (len(seconds) < 6 and sum(seconds) < 10):
    began = time.process_time()
    method = rerank.create(name).fit(gallery, neighbors=known)
    method.rank(queries, top={TOP})
    seconds.append(time.process_time() - began)
# The first time, compiled kernels are loaded, and the host hands over memory.
print(np.median(seconds[1:]))
"""


def run(checkout: Path, program: str, *arguments: str) -> str:
    env = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for n in options.sizes.split(","):
            file = str(Path(folder) / f"{n}.npz")
            run(options.new, MAKE, n, file)
            for name in options.methods.split(","):
                seconds: dict[str, list[float]] = {"old": [], "new": []}
                for _ in range(options.rounds):
                    for side, checkout in (("old", options.old), ("new", options.new)):
                        seconds[side].append(float(run(checkout, WORK, name, file)))
                old, new = (statistics.median(seconds[side]) for side in ("old", "new"))
                rows.append(
                    {"n": int(n), "method": name, "old_cpu_s": old, "new_cpu_s": new, "ratio": new / old}
                )
                print(f"{n:>7} {name:>14}  old {old:.3f}  new {new:.3f}  ratio {new / old:.3f}", flush=True)
            Path(file).unlink()
    save("two_commits", {"rounds": options.rounds, "rows": rows})


if __name__ == "__main__":
    main()
