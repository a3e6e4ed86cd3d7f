"""Public tables: what goes out, as types that hold nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted, one_at, unknown_name
from discreet.model import doors
from discreet.model.arrays import LARGEST, Bools, Codes, Ints
from discreet.model.display import text_of_columns
from discreet.model.records import PublicRecords
from discreet.model.table import Table, unit_number

if TYPE_CHECKING:
    from discreet.files.published.heading import Heading
    from discreet.model.pivot import Pivot


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table as the public sees it. Withheld values are not in it, not even hidden.

    ``value`` is in units of ``10 ** -decimals``; withheld and empty cells hold zero there and are not ``shown``.
    ``altered`` says of the whole table that its values are not the true ones, never of single cells; such a table has
    no empty cells, because nobody may tell a cell that became zero from one that was empty (:func:`altered_table`).
    ``lower`` and ``upper`` are ends of intervals that hold the true values, where a method publishes them; equal where
    it is true. Where ``coverage`` is given they are ends of confidence intervals of estimates with that coverage
    instead.
    ``parents`` are the codes that codes stand under (-1 at the top), for headings; ``measure`` is the variable that is
    summed, empty for counts, and ``period`` what period the table is about.
    """

    name: str
    variables: tuple[str, ...]
    code_lists: tuple[tuple[str, ...], ...]
    labels: tuple[Mapping[str, str], ...]
    codes: Codes
    value: Ints
    decimals: int
    shown: Bools
    empty: Bools
    altered: bool = False
    lower: Ints | None = None
    upper: Ints | None = None
    coverage: float | None = None
    parents: tuple[tuple[int, ...], ...] = ()
    measure: str = ""
    period: str = ""

    def __len__(self) -> int:
        return len(self.value)

    @property
    def status(self) -> list[str]:
        """``V`` value, ``A`` altered value (in the whole table), ``X`` withheld, ``E`` empty."""
        value = "A" if self.altered else "V"
        letters: list[str] = np.where(self.shown, value, np.where(self.empty, "E", "X")).tolist()
        return letters

    def columns(self, most: int | None = None) -> dict[str, list[Any]]:
        """Plain columns: codes, value (``None`` where withheld or empty), status."""
        rows = slice(0, most)
        result: dict[str, list[Any]] = {}
        for k, (variable, codes) in enumerate(zip(self.variables, self.code_lists, strict=True)):
            result[variable] = [codes[i] for i in self.codes[rows, k].tolist()]
        numbers = (unit_number(v, self.decimals) for v in self.value[rows].tolist())
        result["value"] = [n if s else None for n, s in zip(numbers, self.shown[rows].tolist(), strict=True)]
        if self.lower is not None and self.upper is not None:
            exact = (self.lower == self.upper)[rows].tolist()
            for name, ends in (("lower", self.lower), ("upper", self.upper)):
                numbers = (unit_number(v, self.decimals) for v in ends[rows].tolist())
                result[name] = [None if e else n for n, e in zip(numbers, exact, strict=True)]
        result["status"] = self.status[rows]
        return result

    def __repr__(self) -> str:
        what = "altered" if self.altered else f"{int((~self.shown & ~self.empty).sum()):,} withheld"
        lines = [f"{self.name}: {counted(len(self), 'cell')}, {what}"]
        if self.zeros_left_out:
            lines.append(f"{counted(self.zeros_left_out, 'zero', 'are')} not listed; pivot() fills them in")
        return "\n".join([*lines, text_of_columns(self.columns(12), len(self), see="to_frame()")])

    @property
    def zeros_left_out(self) -> int:
        """How many combinations of its codes a table of altered values does not list, because they are zero."""
        return prod(len(codes) for codes in self.code_lists) - len(self) if self.altered else 0

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """A public table as a data frame: codes, value, status.

        Parameters
        ----------
        backend
            ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.public.tables[0].to_frame().column_names
        ['trade', 'region', 'value', 'status']
        """
        return doors.public_to_frame(self, backend)

    def pivot(self, rows: str | None = None, columns: str | None = None, at: Mapping[str, str] | None = None) -> Pivot:
        """Cells as rows by columns; see :meth:`Release.pivot`."""
        from discreet.model.pages import public_source
        from discreet.model.pivot import pivoted

        return pivoted(public_source(self), rows, columns, at)

    def _repr_html_(self) -> str:
        from discreet.model.pages import public_page

        return public_page(self)


@dataclass(frozen=True, eq=False)
class PublicRelease:
    """All that may leave the house: tables or records, and nothing that could lead back."""

    tables: tuple[PublicTable, ...]
    records: PublicRecords | None = None

    def __getitem__(self, name: str | int) -> PublicTable:
        """A table by its name, or by its place from 0."""
        if isinstance(name, int):
            return one_at(self.tables, name, "the release")
        for table in self.tables:
            if table.name == name:
                return table
        raise ParameterError(unknown_name("table", name, [table.name for table in self.tables], "the release"))

    def means(self, total: str, count: str) -> dict[str, list[Any]]:
        """Means of a magnitude: the published values of one table over the published counts of another.

        They stand for the cells of the second and come from what is published, and say no more than that; ``None``
        where nothing is left to count.

        Parameters
        ----------
        total, count
            Names of the two tables.
        """
        above, below = self[total], self[count]
        if above.variables != below.variables:
            raise ParameterError(
                f"Tables {total!r} and {count!r} do not have the same cells.",
                hint="Tabulate both by the same variables.",
            )
        columns = below.columns()
        counts, status = columns.pop("value"), columns.pop("status")
        summed = above.columns()
        sums = dict(zip(zip(*(summed[name] for name in above.variables), strict=True), summed["value"], strict=True))
        cells = list(zip(*(columns[name] for name in below.variables), strict=True))
        missing = [cell for cell, letter in zip(cells, status, strict=True) if cell not in sums and letter != "E"]
        if missing and not above.altered:
            raise ParameterError(
                f"Table {total!r} has no cell {', '.join(missing[0])}, which {count!r} has.",
                hint="Tabulate both by the same variables.",
            )
        # A cell that a table of altered values does not list was published as zero.
        pairs = [(sums.get(cell, 0), number) for cell, number in zip(cells, counts, strict=True)]
        means = [None if s is None or not c else float(s) / float(c) for s, c in pairs]
        return {**{name: columns[name] for name in below.variables}, "mean": means}

    def page(self, *, title: str = "", notes: Sequence[str] = (), most_cells: int = 30) -> str:
        """A report for the public as one HTML page that needs nothing else.

        Parameters
        ----------
        title
            Heading; the names of the tables, or of the file of records, when left out.
        notes
            Plain sentences of the publisher.
        most_cells
            How many cells of each table are shown; of records, columns with more different values are not listed by
            code.

        Raises
        ------
        NeedsError
            When jinja2 is not installed.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> "<h1>Trade</h1>" in release.public.page(title="Trade")
        True
        """
        return doors.public_report(self, title=title, notes=notes, most_cells=most_cells)

    def write(
        self,
        path: str | Path,
        format: str | None = None,
        *,
        table: str | None = None,
        heading: Heading | None = None,
    ) -> Path:
        """Write a public table, or public records, in a format of publication.

        Parameters
        ----------
        path
            The file.
        format
            ``"csv"``, ``"xlsx"``, ``"jsonstat"``, ``"sdmx-csv"``, ``"sdmx-json"``, ``"px"``, ``"parquet"``, ``"sav"``
            or ``"dta"``; for records ``"csv"``, ``"parquet"``, ``"sav"``, ``"dta"``, ``"xlsx"`` or ``"asc"``, which
            writes a description and lists of codes beside its file. By default what the name of the file ends with.
        table
            Which table, where there are several.
        heading
            Agency, units, source and time that some formats state.

        Examples
        --------
        >>> import discreet as ds, tempfile
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.public.write(f"{folder}/safe.csv").read_text().splitlines()[0]
        'trade,region,value,status'
        """
        return doors.write_public(self, path, format, table=table, heading=heading)

    @property
    def _shown(self) -> tuple[PublicTable | PublicRecords, ...]:
        return self.tables if self.records is None else (*self.tables, self.records)

    def __repr__(self) -> str:
        return "\n".join(repr(part) for part in self._shown)

    def _repr_html_(self) -> str:
        from discreet.model.pages import several

        return several([part._repr_html_() for part in self._shown])


def public_table(table: Table, withheld: Bools) -> PublicTable:
    """The public view of a table."""
    shown = ~withheld & ~table.empty
    most = table.decimals if table.spec.decimals is None else table.spec.decimals
    value = rounded_units(np.where(shown, table.value, 0), table.decimals, most)
    decimals = least_decimals(value, most) if declared_decimals(table) is None else most
    value = value // np.int64(10 ** (most - decimals))
    return PublicTable(
        name=table.name,
        variables=table.variables,
        code_lists=tuple(h.codes for h in table.spec.hierarchies),
        labels=tuple(dict(h.labels) for h in table.spec.hierarchies),
        codes=table.codes.copy(),
        value=value,
        decimals=decimals,
        shown=shown,
        empty=table.empty & ~withheld,
        **_headings(table),
    )


def _headings(table: Table) -> dict[str, Any]:
    """What headings say: how codes stand under one another, what is summed, and for which period."""
    return {
        "parents": tuple(h.listed_parents for h in table.spec.hierarchies),
        "measure": table.spec.value or "",
        "period": table.spec.period,
    }


def altered_table(
    table: Table,
    published: Ints,
    decimals: int,
    intervals: tuple[Ints, Ints] | None = None,
    coverage: float | None = None,
) -> PublicTable:
    """The public view of a table with altered values, in units of ``10 ** -decimals``, shown exactly.

    A published zero says nothing of who is in a cell. Where every combination of codes was asked for, cells that became
    zero and cells that were empty are zeros alike. Where only cells with records are listed, none of them is, and
    neither are codes that have no other cell: that a code is known at all would tell that somebody has it.
    """
    everything = [published, *(intervals or ())]
    shown = max(least_decimals(np.concatenate(everything), decimals), declared_decimals(table) or 0)
    rows = _listed_rows(table, everything)
    codes, lists = _used_codes(table, rows)
    value, *ends = (
        _shown_exactly(column.copy() if rows is None else column.take(rows), decimals, shown) for column in everything
    )
    return PublicTable(
        name=table.name,
        variables=table.variables,
        code_lists=tuple(listing.codes for listing in lists),
        labels=tuple(listing.labels for listing in lists),
        codes=codes,
        value=value,
        decimals=shown,
        shown=np.ones(len(value), np.bool_),
        empty=np.zeros(len(value), np.bool_),
        altered=True,
        lower=ends[0] if ends else None,
        upper=ends[1] if ends else None,
        coverage=coverage,
        **{**_headings(table), "parents": tuple(listing.parents for listing in lists)},
    )


def _lists_all(table: Table) -> bool:
    """Whether readers know which cells there are, because all combinations of codes were asked for."""
    return not len(table) or (table.spec.cells == "all" and len(table) == prod(table.shape))


def _listed_rows(table: Table, columns: Sequence[Ints]) -> Ints | None:
    """Rows that are published of a table with altered values; ``None`` stands for all. The grand total always is."""
    if _lists_all(table):
        return None
    there: Bools = columns[0] != 0
    for column in columns[1:]:
        there = there | (column != 0)
    totals = [h.index.get(h.total or "", -1) for h in table.spec.hierarchies]
    if min(totals) >= 0:
        top = table.find(np.array([totals], np.int32))
        there[top[top >= 0]] = True
    if not there.any():
        raise ProtectionError(
            f"All cells of table {table.name!r} would be published as zero.", hint="Choose a method that alters less."
        )
    return None if there.all() else np.flatnonzero(there)


class _Listing(NamedTuple):
    """Codes of a variable that the public is told, with their words and what they stand under."""

    codes: tuple[str, ...]
    labels: Mapping[str, str]
    parents: tuple[int, ...]


def _used_codes(table: Table, rows: Ints | None) -> tuple[Codes, list[_Listing]]:
    """Codes of the listed cells in code lists that have no others, but for what stands above them."""
    listings = [_Listing(h.codes, dict(h.labels), h.listed_parents) for h in table.spec.hierarchies]
    if _lists_all(table):
        return table.codes.copy(), listings
    codes = table.codes.copy() if rows is None else table.codes.take(rows, axis=0)
    for k, listing in enumerate(listings):
        used = np.zeros(len(listing.codes), np.bool_)
        used[codes[:, k]] = True
        parents = table.spec.hierarchies[k].parents
        above = parents[used]
        while len(above := above[(above >= 0) & ~used[above]]):
            used[above] = True
            above = parents[above]
        if used.all():
            continue
        number = (np.cumsum(used) - 1).astype(np.int32)
        kept = np.flatnonzero(used).tolist()
        words = tuple(listing.codes[i] for i in kept)
        codes[:, k] = number[codes[:, k]]
        listings[k] = _Listing(
            words,
            {word: listing.labels[word] for word in words if word in listing.labels},
            tuple(np.where(parents[kept] >= 0, number[parents[kept]], -1).tolist()),
        )
    return codes, listings


def in_rows_of(table: Table, public: PublicTable) -> PublicTable:
    """A public table with the rows and codes of the original; zero where it has altered values and does not list one.

    Raises
    ------
    InputError
        When the public table has cells that the original does not have, or lacks some without altered values.
    """
    strange = InputError(
        f"Table {table.name!r} has other variables, codes or cells in the release.",
        hint="Compare a release with the tables that it was made from.",
    )
    lists = tuple(h.codes for h in table.spec.hierarchies)
    if public.variables != table.variables:
        raise strange
    if public.code_lists == lists and np.array_equal(public.codes, table.codes):
        return public
    places = []
    for codes, hierarchy in zip(public.code_lists, table.spec.hierarchies, strict=True):
        if not set(codes) <= set(hierarchy.codes):
            raise strange
        places.append(np.array([hierarchy.index[code] for code in codes], np.int32))
    rows = table.find(np.column_stack([place[public.codes[:, k]] for k, place in enumerate(places)]))
    if np.any(rows < 0) or not public.altered:
        raise strange

    def spread(column: Ints) -> Ints:
        whole = np.zeros(len(table), np.int64)
        whole[rows] = column
        return whole

    return replace(
        public,
        code_lists=lists,
        labels=tuple(dict(h.labels) for h in table.spec.hierarchies),
        parents=_headings(table)["parents"],
        codes=table.codes,
        value=spread(public.value),
        shown=np.ones(len(table), np.bool_),
        empty=np.zeros(len(table), np.bool_),
        lower=None if public.lower is None else spread(public.lower),
        upper=None if public.upper is None else spread(public.upper),
    )


def _shown_exactly(value: Ints, decimals: int, shown: int) -> Ints:
    """Values in other units, in which they are whole."""
    if shown == decimals:
        return value
    if shown > decimals:
        return rounded_units(value, decimals, shown)
    result: Ints = value // np.int64(10 ** (decimals - shown))
    return result


def declared_decimals(table: Table) -> int | None:
    """Decimals that somebody declared for the public; ``None`` where they were found in the data."""
    return None if table.spec.fewest else table.spec.decimals


def least_decimals(published: Ints, decimals: int) -> int:
    """Least number of decimals that writes published values exactly.

    What is withheld, or was true before it was altered, must not decide: a reader would learn of its decimals.

    Examples
    --------
    >>> least_decimals(np.array([1250, 300]), 3)
    2
    """
    wanted = 0
    while np.any(published % 10 ** (decimals - wanted)):  # by 1 nothing leaves a rest
        wanted += 1
    return wanted


def rounded_units(value: Ints, decimals: int, wanted: int) -> Ints:
    """Values in other units; fewer decimals round half to even."""
    if wanted >= decimals:
        if int(np.abs(value).max(initial=0)) * 10 ** (wanted - decimals) > LARGEST:
            raise ParameterError(
                f"The values are too large to be written exactly with {counted(wanted, 'decimal')}.",
                hint="Give decimals= with fewer decimals.",
            )
        return value * np.int64(10 ** (wanted - decimals))
    step = np.int64(10 ** (decimals - wanted))
    quotient, rest = np.divmod(value, step)
    up = (2 * rest > step) | ((2 * rest == step) & (quotient % 2 == 1))
    result: Ints = quotient + up
    return result
