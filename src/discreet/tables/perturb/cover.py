"""Which inner cells every published cell of a set of tables contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.engine.cells import all_cells, cells_above
from discreet.errors import InputError, ParameterError, counted
from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints, pointers, ranges
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import cell_numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Cover(NamedTuple):
    """For every inner cell the published cells that contain it; each published cell stands once.

    ``place`` says, table by table, which published cell each of the table's cells is; ``cells`` are the keys of the
    table's cells.
    """

    start: Ints
    published: Codes
    size: int
    place: list[Ints]
    cells: list[Ints]

    @property
    def inner(self) -> int:
        """How many inner cells there are."""
        return len(self.start) - 1

    def sums(self, inner: Ints) -> Ints:
        """Published cells from inner ones."""
        return added_up(self.start, self.published, np.ascontiguousarray(inner, np.int64), self.size)

    def transposed(self) -> tuple[Ints, Codes]:
        """For every published cell its inner cells: (start, inner)."""
        return turned(self.start, self.published, self.size)

    def matrix(self) -> csr_array:
        """The same as a sparse matrix of inner by published cells."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.published))
        return csr_array((ones, self.published, self.start), shape=(self.inner, self.size))


def cover_of(codes: Codes, by: Mapping[str, Hierarchy], tables: Sequence[Sequence[str]] | None = None) -> Cover:
    """Published cells of one table or several over the same inner cells.

    Parameters
    ----------
    codes
        Base codes of the inner cells, one column per variable, in the order of ``by``.
    by
        Variable to hierarchy.
    tables
        Variables of each published table, all totals included; left out, one table by all variables. A cell that
        two tables share (it has the same inner cells) is one published cell.
    """
    names = list(by)
    if codes.ndim != 2 or codes.shape[1] != len(names):
        raise InputError(f"Inner cells need one code for each of {counted(len(names), 'variable')}.")
    published = []
    for variables in [names] if tables is None else tables:
        unknown = [name for name in variables if name not in by]
        if unknown or not variables:
            raise ParameterError(f"A published table needs variables among {names}, not {list(variables)}.")
        columns = np.ascontiguousarray(codes[:, [names.index(name) for name in variables]])
        published.append((columns, [by[name] for name in variables]))
    return cover_of_tables(published)


def cover_of_tables(tables: Sequence[tuple[Codes, Sequence[Hierarchy]]]) -> Cover:
    """Published cells of tables, each with the codes of the inner cells in its own hierarchies."""
    parts: list[tuple[Ints, Ints]] = []
    keys_of_tables: list[Ints] = []
    offset = 0
    for columns, chosen in tables:
        keys = cell_numbers(columns, [len(h) for h in chosen])
        leaves, leaf = np.unique(keys, return_inverse=True)
        cells = all_cells(leaves, chosen, False)
        above = cells_above(leaves, cells, chosen)
        if above.signed:
            raise ParameterError("Inner cells can only be added up; a hierarchy has differences.")
        lengths = np.diff(above.start)[leaf]
        parts.append((lengths, above.cell[ranges(above.start[:-1][leaf], lengths)].astype(np.int64) + offset))
        keys_of_tables.append(cells)
        offset += len(cells)
    return _merged(parts, keys_of_tables, offset)


def _merged(parts: Sequence[tuple[Ints, Ints]], cells: list[Ints], size: int) -> Cover:
    """Put the tables side by side and let cells with the same inner cells be one."""
    lengths = np.sum([part[0] for part in parts], axis=0)
    start = pointers(lengths)
    published = np.empty(int(start[-1]), np.int64)
    place = start[:-1].copy()
    for own, cell in parts:
        published[ranges(place, own)] = cell
        place = place + own
    number = _same_members(np.repeat(np.arange(len(lengths)), lengths), published, size) if len(parts) > 1 else None
    if number is None:
        return Cover(start, published.astype(np.int32), size, [np.arange(size, dtype=np.int64)], cells)
    owner = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    pairs = np.unique(owner * (int(number.max(initial=0)) + 1) + number[published])
    distinct = int(number.max(initial=-1)) + 1
    ends = np.cumsum([len(keys) for keys in cells])
    return Cover(
        pointers(np.bincount(pairs // distinct, minlength=len(lengths))),
        (pairs % distinct).astype(np.int32),
        distinct,
        [number[end - len(keys) : end] for end, keys in zip(ends, cells, strict=True)],
        cells,
    )


def _same_members(owner: Ints, published: Ints, size: int) -> Ints:
    """Numbers of published cells, the same for cells with the same inner cells: two 63-bit sums tell them apart."""
    marks = np.random.default_rng(0).integers(0, 2**63, (int(owner.max(initial=0)) + 1, 2), dtype=np.int64)
    sums = np.zeros((size, 2), np.int64)
    for k in range(2):
        np.add.at(sums[:, k], published, marks[owner, k])
    _, number = np.unique(sums, axis=0, return_inverse=True)
    result: Ints = number.ravel().astype(np.int64)
    return result


# ---- kernels -----------------------------------------------------------------------------------------------------


@kernel("i8[::1](i8[::1], i4[::1], i8[::1], i8)")
def added_up(start: Ints, published_of: Codes, inner: Ints, size: int) -> Ints:
    """Sums of inner cells, one for each published cell."""
    result = np.zeros(size, np.int64)
    for i in range(len(start) - 1):
        for at in range(start[i], start[i + 1]):
            result[published_of[at]] += inner[i]
    return result


@kernel("Tuple((i8[::1], i4[::1]))(i8[::1], i4[::1], i8)")
def turned(start: Ints, published_of: Codes, size: int) -> tuple[Ints, Codes]:
    """For every published cell its inner cells in rising order, by counting: a sort of all entries takes seconds."""
    member_start = np.zeros(size + 1, np.int64)
    for at in range(len(published_of)):
        member_start[published_of[at] + 1] += 1
    for j in range(size):
        member_start[j + 1] += member_start[j]
    place = member_start[:-1].copy()
    members = np.empty(len(published_of), np.int32)
    for i in range(len(start) - 1):
        for at in range(start[i], start[i + 1]):
            members[place[published_of[at]]] = i
            place[published_of[at]] += 1
    return member_start, members
