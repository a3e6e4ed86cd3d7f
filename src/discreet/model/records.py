"""Records in memory: Arrow columns, what each column is, and who each row is; and records as the public sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.errors import counted, unknown_column
from discreet.model.arrays import Ints
from discreet.model.display import text_of_columns
from discreet.model.hierarchy import Hierarchy

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.blanking import Blanking
    from discreet.model.transition import TransitionMatrix

IDENTIFIER, KEY, SENSITIVE, NUMERIC, HOUSEHOLD, WEIGHT = (
    "identifier",
    "key",
    "sensitive",
    "numeric",
    "household",
    "weight",
)
CONTRIBUTOR, RECORD_KEY, WAIVER, REQUEST = "contributor", "record_key", "waiver", "request"
TOLD = (WEIGHT, HOUSEHOLD)
"""Roles that readers are told: they need them to work with the file."""
NEVER_PUBLIC = (IDENTIFIER, CONTRIBUTOR, RECORD_KEY, WAIVER, REQUEST)
"""Roles of columns that no public file has."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MissingRange = tuple[Any, Any]
"""The lowest and the highest of some codes that stand for "unknown"; both are the same for a single code."""


def code_text(value: Any) -> str:
    """A value as the code that labels and codes for "unknown" call it by: no needless point, true or false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


def stands_for_unknown(value: Any, missing: Iterable[MissingRange]) -> bool:
    """Whether a value is one of the codes that stand for "unknown"; ends that are text name one code each."""
    code = code_text(value)
    for low, high in missing:
        if isinstance(low, str):
            if code == low:
                return True
            continue
        if NUMBER.fullmatch(code) and low <= float(code) <= high:
            return True
    return False


@dataclass(frozen=True)
class ColumnInfo:
    """What is known of a column besides its values.

    Parameters
    ----------
    role
        What the column is: ``"identifier"``, ``"key"`` (identifying), ``"sensitive"``, ``"numeric"``, ``"household"``,
        ``"weight"``, ``"contributor"``, ``"record_key"``, ``"waiver"``, ``"request"``, or nothing.
    label
        Words for the column.
    value_labels
        Words for its codes.
    missing
        Codes that stand for "unknown", as ranges.
    format
        How a statistical package shows it.
    measure
        Its level of measurement (``"nominal"``, ``"ordinal"``, ``"scale"``) where a file of SPSS states it.
    """

    role: str = ""
    label: str = ""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[MissingRange, ...] = ()
    format: str = ""
    measure: str = ""


@dataclass(frozen=True, eq=False)
class RecordSet:
    """Records as methods see them: all rows in the order in which they came.

    Columns hold text, whole numbers (64 bits), floating-point numbers, true/false, dates or times; a gap is an Arrow
    null, and nothing else is.

    Parameters
    ----------
    columns
        The values.
    info
        What each column is; columns without an entry have no role.
    identity
        A number for every row that depends on who it is (its identifier), or on what it holds where it has none: draws
        are made for it, whatever the order of the rows. ``None`` where nobody has worked it out yet.
    hierarchies
        Per column its codes and what they add up to.
    strata
        Columns within whose codes methods work apart.
    left_out
        What was left out when the records were read, in words for the custodian.
    first
        The columns before any step changed one; ``None`` where none did.
    """

    columns: pa.Table
    info: Mapping[str, ColumnInfo]
    identity: Ints | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    strata: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    first: pa.Table | None = None

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.columns.column_names)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        if name not in self.names:
            raise unknown_column(name, self.names, "the records")
        return self.columns[name]

    def with_role(self, *roles: str) -> tuple[str, ...]:
        """Columns with one of some roles, in their order."""
        return tuple(name for name in self.names if self.about(name).role in roles)

    def about(self, name: str) -> ColumnInfo:
        """What is known of a column."""
        return self.info.get(name, ColumnInfo())

    def with_columns(self, changed: Mapping[str, pa.ChunkedArray]) -> RecordSet:
        """The same with other values in some columns."""
        table = self.columns
        for name, column in changed.items():
            table = table.set_column(table.column_names.index(name), name, column)
        return replace(self, columns=table, first=self.columns if self.first is None else self.first)


@dataclass(frozen=True)
class PublicColumn:
    """What readers are told of a column; ``altered`` says it of the whole column, never of single records.

    ``role`` is ``"weight"`` or ``"household"`` where the column is one of these, and nothing of other roles.
    ``truncable`` says that its codes may be cut from the right, digit by digit.
    """

    altered: bool = False
    label: str = ""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[MissingRange, ...] = ()
    format: str = ""
    role: str = ""
    measure: str = ""
    truncable: bool = False


@dataclass(frozen=True, eq=False)
class PublicRecords:
    """Records as the public sees them: no identifiers, nothing of what they were.

    ``keeps_order`` says whether the rows stand in the order of the original file; they stand in a random one otherwise.
    ``matrices`` are the transition matrices of post-randomised columns that are published for analysts, ``blankings``
    say how values were blanked at random and what noise they have.
    """

    name: str
    columns: pa.Table
    info: Mapping[str, PublicColumn]
    keeps_order: bool = False
    matrices: tuple[TransitionMatrix, ...] = ()
    blankings: tuple[Blanking, ...] = ()

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.columns.column_names)

    @property
    def altered(self) -> tuple[str, ...]:
        """Columns whose values are not all the original ones."""
        return tuple(name for name in self.variables if self.info[name].altered)

    def shown(self, most: int | None = None) -> dict[str, list[Any]]:
        """Plain columns, of the first rows only where asked for."""
        table = self.columns if most is None else self.columns.slice(0, most)
        found: dict[str, list[Any]] = table.to_pydict()
        return found

    def __repr__(self) -> str:
        what = f"altered: {', '.join(self.altered)}" if self.altered else "no column altered"
        head = f"{self.name}: {counted(len(self), 'record')}, {what}"
        return f"{head}\n{text_of_columns(self.shown(12), len(self), 'record', 'shown()')}"

    def _repr_html_(self) -> str:
        from discreet.model.pages import records_page

        return records_page(self)


@dataclass(frozen=True)
class RecordAssessment:
    """What rules say of records: how many are unsafe under each, and why.

    ``unsafe`` counts records, ``words`` says it of each rule, ``rules`` are the rules as plain data.
    """

    rules: tuple[Mapping[str, Any], ...]
    unsafe: tuple[int, ...]
    words: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether no record is unsafe."""
        return not any(self.unsafe)

    def __str__(self) -> str:
        return "\n".join(self.words) or "No rule was given."

    def _repr_html_(self) -> str:
        from discreet.model.pages import record_assessment_page

        return record_assessment_page(self)
