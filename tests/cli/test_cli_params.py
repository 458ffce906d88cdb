"""Options of the form name=value."""

from __future__ import annotations

import pytest

from foldwalk.cli.params import parse_method_params, parse_names, parse_params, parse_value
from foldwalk.core import BadInput


@pytest.mark.parametrize(
    ("text", "value"),
    [("20", 20), (".99", 0.99), ("1e-3", 0.001), ("-2", -2), ("true", True), ("False", False), ("none", None),
     ("cosine", "cosine"), ("[1]", "[1]"), ("__import__('os')", "__import__('os')"),
     ("-", "-"), ("-" * 30_000 + "1", "-" * 30_000 + "1"), ("-" * 3_000 + "1", "-" * 3_000 + "1"),
     ("1e999", "1e999"), ("9" * 400, int("9" * 400))],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_params() -> None:
    assert parse_params(["k=20", "kernel = gaussian", "text=a=b"]) == {
        "k": 20,
        "kernel": "gaussian",
        "text": "a=b",
    }


@pytest.mark.parametrize("items", [["k"], ["=3"], ["k="], ["k=1", "k=2"]])
def test_params_refused(items: list[str]) -> None:
    with pytest.raises(BadInput):
        parse_params(items)


def test_method_params() -> None:
    assert parse_method_params(["cas.mu=.2", "cas.beta=0"], ["plain", "cas"]) == {
        "plain": {},
        "cas": {"mu": 0.2, "beta": 0},
    }
    with pytest.raises(BadInput, match=r"method\.name=value"):
        parse_method_params(["k=3"], ["cas"])
    with pytest.raises(BadInput, match="which is not run"):
        parse_method_params(["dfs.k=3"], ["cas"])


def test_names() -> None:
    assert parse_names("b, a,,b", "--methods") == ["b", "a"]
    with pytest.raises(BadInput, match="--methods"):
        parse_names(" , ", "--methods")
