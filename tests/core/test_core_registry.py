"""Entries are found by name, in files that nobody lists."""

import sys

import pytest

from foldwalk.core.errors import UnknownName
from foldwalk.core.registry import Registry


class Apple:
    name = "apple"


class Apricot:
    name = "apricot"


def test_entries_are_found_by_name():
    fruits: Registry[type] = Registry("fruit", [])
    fruits.register(Apricot)
    assert fruits.register(Apple) is Apple
    assert fruits.names() == ["apple", "apricot"]
    assert fruits.get("apple") is Apple


def test_an_unknown_name_is_answered_with_what_is_near():
    fruits: Registry[type] = Registry("fruit", [])
    fruits.register(Apple)
    with pytest.raises(UnknownName, match="no fruit 'aple'; did you mean apple"):
        fruits.get("aple")
    with pytest.raises(UnknownName, match="there are apple"):
        fruits.get("zzz")


def test_one_name_belongs_to_one_module():
    fruits: Registry[type] = Registry("fruit", [])
    fruits.register(Apple)
    fruits.register(Apple)  # a module that is imported again
    stranger = type("Stranger", (), {"name": "apple", "__module__": "elsewhere"})
    with pytest.raises(ValueError, match="two fruits are called apple"):
        fruits.register(stranger)


def test_a_trial_leaves_no_trace():
    fruits: Registry[type] = Registry("fruit", [])
    fruits.register(Apple)
    stranger = type("Stranger", (), {"name": "apple", "__module__": "elsewhere"})
    with fruits.trial("apple"):
        fruits.register(stranger)
        fruits.register(Apricot)
        assert fruits.entries() == {"apple": stranger, "apricot": Apricot}
    assert fruits.entries() == {"apple": Apple}


def test_a_file_in_the_folder_is_found(tmp_path, monkeypatch):
    package = tmp_path / "orchard_of_tests"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from foldwalk.core.registry import Registry\ntrees = Registry('tree', [__name__])\n"
    )
    (package / "pear.py").write_text(
        "from orchard_of_tests import trees\n\n@trees.register\nclass Pear:\n    name = 'pear'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        import orchard_of_tests

        assert orchard_of_tests.trees.names() == ["pear"]
    finally:
        for name in [name for name in sys.modules if name.startswith("orchard_of_tests")]:
            del sys.modules[name]
