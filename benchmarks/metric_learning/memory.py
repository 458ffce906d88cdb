"""Steps of a small network's training with large blocks of memory given back to the system, and kept.

    python -m benchmarks.metric_learning.memory

`foldwalk train` keeps them. Batches of 130 pictures of Omniglot's size, 20 steps, each way in a process of
its own.
"""

from __future__ import annotations

import resource
import time
from typing import Any

from harness import alone, save

BATCH, STEPS = 130, 20


def steps(keep: bool) -> dict[str, Any]:
    import torch

    from foldwalk.learn.trainer.models import make_conv_net
    from foldwalk.machine.freed_memory import keep_freed_memory

    if keep and not keep_freed_memory():
        raise SystemExit("the C library of this machine has no such setting.")
    network, pictures = make_conv_net(64), torch.rand(BATCH, 1, 105, 105)
    optimiser = torch.optim.Adam(network.parameters())

    def step() -> None:
        optimiser.zero_grad()
        network(pictures).square().sum().backward()
        optimiser.step()

    step()
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for _ in range(STEPS):
        step()
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - began
    return {
        "kept": keep,
        "wall_s": round(seconds, 2),
        "system_s": round(after.ru_stime - before.ru_stime, 2),
        "page_faults": after.ru_minflt - before.ru_minflt,
        "peak_mb": after.ru_maxrss // 1024,
    }


def main() -> None:
    rows = [alone(steps, keep) for keep in (False, True, False, True)]
    for row in rows:
        print(row)
    save("training_memory", {"rows": rows})


if __name__ == "__main__":
    main()
