"""``foldwalk datasets``: what is there and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foldwalk import datasets
from foldwalk.cli.main import app


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["datasets", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_table_tells_present_from_absent(tmp_path: Path) -> None:
    lines = run("--root", tmp_path).splitlines()
    digits = next(line for line in lines if "│ digits" in line)
    oxford = next(line for line in lines if "│ oxford5k" in line)
    assert "present" in digits
    assert "absent" in oxford


def test_json_lists_every_data_set(tmp_path: Path) -> None:
    cards = json.loads(run("--root", tmp_path, "--json"))
    assert [card["name"] for card in cards] == datasets.names()
    assert {card["name"] for card in cards if card["present"]} >= {"digits", "pami"}


def test_card_says_where_it_looked_and_where_to_get_it(tmp_path: Path) -> None:
    text = run("orl", "--root", tmp_path)
    card = datasets.describe("orl", root=tmp_path)
    for place in card.layout:
        assert place in text
    assert "Not found" in text
    assert "Get it from" in text


def test_card_of_a_present_set(data_root: Path) -> None:
    shown = json.loads(run("orl", "--root", data_root, "--json"))
    assert shown["present"] is True
    assert str(data_root) in shown["found"]


@pytest.mark.parametrize("name", ["orll", "digit"])
def test_unknown_name_suggests(foldwalk, name: str) -> None:
    result = foldwalk("datasets", name)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert {"orll": "orl", "digit": "digits"}[name] in result.stderr.split(";")[1]
