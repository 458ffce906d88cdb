"""``foldwalk stores``: where a collection can live."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from foldwalk import stores
from foldwalk.cli.main import app
from foldwalk.core import UnknownName


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["stores", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", stores.names())
def test_every_store_is_listed_with_its_address(name: str) -> None:
    card = stores.describe(name)
    for text in (run(), run(name)):
        assert name in text
        assert card.summary in text
        assert all(f"{scheme}://" in text for scheme in card.schemes)


def test_json_holds_the_cards() -> None:
    assert [card["name"] for card in json.loads(run("--json"))] == stores.names()
    assert json.loads(run("folder", "--json"))["schemes"] == ["file"]


def test_an_unknown_store_is_named() -> None:
    result = CliRunner().invoke(app, ["stores", "punchcards"])
    assert isinstance(result.exception, UnknownName)
    assert "punchcards" in str(result.exception)
