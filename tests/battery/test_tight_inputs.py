"""Inputs that leave methods little room: tight bounds, unsafe zeros, whole keys, twins, margins that are withheld."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import discreet as ds
from discreet.model.table import CellStatus
from tests.verify.forging import AREA, BY, firms

Input = Callable[[], ds.Table | ds.TableSet]


def tight() -> ds.Table:
    """Everybody knows every cell to lie within half of it and twice as much."""
    table = ds.tabulate(firms(), by=BY, value="value", contributor="company")
    bounded = table.with_(lower_bound=table.value // 2, upper_bound=2 * table.value + 1)
    return bounded.assess(ds.PPercent(10), ds.MinContributors(3))


def unsafe_zeros() -> ds.Table:
    """Cells without anybody tell that nobody is there."""
    return ds.tabulate(firms(40), by=BY, cells="all").assess(ds.MinFrequency(3), ds.ZeroUnsafe(50))


def whole_keys() -> ds.Table:
    return ds.tabulate(firms(), by=BY, record_key="whole").assess(ds.MinFrequency(3))


def margins() -> ds.Table:
    """Rules so strict that totals of both variables are unsafe."""
    return ds.tabulate(firms(60), by=BY, value="value", contributor="company").assess(ds.MinContributors(8))


def twins() -> ds.TableSet:
    """Two tables that share a whole variable, and one more that has the same cells under another name."""
    specs = [
        ds.TableSpec(by=BY, value="value", name="both"),
        ds.TableSpec(by={"area": AREA}, value="value", name="area"),
        ds.TableSpec(by={"area": AREA}, value="value", name="again"),
    ]
    made = ds.tabulate(ds.Microdata(firms(60), contributor="company"), specs=specs)
    return made.assess(ds.MinContributors(8))


CASES: dict[str, tuple[Input, ds.tables.Method]] = {
    "tight bounds": (tight, ds.Suppress()),
    "tight bounds, outsiders": (tight, ds.Suppress(insiders=None)),
    "tight bounds, adjusted": (tight, ds.Adjust()),
    "unsafe zeros": (unsafe_zeros, ds.Suppress()),
    "whole keys": (whole_keys, ds.CellKey(modulus=256)),
    "known within": (margins, ds.Suppress(known_within=60, insiders=None)),
    "margins": (margins, ds.Suppress()),
    "twins": (twins, ds.Suppress()),
    "twins, adjusted": (twins, ds.Adjust()),
}


@cache
def release(name: str) -> ds.Release:
    given, method = CASES[name]
    return ds.protect(given(), method)


@pytest.mark.parametrize("name", CASES)
def test_claims_hold(name):
    verdict = release(name).verify()
    assert verdict.holds, verdict
    assert verdict.proved


@pytest.mark.parametrize("name", [name for name, (_, method) in CASES.items() if isinstance(method, ds.Suppress)])
def test_an_attacker_finds_no_unsafe_cell_within_its_level(name):
    audit = release(name).audit()
    assert (audit.short, audit.recoverable) == (0, 0)


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_what_was_checked(name, tmp_path):
    release(name).save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds


def test_margins_of_both_variables_are_withheld():
    table, status = release("margins").custodian.tables.tables[0], release("margins").custodian.status[0]
    hidden = np.isin(status, (CellStatus.UNSAFE, CellStatus.SECONDARY))
    total = np.array([[h.index[h.total] for h in table.spec.hierarchies]])
    at_total = table.codes == total
    assert (hidden & at_total[:, 0] & ~at_total[:, 1]).any()
    assert (hidden & at_total[:, 1] & ~at_total[:, 0]).any()


def test_twins_are_withheld_together():
    status = release("twins").custodian.status
    assert np.array_equal(status[1], status[2])
    assert (status[1] == CellStatus.UNSAFE).any() or (status[1] == CellStatus.SECONDARY).any()
