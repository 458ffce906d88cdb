"""results.json of ``foldwalk bench`` as the page docs/results.md.

    foldwalk bench --dataset orl,coil20,... --methods all --report out/
    python -m benchmarks.pages.results [out/results.json ...] [--unseen out/joined.json out/unseen.json]

What was measured before is kept in benchmarks/results/bench.json; a new run takes the place of the same
methods on the same sets, and of nothing else. `--unseen` names two runs with the same `--queries`, of which
the second is `--inductive`. What learned/transfer.py measured is on the page, too.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from harness import RESULTS, ROOT

KEPT, UNSEEN, TAUGHT = (RESULTS / f"{n}.json" for n in ("bench", "bench_unseen", "learned_transfer"))
PAGE = ROOT / "docs" / "results.md"
FIGURES = {"mAP": "mAP", "R@1": "Recall@1"}
INTRODUCTION = """# Results

Every method at its defaults, each figure next to plain search. Leave-one-out: every
item is a query for the rest of its class; mAP in percent of the whole ranking. What is worse than plain
search is marked **−**; a dash alone was not measured. No method sees a label; but how `csa`, `lattqe`, `ssr`
and `auto` decide was settled while some of these figures were known: expect a little less of them elsewhere.
What `auto` gains on other collections is on [its own page](auto.md).
Commands with `--queries` drew so many of the items at random as queries. `gradnet` on `orl` and `orl:pixels`
is from before few items had their vectors keep more of its features, which is 0.1 less in a trial.

"""


def rows_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Figures in percent, and those below plain search of the same run, compared before they are rounded."""
    plain = {row["dataset"]: row for row in content["results"] if row["method"] == "plain"}
    rows = []
    for row in content["results"]:
        short: dict[str, Any] = {"dataset": row["dataset"], "method": row["method"], "below_plain": []}
        for key in FIGURES:
            short[key] = None if row["failure"] else round(100 * row["figures"][key], 2)
            known = not row["failure"] and not plain[row["dataset"]]["failure"]
            if known and round(row["figures"][key], 4) < round(plain[row["dataset"]]["figures"][key], 4):
                short["below_plain"].append(key)
        rows.append(short)
    return rows


def merged(kept: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """What is kept, with one more run; a command all of whose figures were replaced is dropped."""
    command = short_command(content)
    rows = {(row["dataset"], row["method"]): row for row in kept["rows"]}
    for row in rows_of(content):
        rows[row["dataset"], row["method"]] = row | {"command": command}
    used = {row["command"] for row in rows.values() if row["method"] != "plain"}
    commands = [one for one in dict.fromkeys([*kept["commands"], command]) if one in used]
    run = {name: value for name, value in content["run"].items() if name != "command"}
    return {"run": run, "commands": commands, "rows": list(rows.values())}


def table(rows: list[dict[str, Any]], key: str) -> str:
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    of = {(row["dataset"], row["method"]): row for row in rows}
    best = {d: max(round(r[key], 1) for r in rows if r["dataset"] == d and r[key] is not None) for d in sets}
    lines = [f"| method | {' | '.join(sets)} |", f"|---|{'---|' * len(sets)}"]
    for method in methods:
        cells = []
        for name in sets:
            row = of.get((name, method))
            if row is None or row[key] is None:
                cells.append("–" if row is None else "failed")
                continue
            text = f"{row[key]:.1f}"
            text = f"**{text}**" if round(row[key], 1) == best[name] else text
            cells.append(f"**−**&nbsp;{text}" if key in row["below_plain"] else text)
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def short_command(content: dict[str, Any]) -> str:
    """As others can give it, for the sets that were measured before the end of the run.

    Where data and reports lie differs from machine to machine.
    """
    sets = ",".join(dict.fromkeys(row["dataset"] for row in content["results"]))
    command = re.sub(r"--report \S*?([^/\s]+)/?(?=\s|$)", r"--report \1/", content["run"]["command"])
    command = re.sub(r"--dataset \S+", f"--dataset {sets}", command)
    return re.sub(r" --root \S+", "", command)


def both_ways(joined: dict[str, Any], unseen: dict[str, Any]) -> dict[str, Any]:
    """mAP of queries that join the graph, and of the same queries when the gallery never saw them."""
    rows = []
    for one, other in zip(joined["results"], unseen["results"], strict=True):
        if (one["dataset"], one["method"]) != (other["dataset"], other["method"]):
            raise SystemExit("the two runs of --unseen must have the same methods on the same sets.")
        pair = [None if row["failure"] else round(100 * row["figures"]["mAP"], 2) for row in (one, other)]
        rows.append(
            {"dataset": one["dataset"], "method": one["method"], "joined": pair[0], "unseen": pair[1]}
        )
    return {"commands": [short_command(joined), short_command(unseen)], "rows": rows}


def unseen_section(kept: dict[str, Any]) -> str:
    rows = {(row["dataset"], row["method"]): row for row in kept["rows"]}
    sets = list(dict.fromkeys(name for name, _ in rows))
    methods = list(dict.fromkeys(name for _, name in rows))
    lines = [f"| method | {' | '.join(sets)} | mean change |", f"|---|{'---|' * (len(sets) + 1)}"]
    for method in methods:
        own = [rows[name, method] for name in sets]
        if any(row["joined"] is None or row["unseen"] is None for row in own):
            lines.append(f"| `{method}` | {' | '.join(['failed'] * len(sets))} | |")
            continue
        change = sum(row["unseen"] - row["joined"] for row in own) / len(own)
        cells = " | ".join(f"{row['joined']:.1f} / {row['unseen']:.1f}" for row in own)
        lines.append(f"| `{method}` | {cells} | {change:+.1f} |")
    table = "\n".join(lines)
    commands = "\n".join(kept["commands"])
    return (
        "## What unseen queries cost\n\nmAP of queries that join the graph (`rerank`, as in the papers) / of "
        "the same queries when the gallery was fitted once and has never seen them (`fit`, `rank`). Most "
        "papers know only the first; how a method takes unseen queries stands in its docstring and in "
        f"[Methods](methods.md).\n\n{table}\n\n```console\n{commands}\n```\n\n"
    )


def taught_section(found: dict[str, Any]) -> str:
    def spread(values: list[float]) -> str:
        mean = sum(values) / len(values)
        return f"{mean:.1f} ({min(values):.1f} to {max(values):.1f})"

    lines = ["| method | untrained | alone | taught |", "|---|---|---|---|"]
    for row in found["rows"]:
        cells = f"{row['untrained']:.1f} | {spread(row['alone'])} | {spread(row['taught'])}"
        lines.append(f"| `{row['method']}` | {cells} |")
    table, seeds = "\n".join(lines), len(found["rows"][0]["taught"])
    return (
        "## Taught with labels of other classes\n\nThe networks over short lists can learn from labels "
        "(`method.learn(vectors, labels)`), as in their papers. Taught: with those of the first hundred "
        "birds, ranking the other hundred (`cub_last100`). Alone: by default, without labels, on the gallery "
        f"itself. mAP, mean and range of {seeds} seeds; plain search has {found['plain']:.1f}.\n\n{table}\n\n"
        f"`python -m benchmarks.learned.transfer --seeds {seeds}`\n\n"
    )


def page(kept: dict[str, Any]) -> str:
    text = INTRODUCTION
    for key, title in FIGURES.items():
        text += f"## {title}\n\n{table(kept['rows'], key)}\n"
    if UNSEEN.exists():
        text += unseen_section(json.loads(UNSEEN.read_text(encoding="utf-8")))
    if TAUGHT.exists():
        text += taught_section(json.loads(TAUGHT.read_text(encoding="utf-8")))
    sets = ",".join(dict.fromkeys(row["dataset"] for row in kept["rows"]))
    commands = "\n".join(kept["commands"])
    text += (
        "## How this was measured\n\nOne command measures all of it again, every item a query, and one "
        "writes this page. The seven sets without `grocery`, CUB and `emoji4` took 50 minutes on two cores "
        "that had other work as well; the report is written after every set.\n\n"
        f"```console\nfoldwalk bench --dataset {sets} --methods all --report out/\n"
        "python -m benchmarks.pages.results out/results.json\n```\n\n"
        f"The figures above come from these runs, part by part:\n\n```console\n{commands}\n```\n\n"
        "The last run:\n\n"
    )
    return text + "".join(f"- {name}: {value}\n" for name, value in kept["run"].items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--unseen", nargs=2, type=Path)
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"commands": [], "rows": []}
    for source in options.runs:
        kept = merged(kept, json.loads(source.read_text(encoding="utf-8")))
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.unseen:
        found = both_ways(*(json.loads(path.read_text(encoding="utf-8")) for path in options.unseen))
        UNSEEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")
    print(f"written: {KEPT} and {PAGE}")


if __name__ == "__main__":
    main()
