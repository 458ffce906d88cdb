"""Errors a caller can catch by foldwalk's class or by Python's, and what they print."""

from __future__ import annotations

import pytest

from foldwalk.core import (
    BadInput,
    BadParameter,
    FoldwalkError,
    MissingData,
    MissingExtra,
    NotFitted,
    UnknownName,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (BadInput, ValueError),
        (BadParameter, ValueError),
        (UnknownName, KeyError),
        (UnknownName, ValueError),
        (NotFitted, RuntimeError),
        (MissingData, FileNotFoundError),
        (MissingExtra, ImportError),
    ],
)
def test_every_error_is_foldwalks_and_pythons(error, builtin):
    assert issubclass(error, FoldwalkError)
    assert issubclass(error, builtin)


@pytest.mark.parametrize(
    "error", [FoldwalkError, BadInput, BadParameter, UnknownName, NotFitted, MissingData]
)
def test_the_message_is_printed_as_it_is(error):
    """KeyError would print it in quotes, OSError would look for an error number."""
    sentence = "there is no method 'cas'; say foldwalk methods."
    assert str(error(sentence)) == sentence


def test_a_missing_extra_says_what_to_install():
    message = str(MissingExtra("pyarrow", "stores", "Parquet"))
    assert message == 'Parquet needs the package pyarrow: install it with  pip install "foldwalk[stores]".'
