"""Releases: what goes out, and what stays with the custodian, as separate types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.keys import Key
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import LARGEST, Bools, Codes, Ints, Status
from discreet.model.display import html_of_columns, text_of_columns
from discreet.model.evidence import Evidence
from discreet.model.table import CellStatus, Table, unit_number
from discreet.model.tableset import TableSet


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table as the public sees it. Withheld values are not in it, not even hidden.

    ``value`` is in units of ``10 ** -decimals``; withheld and empty cells hold zero there and are not ``shown``.
    ``altered`` says of the whole table that its values are not the true ones, never of single cells. ``lower`` and
    ``upper`` are ends of intervals that hold the true values, where a method publishes them; equal where it is true.
    Where ``coverage`` is given they are ends of confidence intervals of estimates with that coverage instead.
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
        head = f"{self.name}: {counted(len(self), 'cell')}, {what}"
        return f"{head}\n{text_of_columns(self.columns(12), len(self))}"

    def _repr_html_(self) -> str:
        return html_of_columns(self.columns(30), len(self), self.name)


@dataclass(frozen=True, eq=False)
class PublicRelease:
    """All that may leave the house: tables, and nothing that could lead back."""

    tables: tuple[PublicTable, ...]

    def __getitem__(self, name: str) -> PublicTable:
        for table in self.tables:
            if table.name == name:
                return table
        raise ParameterError(unknown_name("table", name, [table.name for table in self.tables], "the release"))

    def means(self, total: str, count: str) -> dict[str, list[Any]]:
        """Means of a magnitude: the published values of one table over the published counts of another.

        Both must have the same cells. They come from what is published and say no more than that; ``None`` where
        nothing is left to count.

        Parameters
        ----------
        total, count
            Names of the two tables.
        """
        above, below = self[total], self[count]
        if (above.variables, above.code_lists) != (below.variables, below.code_lists) or not np.array_equal(
            above.codes, below.codes
        ):
            raise ParameterError(
                f"Tables {total!r} and {count!r} do not have the same cells.",
                hint="Tabulate both by the same variables.",
            )
        columns = above.columns()
        sums, counts = columns.pop("value"), below.columns()["value"]
        del columns["status"]
        pairs = zip(sums, counts, strict=True)
        return {**columns, "mean": [None if s is None or not c else float(s) / float(c) for s, c in pairs]}

    def __repr__(self) -> str:
        return "\n".join(repr(table) for table in self.tables)


@dataclass(frozen=True, eq=False)
class Custodian:
    """What must not leave the house: the original cells, why they are unsafe, and the proof.

    ``status`` is the final status of every cell of every table; ``log`` suffices to repeat the work; ``already`` is
    what was published before or elsewhere, with the values that belong to it. Certificates number the tables as they
    stand in ``whole``: those of the release first, those of earlier releases behind them. ``published`` are the values
    of every table that a method altered, in units of ``10 ** -decimals`` of its evidence; ``key`` is the secret one of
    a method that draws at random.
    """

    tables: TableSet
    status: tuple[Status, ...]
    evidence: tuple[Evidence, ...]
    log: Mapping[str, Any]
    already: AlreadyPublished = field(default_factory=AlreadyPublished)
    published: tuple[Ints, ...] | None = None
    key: Key | None = None
    intervals: tuple[tuple[Ints, Ints], ...] | None = None

    @cached_property
    def whole(self) -> TableSet:
        """The tables of the release and of earlier ones, as one set."""
        return self.already.joined(self.tables)

    @property
    def whole_status(self) -> tuple[Status, ...]:
        """Final status of every cell of every table of ``whole``, each in its own release."""
        return (*self.status, *(earlier.status for earlier in self.already.tables))

    def with_log(self, log: Mapping[str, Any]) -> Custodian:
        """The same with another log."""
        return replace(self, log=log)

    def withheld(self, number: int) -> Bools:
        """Cells of a table that are not published; a method that alters values publishes all."""
        if self.published is not None:
            return np.zeros(len(self.status[number]), np.bool_)
        status = self.status[number]
        result: Bools = (status == CellStatus.UNSAFE) | (status == CellStatus.SECONDARY)
        return result

    @property
    def decimals(self) -> int:
        """Decimals of altered values."""
        return max((evidence.decimals for evidence in self.evidence), default=0)

    @property
    def coverage(self) -> float | None:
        """Coverage of confidence intervals, where the published intervals are such."""
        return next((float(e.facts["coverage"]) for e in self.evidence if "coverage" in e.facts), None)

    def public(self) -> PublicRelease:
        """What goes out."""
        shown = []
        for number, table in enumerate(self.tables):
            if self.published is None:
                shown.append(public_table(table, self.withheld(number)))
            else:
                ends = None if self.intervals is None else self.intervals[number]
                shown.append(altered_table(table, self.published[number], self.decimals, ends, self.coverage))
        return PublicRelease(tuple(shown))


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """The result of ``ds.protect``: a public part, and a custodian part that must be asked for."""

    public: PublicRelease
    custodian: Custodian = field(repr=False)

    def __repr__(self) -> str:
        return repr(self.public)

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.public.tables)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled release is its public part: the custodian's travels by ``save`` only."""
        return (_same, (self.public,))


def _same(public: PublicRelease) -> PublicRelease:
    return public


def public_table(table: Table, withheld: Bools) -> PublicTable:
    """The public view of a table."""
    shown = ~withheld & ~table.empty
    decimals = table.decimals if table.spec.decimals is None else table.spec.decimals
    value = np.where(shown, rounded_units(table.value, table.decimals, decimals), 0)
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
        "parents": tuple(tuple(h.parents.tolist()) for h in table.spec.hierarchies),
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
    """The public view of a table with altered values, in units of ``10 ** -decimals``, shown exactly."""
    everything = [published, *(intervals or ())]
    shown = altered_decimals(table, np.concatenate(everything) if intervals else published, decimals)
    empty = kept_empty(table, published)
    value, *ends = (np.where(empty, 0, _shown_exactly(column, decimals, shown)) for column in everything)
    return PublicTable(
        name=table.name,
        variables=table.variables,
        code_lists=tuple(h.codes for h in table.spec.hierarchies),
        labels=tuple(dict(h.labels) for h in table.spec.hierarchies),
        codes=table.codes.copy(),
        value=value,
        decimals=shown,
        shown=~empty,
        empty=empty,
        altered=True,
        lower=ends[0] if ends else None,
        upper=ends[1] if ends else None,
        coverage=coverage,
        **_headings(table),
    )


def _shown_exactly(value: Ints, decimals: int, shown: int) -> Ints:
    """Values in other units, in which they are whole."""
    if shown >= decimals:
        return rounded_units(value, decimals, shown)
    result: Ints = value // np.int64(10 ** (decimals - shown))
    return result


def altered_decimals(table: Table, published: Ints, decimals: int) -> int:
    """Decimals that altered values are shown with: those of the table, or more where these would round them."""
    wanted = table.decimals if table.spec.decimals is None else table.spec.decimals
    while wanted < decimals and np.any(published % 10 ** (decimals - wanted)):
        wanted += 1
    return wanted


def kept_empty(table: Table, published: Ints) -> Bools:
    """Cells shown as empty; none where a method gave some of them a value, so that the others do not stand out."""
    return table.empty if not published[table.empty].any() else np.zeros(len(table), np.bool_)


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
