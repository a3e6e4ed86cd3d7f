"""What ``import discreet as ds`` offers."""

from __future__ import annotations

import pytest

import discreet as ds

AT_ONCE = {"Microdata", "NoiseTable", "Pattern", "Release", "Table", "TableSet"}
"""Imported with the package; all others when they are first used."""


def test_the_list_of_names_is_what_can_be_had():
    # Type checkers read __all__ as text, so that it cannot be put together from the homes of the names.
    assert set(ds.__all__) == AT_ONCE | set(ds._WHERE) | set(ds._MODULES)
    assert len(set(ds.__all__)) == len(ds.__all__)
    assert dir(ds) == sorted(ds.__all__)


@pytest.mark.parametrize("name", ds.__all__)
def test_every_name_gives_something_of_that_name(name):
    assert getattr(ds, name).__name__.rpartition(".")[2] == name


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'Hide'"):
        _ = ds.Hide
