"""What is public: exactly the published cells, and no row, code or sign that tells more."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.model.custodian import TableCustodian
from discreet.model.hierarchy import Hierarchy
from discreet.model.public import PublicRelease, PublicTable
from discreet.model.table import Table
from discreet.verify.verdict import Verdict


def check_public(verdict: Verdict, custodian: TableCustodian, public: PublicRelease) -> None:
    """The public tables show exactly the published cells, with their values, and nothing else."""
    before = len(verdict.refused)
    names = [table.name for table in custodian.tables]
    if [table.name for table in public.tables] != names:
        verdict.refuse("public", f"the public tables are not those of the release ({', '.join(names)})")
        return
    for number, shown in enumerate(public.tables):
        table, altered = custodian.tables.tables[number], custodian.published
        if altered is None:
            _check_public_table(verdict, table, custodian.withheld(number), shown)
        else:
            ends = None if custodian.intervals is None else custodian.intervals[number]
            _check_altered_table(verdict, table, altered[number], custodian.decimals, shown, ends)
    verdict.prove("the public tables show exactly the published cells and nothing else", before)
    if custodian.tables.one_pattern and custodian.published is None:
        _check_one_pattern(verdict, custodian)


def _check_one_pattern(verdict: Verdict, custodian: TableCustodian) -> None:
    """Where one pattern was asked for, a cell that is withheld in one value variable is withheld in all."""
    before, cells = len(verdict.refused), dict[object, bool]()
    tables = list(enumerate(custodian.tables))
    places = {
        number: [(table.spec.identity[1:], table.variables, table.spec_codes(codes)) for codes in table.codes.tolist()]
        for number, table in tables
    }
    for number, _ in tables:
        for place, hidden in zip(places[number], custodian.withheld(number).tolist(), strict=True):
            cells[place] = cells.get(place, False) or hidden
    for number, table in tables:
        hidden, empty = custodian.withheld(number).tolist(), table.empty.tolist()
        for row, place in enumerate(places[number]):
            if cells[place] and not hidden[row] and not empty[row]:
                verdict.refuse("pattern", "a cell is withheld in another value variable only", cell_text(table, row))
    verdict.prove("the same cells are withheld in all value variables", before)


def _same_cells(verdict: Verdict, table: Table, shown: PublicTable) -> bool:
    if shown.variables != table.variables or len(shown) != len(table):
        verdict.refuse("public", "the public table has other variables or another number of cells", table.name)
        return False
    lists = tuple(h.codes for h in table.spec.hierarchies)
    if shown.code_lists != lists or not np.array_equal(shown.codes, table.codes):
        verdict.refuse("public", "the public table lists other cells", table.name)
        return False
    if shown.altered:
        verdict.refuse("public", "the public table says that its values are altered", table.name)
    return True


def _check_altered_table(
    verdict: Verdict,
    table: Table,
    published: NDArray[np.int64],
    decimals: int,
    shown: PublicTable,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> None:
    """A public table with altered values shows them exactly, and hides which zeros were empty cells."""
    if not shown.altered:
        verdict.refuse("public", "the public table does not say that its values are altered", table.name)
    if (ends is None) != (shown.lower is None) or (ends is None) != (shown.upper is None):
        verdict.refuse("public", "the public table does not show the intervals that the custodian has", table.name)
        return
    mine = [published, *(ends or ())]
    rows = _told_rows(verdict, table, mine, shown)
    if rows is None:
        return
    if shown.empty.any() or not shown.shown.all():
        verdict.refuse("public", "a cell is marked empty among altered values", table.name)
    if shown.decimals != max(_least(np.concatenate(mine), decimals), _declared(table) or 0):
        verdict.refuse("public", "the public table has another number of decimals", table.name)
    finest = max(decimals, shown.decimals)
    for column, theirs in zip(mine, (shown.value, shown.lower, shown.upper), strict=False):
        assert theirs is not None
        stated = column[rows].astype(object) * 10 ** (finest - decimals)
        seen = theirs.astype(object) * 10 ** (finest - shown.decimals)
        for row in rows[np.asarray(stated != seen, np.bool_)][:20].tolist():
            verdict.refuse("public", "a published value differs from the custodian's", cell_text(table, row))


def _told_rows(
    verdict: Verdict, table: Table, columns: list[NDArray[np.int64]], shown: PublicTable
) -> NDArray[np.int64] | None:
    """Rows that must be public: all where all combinations of codes were asked for, otherwise those that are not zero,
    and the grand total.

    A row or a code too many would tell that somebody is there.
    """
    everything, hierarchies = tells_all(table), table.spec.hierarchies
    there = np.any(np.stack(columns) != 0, axis=0) | everything
    there |= np.all([table.codes[:, k] == h.index.get(h.total or "", -1) for k, h in enumerate(hierarchies)], axis=0)
    rows = np.flatnonzero(there)
    if shown.variables != table.variables or len(shown) != len(rows):
        verdict.refuse("public", "the public table has other variables or another number of cells", table.name)
        return None
    for k, hierarchy in enumerate(hierarchies):
        expected = table.codes[rows, k]
        allowed = set(range(len(hierarchy))) if everything else codes_told(hierarchy, set(expected.tolist()))
        if list(shown.code_lists[k]) != [hierarchy.codes[i] for i in sorted(allowed)]:
            verdict.refuse("public", "the public table names codes that no published cell has", table.name)
            return None
        place = np.array([hierarchy.index[code] for code in shown.code_lists[k]], np.int64)
        if np.any(place[shown.codes[:, k]] != expected):
            verdict.refuse("public", "the public table lists other cells", table.name)
            return None
    return rows


def tells_all(table: Table) -> bool:
    """Whether readers know which cells there are, because all combinations of codes were asked for."""
    sizes = [len(h.codes) for h in table.spec.hierarchies]
    return not len(table) or (table.spec.cells == "all" and len(table) == prod(sizes))


def codes_told(hierarchy: Hierarchy, used: set[int]) -> set[int]:
    """Codes that a public table of altered values may name: those of its cells, and what stands above them."""
    told = set(used)
    for code in used:
        above = int(hierarchy.parents[code])
        while above >= 0 and above not in told:
            told.add(above)
            above = int(hierarchy.parents[above])
    return told


def _check_public_table(verdict: Verdict, table: Table, hidden: NDArray[np.bool_], shown: PublicTable) -> None:
    if not _same_cells(verdict, table, shown):
        return
    for row in np.flatnonzero(hidden & (shown.shown | (shown.value != 0)))[:20].tolist():
        verdict.refuse("public", "a withheld cell is shown", cell_text(table, row))
    for row in np.flatnonzero((shown.shown != (~hidden & ~table.empty)) & ~hidden)[:20].tolist():
        verdict.refuse("public", "a published cell is missing, or an empty one is shown", cell_text(table, row))
    for row in np.flatnonzero(shown.empty != (table.empty & ~hidden))[:20].tolist():
        verdict.refuse("public", "a cell is marked empty wrongly", cell_text(table, row))
    if table.spec.weight and table.spec.fewest and table.spec.decimals:
        verdict.refuse("public", "weighted sums are rounded to decimals that nobody declared", table.name)
    wanted = _decimals_of(table, ~hidden & ~table.empty)
    if shown.decimals != wanted:
        verdict.refuse("public", "the public table has another number of decimals", table.name)
        return
    rows = np.flatnonzero(shown.shown & ~hidden)
    exact, seen = table.value[rows].astype(object), shown.value[rows].astype(object)
    if wanted >= table.decimals:
        wrong = seen != exact * 10 ** (wanted - table.decimals)
    else:
        step = 10 ** (table.decimals - wanted)
        off = np.abs(2 * (seen * step - exact))
        wrong = (off > step) | ((off == step) & (seen % 2 == 1))
    for row in rows[np.asarray(wrong, np.bool_)][:20].tolist():
        verdict.refuse("public", "a published value differs from the custodian's", cell_text(table, row))


def public_decimals(custodian: TableCustodian, number: int) -> int:
    """Decimals of a public table: those declared, or as few as write its published values exactly.

    Other values must not decide, for a reader would learn of their decimals.
    """
    table = custodian.tables.tables[number]
    if custodian.published is None:
        return _decimals_of(table, ~custodian.withheld(number) & ~table.empty)
    ends = () if custodian.intervals is None else custodian.intervals[number]
    everything = np.concatenate([custodian.published[number], *ends])
    return max(_least(everything, custodian.decimals), _declared(table) or 0)


def _declared(table: Table) -> int | None:
    return None if table.spec.fewest else table.spec.decimals


def _decimals_of(table: Table, published: NDArray[np.bool_]) -> int:
    most = table.decimals if table.spec.decimals is None else table.spec.decimals
    if _declared(table) is not None:
        return most
    if most >= table.decimals:
        return _least(table.value[published], table.decimals)
    step = 10 ** (table.decimals - most)  # shown rounded, half to even
    return _least(np.array([round(Fraction(v, step)) for v in table.value[published].tolist()], np.int64), most)


def _least(published: NDArray[np.int64], decimals: int) -> int:
    """Decimals without zeros at the end of all values."""
    for spare in range(decimals, 0, -1):
        if not np.any(published.astype(object) % 10**spare):
            return decimals - spare
    return decimals


def cell_text(table: Table, row: int) -> str:
    """A cell of a table in words."""
    return f"{table.name}: {table.cell_name(row)}"
