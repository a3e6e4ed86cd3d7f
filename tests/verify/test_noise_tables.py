"""Noise tables as the checker reads them: whatever is no table is refused, and what one says is read to the unit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.verify.cell_key import Lookup
from tests.verify.forging import Forgery, refused_for

GOOD: dict[str, Any] = {
    "values": [0, 2],
    "start": [0, 1, 3],
    "upper": [10, 4, 10],
    "change": [0, -1, 1],
    "modulus": 10,
    "step": 1,
    "cycle": 1,
}


def test_a_noise_table_is_read():
    table = Lookup.of(GOOD)
    assert table.changes(np.array([0, 1, 1, 1]), np.array([9, 3, 4, 9])).tolist() == [0, -1, 1, 1]
    assert table.rows(np.array([0, 1, 2, 7])).tolist() == [0, 0, 1, 1]
    assert table.moments() == (Fraction(1, 5), Fraction(24, 25))
    assert table.never() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"values": [0, 2, 3]},
        {"values": [0]},
        {"values": [2, 2]},
        {"values": [0], "start": [1, 3], "upper": [4, 4, 10]},
        {"change": [0, -1, 1, 1]},
        {"start": [0, 0, 3], "upper": [2, 4, 10]},
        {"upper": [10, 4, 9]},
        {"upper": [9, 4, 10]},
        {"upper": [10, -1, 10]},
        {"upper": [10, 11, 10]},
    ],
)
def test_what_is_no_noise_table_is_refused(change):
    with pytest.raises(ValueError, match="not a noise table"):
        Lookup.of({**GOOD, **change})


@pytest.mark.parametrize("step", [0, 2])
def test_noise_of_counts_is_in_whole_units(step):
    def forge(f: Forgery) -> None:
        f.facts(noise={**f.evidence.facts["noise"], "step": step})

    refused_for("cell-key", forge, "a cell key or count lies outside the noise table")


def test_no_count_is_below_zero():
    """In the table and in the evidence alike."""

    def forge(f: Forgery) -> None:
        count, value = f.evidence.parts["cells"]["contributors"].copy(), f.table.value.copy()
        row = f.rows(f.table.value > 0)[0]
        count[row] = value[row] = -1
        f.part("cells", contributors=count)
        f.cells(value=value)

    refused_for("cell-key", forge, "a cell key or count lies outside the noise table")


def test_a_zero_that_becomes_negative_for_additivity_is_refused():
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.true == 0)[0]] = -1

    assert len(refused_for("cell-key-additive-all", forge, "a value became negative")) == 1
