"""Cycles of variables, from what tables say of themselves."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import discreet as ds
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.relations.cycles import _blocks, _finest, _within, cycles, has_open_cycle, reduced

PLAIN = {v: ds.Hierarchy.flat([f"{v}0", f"{v}1", f"{v}2"]) for v in "abcd"}
COARSE = ds.Hierarchy.flat(["a01", "a2"])
FINE = ds.Hierarchy.from_parents({"a0": "a01", "a1": "a01", "a01": "Total", "a2": "Total"})
ACROSS = ds.Hierarchy.from_parents({"a1": "a12", "a2": "a12", "a0": "Total", "a12": "Total"})


def made(span: str, value: str | None = None, **by: ds.Hierarchy) -> Table:
    """A table of zeros by some variables, each named by a letter."""
    hierarchies = {v: by.get(v, PLAIN[v]) for v in span}
    shape = [len(h) for h in hierarchies.values()]
    size = prod(shape)
    return Table(
        spec=TableSpec(by=hierarchies, value=value, name=f"{value or 'n'}_{span}_{id(by)}"),
        codes=np.stack(np.unravel_index(np.arange(size), shape), axis=1).astype(np.int32),
        value=np.zeros(size, np.int64),
        decimals=0,
        empty=np.ones(size, np.bool_),
    )


def found(*tables: Table) -> list[tuple[tuple[int, ...], list[str] | None]]:
    return [(c.tables, None if c.by is None else sorted(c.by)) for c in cycles(ds.TableSet(list(tables)))]


def test_a_cycle_is_found_beside_tables_of_other_values():
    ring = [made("ab"), made("bc"), made("ac")]
    assert found(*ring) == [((0, 1, 2), ["a", "b", "c"])]
    assert found(*ring, made("a", "v")) == [((0, 1, 2), ["a", "b", "c"])]
    assert found(*ring[:2], made("ac", "v")) == []
    assert has_open_cycle(ds.TableSet(ring))
    assert not has_open_cycle(ds.TableSet(ring[:2]))


def test_a_variable_at_two_levels_that_lie_within_each_other_is_two_corners():
    """a is coarser in one table: it is then known from the finer one, which is the cycle's own."""
    by_levels = [made("ab", a=FINE), made("bc"), made("ac", a=COARSE)]
    ((tables, by),) = found(*by_levels)
    assert (tables, by) == ((0, 1, 2), ["a", "b", "c"])
    ((tables, by),) = found(*by_levels[::-1])
    assert (tables, by) == ((0, 1, 2), ["a", "b", "c"])


def test_levels_that_cross_and_variables_without_a_total_name_no_table():
    one, other = ds.Hierarchy.flat(["a01", "a2"]), ds.Hierarchy.flat(["a0", "a12"])
    crossing = [made("a", a=FINE), made("a", a=ACROSS), made("ab", a=one), made("ac", a=other), made("bc")]
    ((_, by),) = found(*crossing)
    assert by is None
    open_end = ds.Hierarchy.flat(["b0", "b1", "b2"], total=None)
    ((_, by),) = found(made("ab", b=open_end), made("bc", b=open_end), made("ac"))
    assert by is None
    ((_, by),) = found(made("ab", b=open_end), made("bc"), made("ac"))
    assert by is None


@pytest.mark.parametrize(
    ("corners", "left"),
    [
        (["ab", "bc", "ac"], [0, 1, 2]),
        (["ab", "bc", "cd"], []),
        (["abc", "ab", "bc", "ac"], []),
        (["ab", "ab"], []),
        (["ab", "bc", "ac", "ac"], [0, 1, 2]),
        (["ab", "bc", "ac", "d"], [0, 1, 2]),
        (["abx", "bcy", "acz"], [0, 1, 2]),
        (["ab", "cd"], []),
    ],
)
def test_what_is_left_of_tables(corners, left):
    rest = reduced([{(v, b"") for v in mine} for mine in corners])
    assert list(rest) == left
    assert all(corner[0] in "abc" for mine in rest.values() for corner in mine)


def test_blocks_of_base_codes():
    merged = FINE
    fine, coarse = _blocks(FINE, merged), _blocks(COARSE, merged)
    base = [merged.index[code] for code in ("a0", "a1", "a2")]
    assert fine[base].tolist() == base
    assert coarse[base].tolist() == [base[0], base[0], base[2]]
    signed = FINE.with_grouping("difference", ["a0"], minus=["a1"])
    blocks = _blocks(ds.Hierarchy.flat(["difference", "a2"], total=None), signed)
    assert blocks[[signed.index[code] for code in ("a0", "a1", "a2")]].tolist() == [-1, -1, signed.index["a2"]]


@pytest.mark.parametrize(
    ("fine", "coarse", "within"),
    [
        ([0, 1, 2], [0, 0, 2], True),
        ([0, 0, 2], [0, 1, 2], False),
        ([0, 1, 2], [0, 1, 2], True),
        ([0, 0, 2], [0, 1, 1], False),
        ([-1, 1, 2], [-1, 1, 1], True),
        ([-1, 1, 2], [0, 1, 1], False),
        ([0, 1, 2], [-1, 1, 1], False),
        ([0, 1, 0], [0, 1, 2], False),
    ],
)
def test_blocks_that_lie_within_others(fine, coarse, within):
    assert _within(np.array(fine), np.array(coarse)) is within


def test_the_finest_hierarchy_is_flat_where_all_have_the_same_codes():
    assert _finest([FINE, COARSE]) is FINE
    assert _finest([COARSE, FINE]) is FINE
    plain = _finest([FINE, ACROSS])
    assert (plain.base_codes, plain.total) == (FINE.base_codes, "Total")
    assert len(plain) == 4
