"""The service under load on one machine: requests a second, median and 99th percentile, errors.

    python -m benchmarks.service.load [--sizes 10000,100000] [--seconds 20] [--clients 4]

Each size is an index of synthetic vectors (128 dimensions) in a temporary folder, served in a process of its
own. Client threads keep one connection each and send the next request when the last one is answered, for as
many seconds, after a warm-up of a tenth of that. Searched are the first 20 by key (an item of the index) and
by vector (a query it has not seen), with plain search as the yardstick and with CAS. The clients share the
machine's cores with the service.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from foldwalk.datasets import synthetic
from foldwalk.index import Index
from harness import save

TOP, DIM, QUERIES = 20, 128, 500
METHODS = ("plain", "cas")


@contextmanager
def serving(path: Path) -> Iterator[tuple[str, int]]:
    """Address and process number of the service, once the default method is fitted."""
    command = [sys.executable, "-m", "foldwalk", "serve", str(path), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = itertools.takewhile(lambda line: line != "}\n", iter(process.stdout.readline, ""))
        host = urlsplit(json.loads("".join(lines) + "}")["url"]).netloc
        try:
            while get(host, "/api/health")["status"] != "ok":
                time.sleep(0.2)
            yield host, process.pid
        finally:
            process.terminate()


def get(host: str, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", path)
    answer: dict[str, Any] = json.load(connection.getresponse())
    connection.close()
    return answer


def client(host: str, bodies: list[bytes], began: float, seconds: float) -> list[tuple[int, float]]:
    """Status and latency of every request that this client sent before its time was over."""
    connection = http.client.HTTPConnection(host, timeout=60)
    answers = []
    for body in itertools.cycle(bodies):
        start = time.perf_counter()
        if start > began + seconds:
            break
        connection.request("POST", "/api/search", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        answers.append((response.status, time.perf_counter() - start))
    connection.close()
    return answers


def load(host: str, bodies: list[bytes], clients: int, seconds: float) -> dict[str, Any]:
    with ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        shares = [bodies[number::clients] for number in range(clients)]
        parts = list(pool.map(lambda share: client(host, share, began, seconds), shares))
        wall = time.perf_counter() - began
    statuses = [status for part in parts for status, _ in part]
    latencies = np.array([latency for part in parts for status, latency in part if status == 200])
    return {
        "requests_per_s": round(len(latencies) / wall, 1),
        "p50_ms": round(1000 * float(np.percentile(latencies, 50)), 2),
        "p99_ms": round(1000 * float(np.percentile(latencies, 99)), 2),
        "requests": len(statuses),
        "errors": sum(status != 200 for status in statuses),
    }


def measure(n: int, clients: int, seconds: float) -> dict[str, Any]:
    data = synthetic(n, d=DIM, queries=QUERIES)
    gallery, queries = data.gallery, data.queries
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "load.fold"
        began = time.perf_counter()
        with Index.create(path, backbone=None) as index:
            index.add_vectors(gallery, [str(number) for number in range(n)])
        row: dict[str, Any] = {"n": n, "index_s": round(time.perf_counter() - began, 1)}
        began = time.perf_counter()
        with serving(path) as (host, pid):
            row["start_s"] = round(time.perf_counter() - began, 1)
            for method in METHODS:
                common = {"top": TOP, "method": method}
                bodies = {
                    "key": [
                        json.dumps({"key": str(k), **common}).encode() for k in range(0, n, n // QUERIES)
                    ],
                    "vector": [json.dumps({"vector": v.tolist(), **common}).encode() for v in queries],
                }
                for kind, requests in bodies.items():
                    load(host, requests, clients, seconds / 10)
                    row[f"{method}_by_{kind}"] = load(host, requests, clients, seconds)
            status = Path(f"/proc/{pid}/status").read_text()
            row["service_peak_mb"] = round(int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1000)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    rows = []
    for n in map(int, options.sizes.split(",")):
        rows.append(measure(n, options.clients, options.seconds))
        print(rows[-1], flush=True)
    settings = {"clients": options.clients, "seconds": options.seconds, "dim": DIM, "top": TOP}
    save("service_load", {**settings, "rows": rows})


if __name__ == "__main__":
    main()
