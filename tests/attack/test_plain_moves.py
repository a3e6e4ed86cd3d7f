"""Moves that need no linear program: never more than what is possible, and most of what is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import External
from discreet.relations import System, build_system
from discreet.verbs.audit import _behind_altered, _reading

AREA = ds.Hierarchy.from_nested({"N": {"N1": None, "N2": ["N2a", "N2b"]}, "S": ["S1", "S2", "S3"]})
AGE = ds.Hierarchy.from_nested({"young": ["0", "1"], "old": ["2", "3", "4"]})
SEX = ds.Hierarchy.flat(["m", "f"])


ONE_CHILD = ds.Hierarchy.from_nested({"N": ["N1"], "S": {"S1": ["S1a"], "S2": ["S2a", "S2b"]}})
"""N and N1, and S1 and S1a, are one cell under two names."""


def release(method: ds.Method, n: int = 300, seed: int = 1, area: ds.Hierarchy = AREA) -> ds.Release:
    rng = np.random.default_rng(seed)
    columns = {"area": area, "age": AGE, "sex": SEX}
    people = {name: rng.choice(h.base_codes, n) for name, h in columns.items()}
    people["key"] = rng.random(n).round(9)
    table = ds.tabulate(pa.table(people), by=columns, record_key="key")
    return ds.protect(table.assess(ds.MinFrequency(4)), method)


def behind(made: ds.Release, known: bool = True) -> tuple[System, np.ndarray]:
    """The cells behind altered values; for readers who know the method, or nothing of it."""
    system = build_system(made.custodian.tables)
    return _behind_altered(system, _reading(made.custodian, system)) if known else (system, ~system.empty)


def attacks(made: ds.Release, known: bool = True) -> tuple[External, External]:
    """One with plain moves only, and one with linear programs only, both ends exact."""
    system, withheld = behind(made, known)
    plain, programs = (External(system, withheld, system.unsafe[withheld]) for _ in range(2))
    plain.show_plain_moves()
    programs.run(True, 0)
    return plain, programs


@pytest.mark.parametrize("seed", range(4))
def test_plain_moves_stay_within_what_programs_find_possible(seed):
    plain, programs = attacks(release(ds.CellKey(D=3, V=2, js=1), seed=seed))
    assert plain.wanted.any()
    shown = plain.shown[:, plain.wanted]
    assert np.all(shown <= programs.shown[:, plain.wanted] + 1e-6)
    reached = np.minimum(shown, plain.required.level[:, plain.wanted])
    assert reached.sum() > 0.6 * np.minimum(programs.shown, plain.required.level)[:, plain.wanted].sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("area", [AREA, ONE_CHILD])
def test_plain_moves_of_rounded_tables_stay_within_what_is_possible_and_leave_little_open(seed, area):
    """A cell that stands under two names moves once: counted twice, it would reach its bounds too soon."""
    plain, programs = attacks(release(ds.Round(5, rule="unbiased", levels=False, insecure_seed=seed), 120, seed, area))
    assert np.all(plain.shown[:, plain.wanted] <= programs.shown[:, plain.wanted] + 1e-6)
    settled = programs.shown >= programs.required.enough
    shown = plain.shown >= plain.required.enough
    assert shown[:, plain.wanted].sum() >= 0.8 * settled[:, plain.wanted].sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_audit_of_a_table_with_synonyms_is_that_of_the_programs(seed, monkeypatch):
    made = release(ds.CellKey(D=3, V=2, js=1), 60, seed, ONE_CHILD)
    found = ds.audit(made, exact=False)
    monkeypatch.setattr(External, "show_plain_moves", lambda attack: None)
    assert np.array_equal(found.intervals.short, ds.audit(made, exact=False).intervals.short)


def test_where_nothing_is_known_all_values_may_be_larger_or_smaller_together():
    made = release(ds.SmallCount(insecure_seed=1))
    plain, programs = attacks(made, known=False)
    assert np.all(np.isinf(plain.shown[0, plain.wanted]))
    value = plain.required.value[plain.wanted]
    assert np.array_equal(plain.shown[1, plain.wanted], value)
    assert np.array_equal(programs.shown[:, plain.wanted], plain.shown[:, plain.wanted])


@pytest.mark.parametrize("method", [ds.CellKey(D=3, V=2, js=1), ds.Round(3, rule="unbiased", levels=False)])
def test_the_audit_finds_the_same_with_and_without_them(method, monkeypatch):
    made = release(method)
    found = ds.audit(made, exact=False)
    monkeypatch.setattr(External, "show_plain_moves", lambda attack: None)
    without = ds.audit(made, exact=False)
    assert np.array_equal(found.intervals.short, without.intervals.short)
    assert np.array_equal(found.intervals.recoverable, without.intervals.recoverable)


def test_a_known_cell_stops_moves_of_all_values_together():
    made = release(ds.SmallCount(insecure_seed=1))
    system, withheld = behind(made, known=False)
    withheld[int(np.argmax(system.value))] = False
    attack = External(system, withheld, system.unsafe[withheld])
    attack.show_plain_moves()
    assert np.isfinite(attack.shown).all()
