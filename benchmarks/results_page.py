"""results.json of ``foldwalk bench`` as the page docs/results.md.

foldwalk bench --dataset orl,coil20,... --methods all --report out/
python benchmarks/results_page.py out/results.json [more/results.json ...] docs/results.md
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

INTRODUCTION = """# Results

Every method at its defaults, each figure next to plain search. Leave-one-out: every
item is a query for the rest of its class; mAP in percent of the whole ranking. What is worse than plain
search is marked **−**; a dash alone was not measured. Labels are used to measure, never to choose anything.
Commands with `--queries` drew so many of the items at random as queries.

"""


def table(rows: list[dict[str, Any]], key: str) -> str:
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    value = {(row["dataset"], row["method"]): _value(row, key) for row in rows}
    lines = [f"| method | {' | '.join(sets)} |", f"|---|{'---|' * len(sets)}"]
    for method in methods:
        cells = []
        for name in sets:
            if (name, method) not in value:
                cells.append("–")
                continue
            number, plain = value[name, method], value[name, "plain"]
            if number is None or plain is None:
                cells.append("failed")
            else:
                best = max(v for (d, _), v in value.items() if d == name and v is not None)
                text = f"{100 * number:.1f}"
                text = f"**{text}**" if number == best else text
                cells.append(f"**−** {text}" if round(number, 4) < round(plain, 4) else text)
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _value(row: dict[str, Any], key: str) -> float | None:
    if row["failure"]:
        return None
    return float(row["figures"][key])


def main() -> None:
    *sources, target = (Path(name) for name in sys.argv[1:])
    contents = [json.loads(source.read_text(encoding="utf-8")) for source in sources]
    rows, run = [row for content in contents for row in content["results"]], contents[0]["run"]
    commands = "\n".join(content["run"].pop("command") for content in contents)
    commands = re.sub(r" --root \S+", "", re.sub(r"--report \S+", "--report out/", commands))
    text = INTRODUCTION
    text += f"## mAP\n\n{table(rows, 'mAP')}\n## Recall@1\n\n{table(rows, 'R@1')}\n"
    text += f"## How this was measured\n\n```console\n{commands}\n```\n\n"
    text += "".join(f"- {name}: {value}\n" for name, value in run.items())
    target.write_text(text, encoding="utf-8")
    print(f"written: {target}")


if __name__ == "__main__":
    main()
