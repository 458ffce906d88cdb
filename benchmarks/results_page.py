"""results.json of ``foldwalk bench`` as the page docs/results.md.

    foldwalk bench --dataset orl,coil20,... --methods all --report out/
    python benchmarks/results_page.py [out/results.json ...]

What was measured before is kept in benchmarks/results/bench.json; a new run takes the place of the same
methods on the same sets, and of nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "results" / "bench.json"
PAGE = Path(__file__).parents[1] / "docs" / "results.md"
FIGURES = {"mAP": "mAP", "R@1": "Recall@1"}
INTRODUCTION = """# Results

Every method at its defaults, each figure next to plain search. Leave-one-out: every
item is a query for the rest of its class; mAP in percent of the whole ranking. What is worse than plain
search is marked **−**; a dash alone was not measured. No method sees a label; but how `csa`, `lattqe`, `ssr`
and `auto` decide was settled while some of these figures were known: expect a little less of them elsewhere.
Commands with `--queries` drew so many of the items at random as queries.

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
    command = re.sub(r"--report \S+", "--report out/", content["run"]["command"])
    command = re.sub(r" --root \S+", "", command)
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
            cells.append(f"**−** {text}" if key in row["below_plain"] else text)
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page(kept: dict[str, Any]) -> str:
    text = INTRODUCTION
    for key, title in FIGURES.items():
        text += f"## {title}\n\n{table(kept['rows'], key)}\n"
    sets = ",".join(dict.fromkeys(row["dataset"] for row in kept["rows"]))
    commands = "\n".join(kept["commands"])
    text += (
        "## How this was measured\n\nOne command measures all of it again, an hour or two on two cores, and "
        "one writes this page. Sets of more than a thousand items then have a thousand queries, drawn at "
        "random.\n\n"
        f"```console\nfoldwalk bench --dataset {sets} --methods all --queries 1000 --report out/\n"
        "python benchmarks/results_page.py out/results.json\n```\n\n"
        f"The figures above come from these runs, part by part:\n\n```console\n{commands}\n```\n\n"
        "The last run:\n\n"
    )
    return text + "".join(f"- {name}: {value}\n" for name, value in kept["run"].items())


def main() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"commands": [], "rows": []}
    for source in sys.argv[1:]:
        kept = merged(kept, json.loads(Path(source).read_text(encoding="utf-8")))
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")
    print(f"written: {KEPT} and {PAGE}")


if __name__ == "__main__":
    main()
