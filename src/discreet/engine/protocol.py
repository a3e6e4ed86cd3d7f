"""What an engine is: whoever opens records and tells their finest cells, contributors and columns.

The rest (cells above, largest contributions, tables) is the same code for all engines. A further engine is a file of
its own with an object ``ENGINE``, a name in :data:`discreet.model.microdata.EngineName` and a line in :data:`HOMES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

from discreet.engine.cells import LeafCells, RowFinder, row_finder
from discreet.engine.contributions import ContributorRecords, contributions_of
from discreet.engine.plan import ColumnPlan, Scale, WantedLists
from discreet.errors import ParameterError
from discreet.model.arrays import Ints
from discreet.model.condition import Condition
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Holders, Table

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.engine.column_counts import AmountCells
    from discreet.engine.draws import Draws
    from discreet.engine.encode import Records
    from discreet.engine.record_keys import KeyFacts, MadeKeys

HOMES = {
    "memory": "discreet.engine.memory",
    "duckdb": "discreet.engine.outofcore",
    "columns": "discreet.engine.columns",
    "remote": "discreet.engine.remote",
}
"""Modules of the engines by name; one is imported when it is first asked for."""


class KeyedAmounts(NamedTuple):
    """Some records: keys of their finest cells, what each adds to the value, and their record keys."""

    cells: Ints
    amount: Ints
    record_key: Ints


class OpenedRecords(ABC):
    """Records of one universe and weight, opened by an engine."""

    data: Microdata
    weight_name: str | None

    @abstractmethod
    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""

    @property
    @abstractmethod
    def lightest(self) -> float | None:
        """The smallest weight."""

    @property
    @abstractmethod
    def key_modulus(self) -> int:
        """What sums of record keys are taken to: whole numbers are added up as they are, which is 0."""

    @abstractmethod
    def leaf_cells(self, plan: ColumnPlan) -> LeafCells:
        """Sums of the finest cells that have records."""

    @abstractmethod
    def contributors(self, plan: ColumnPlan, level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        """The records for a level (holding or record), all of a contributor in one part."""

    @abstractmethod
    def keyed(self, spec: TableSpec) -> Iterator[KeyedAmounts]:
        """All records with their record keys, as many at a time as memory takes; the arrays may be used again."""

    def table(self, spec: TableSpec) -> Table:
        """The answer to one question."""
        plan = ColumnPlan(spec, self)
        return plan.table(self.leaf_cells(plan), self.key_modulus, partial(self.contributions, plan))

    def contributions(self, plan: ColumnPlan, level: str, wanted: WantedLists) -> tuple[Contributions, Holders | None]:
        """Contributors of every cell for a level (holding or record), from the records one by one."""
        rows = row_finder(wanted.leaves, [len(h) for h in plan.spec.hierarchies])
        parts, absolute = self.contributors(plan, level, rows), plan.spec.absolute
        return contributions_of(parts, wanted.above, len(wanted.cells), wanted.top, wanted.kept, absolute)


class Engine(Protocol):
    """How records of one kind of source are opened."""

    name: str

    def open(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> AbstractContextManager[OpenedRecords]:
        """Open records for some questions of one universe and weight.

        ``keys`` asks for record keys made of identifiers, in place of those that the records have.
        """

    def names(self, data: Microdata) -> list[str]:
        """Names of the columns of the records."""

    def pieces(
        self, data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
    ) -> Iterator[pa.Table]:
        """Columns of the records of a universe as they are, in the order of the source, piece by piece."""

    def keys(self, data: Microdata) -> Any:
        """Record keys of all records as the records have them, in any order."""

    def kept(self, data: Microdata) -> dict[str, Any] | None:
        """Where to keep what is worked out once of records that never change; ``None`` where they may."""

    def records(self, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """The same records in memory, for methods that change single ones."""


@runtime_checkable
class SumsAmounts(Protocol):
    """Opened records that know the largest amounts of cells from one pass over columns."""

    def amounts_by_size(self, spec: TableSpec, top: int) -> AmountCells | None:
        """What is known of the amounts of the finest cells; nothing where each record must be looked at."""


@runtime_checkable
class LooksAtKeys(Protocol):
    """An engine that looks at record keys where they lie."""

    def key_facts(self, data: Microdata) -> KeyFacts:
        """What is known of the record keys of all records, after they were looked at."""


@runtime_checkable
class FindsCodes(Protocol):
    """An engine that finds the codes of a column where they lie."""

    def codes(self, data: Microdata, variable: str) -> tuple[Any, int, int]:
        """The distinct values of a column (Arrow), how many records there are, and how many gaps."""


class NumberSums(NamedTuple):
    """Finest cells that have records: their keys, numbers of records, and sums of drawn numbers modulo 2**64."""

    cells: Ints
    records: Ints
    total: Draws


@runtime_checkable
class SumsNumbers(Protocol):
    """An engine that adds up numbers drawn for records where these lie."""

    def number_sums(
        self, data: Microdata, spec: TableSpec, identifier: str, drawn: Callable[[Ints], Draws]
    ) -> NumberSums:
        """Sums of numbers in the finest cells; ``drawn`` gives those of identities."""


def engine_of(data: Microdata) -> Engine:
    """The engine that some records name."""
    return cast(Engine, import_module(HOMES[data.engine]).ENGINE)


def refuse_left_out(data: Microdata) -> None:
    """Refuse what only files of records look at: left aside in silence, records would go out that were to stay."""
    if data.leave_out:
        raise ParameterError(
            "Microdata(leave_out=) is for files of records, and tables are to be made.",
            hint="Say which records a table is of: where=.",
            recipe_hint="Say which records a table is of: filter = ... in [[tables]].",
        )


def open_records(
    data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
) -> AbstractContextManager[OpenedRecords]:
    """Records of one universe and weight, opened by their engine."""
    refuse_left_out(data)
    return engine_of(data).open(data, specs, weight, keys)


def columns_of(
    data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
) -> pa.Table:
    """Columns of the records of a universe, all in memory; ``text`` names those that are codes."""
    import pyarrow as pa

    pieces = list(engine_of(data).pieces(data, list(names), list(text), where))
    return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces).unify_dictionaries()
