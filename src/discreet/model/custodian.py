"""What stays with the custodian of a release: of tables, or of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import listed
from discreet.keys import Key
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import Bools, Ints, Status
from discreet.model.evidence import Evidence
from discreet.model.public import PublicRelease, altered_table, public_table
from discreet.model.records import RecordSet
from discreet.model.table import CellStatus
from discreet.model.tableset import TableSet

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class TableCustodian:
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

    def with_log(self, log: Mapping[str, Any]) -> TableCustodian:
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

    def __repr__(self) -> str:
        from discreet.model import pages

        return pages.custodian_text(pages.custodian_lines(self))

    def _repr_html_(self) -> str:
        from discreet.model import pages

        return pages.custodian_page(pages.custodian_lines(self), "Ask for tables, status, evidence, already or log.")


@dataclass(frozen=True, eq=False, repr=False)
class RecordStep:
    """What one method did to records: the columns it changed, and the evidence for it."""

    evidence: Evidence
    changed: pa.Table

    def __repr__(self) -> str:
        return f"RecordStep({self.evidence.claim.method}, changed {listed(self.changed.column_names) or 'nothing'})"


@dataclass(frozen=True, eq=False, repr=False)
class RecordCustodian:
    """What must not leave the house of a release of records: the original, every step from it, and the order of rows.

    Parameters
    ----------
    name
        Name of the public file.
    original
        The records as they came.
    steps
        What was done to them, one after the other.
    order
        Public row ``i`` is original row ``order[i]``.
    rules
        Rules that the public file keeps, as plain data.
    log
        What suffices to repeat the work.
    keeps_order
        Whether the rows stand in their original order.
    key
        The secret key of draws and of the order of rows.
    """

    name: str
    original: RecordSet
    steps: tuple[RecordStep, ...]
    order: Ints
    rules: tuple[Mapping[str, Any], ...]
    log: Mapping[str, Any]
    keeps_order: bool = False
    key: Key | None = None

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence of all steps."""
        return tuple(step.evidence for step in self.steps)

    @cached_property
    def released(self) -> RecordSet:
        """All columns after the last step, in the original order of rows.

        Rows have no number from before: whoever draws some of them goes by what they hold now.
        """
        records = replace(self.original, identity=None)
        for step in self.steps:
            records = records.with_columns({name: step.changed[name] for name in step.changed.column_names})
        return records

    def with_log(self, log: Mapping[str, Any]) -> RecordCustodian:
        """The same with another log."""
        return replace(self, log=log)

    def public(self) -> PublicRelease:
        """What goes out."""
        altered = {name for step in self.steps for name in step.changed.column_names}
        from discreet.model.blanking import published_blankings
        from discreet.model.public_records import KEEPS_CODES, new_words, public_records
        from discreet.model.transition import published_matrices

        matrices = published_matrices((step.evidence.method, step.evidence.facts) for step in self.steps)
        words = new_words((step.evidence.method, step.changed.column_names) for step in self.steps)
        steps = [step for step in self.steps if step.evidence.claim.method not in KEEPS_CODES]
        recoded = {name for step in steps for name in step.changed.column_names}
        shown = public_records(
            self.name, self.released, self.order, altered, self.keeps_order, matrices, words, recoded
        )
        blankings = published_blankings((step.evidence.method, step.evidence.facts) for step in self.steps)
        return PublicRelease((), replace(shown, blankings=blankings))

    def __repr__(self) -> str:
        from discreet.model import pages

        return pages.custodian_text(pages.record_custodian_lines(self))

    def _repr_html_(self) -> str:
        from discreet.model import pages

        return pages.custodian_page(pages.record_custodian_lines(self), "Ask for original, released, steps or log.")
