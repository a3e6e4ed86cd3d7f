"""Releases: what goes out, and what stays with the custodian, as separate types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown_name
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

    def __len__(self) -> int:
        return len(self.value)

    @property
    def status(self) -> list[str]:
        """``V`` value, ``X`` withheld, ``E`` empty."""
        letters: list[str] = np.where(self.shown, "V", np.where(self.empty, "E", "X")).tolist()
        return letters

    def columns(self, most: int | None = None) -> dict[str, list[Any]]:
        """Plain columns: codes, value (``None`` where withheld or empty), status."""
        rows = slice(0, most)
        result: dict[str, list[Any]] = {}
        for k, (variable, codes) in enumerate(zip(self.variables, self.code_lists, strict=True)):
            result[variable] = [codes[i] for i in self.codes[rows, k].tolist()]
        numbers = (unit_number(v, self.decimals) for v in self.value[rows].tolist())
        result["value"] = [n if s else None for n, s in zip(numbers, self.shown[rows].tolist(), strict=True)]
        result["status"] = self.status[rows]
        return result

    def __repr__(self) -> str:
        head = f"{self.name}: {len(self):,} cells, {int((~self.shown & ~self.empty).sum()):,} withheld"
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

    def __repr__(self) -> str:
        return "\n".join(repr(table) for table in self.tables)


@dataclass(frozen=True, eq=False)
class Custodian:
    """What must not leave the house: the original cells, why they are unsafe, and the proof.

    ``status`` is the final status of every cell of every table; ``log`` suffices to repeat the work; ``already`` is
    what was published before or elsewhere, with the values that belong to it. Certificates number the tables as they
    stand in ``whole``: those of the release first, those of earlier releases behind them.
    """

    tables: TableSet
    status: tuple[Status, ...]
    evidence: tuple[Evidence, ...]
    log: Mapping[str, Any]
    already: AlreadyPublished = field(default_factory=AlreadyPublished)

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
        """Cells of a table that are not published."""
        status = self.status[number]
        result: Bools = (status == CellStatus.UNSAFE) | (status == CellStatus.SECONDARY)
        return result


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
    )


def rounded_units(value: Ints, decimals: int, wanted: int) -> Ints:
    """Values in other units; fewer decimals round half to even."""
    if wanted >= decimals:
        if int(np.abs(value).max(initial=0)) * 10 ** (wanted - decimals) > LARGEST:
            raise ParameterError(
                f"The values are too large to be written exactly with {wanted} decimals.",
                hint="Give decimals= with fewer decimals.",
            )
        return value * np.int64(10 ** (wanted - decimals))
    step = np.int64(10 ** (decimals - wanted))
    quotient, rest = np.divmod(value, step)
    up = (2 * rest > step) | ((2 * rest == step) & (quotient % 2 == 1))
    result: Ints = quotient + up
    return result
