"""The method ``Recode``: fewer and broader codes, or less exact numbers and dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from discreet.errors import InputError, counted
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.claims.recoding import recoded_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet, stands_for_unknown
from discreet.parameters import AtLeastOne, Natural, Number, Positive
from discreet.records.code_changes import (
    ancestors,
    closed_at,
    coded_column,
    cut,
    dated,
    grouped,
    hierarchy_of,
    mapped,
    raised,
)
from discreet.records.number_columns import in_intervals, interval_names, rounded
from discreet.records.recode_parameters import check_parameters, from_file
from discreet.records.tails import coded_tails

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Recode", "ancestors", "interval_names"]

FIRST_FIELDS = ("column", "map", "level", "intervals", "names", "top", "bottom")
"""Fields that plain data always has; the others are there where they say something."""


@dataclass(frozen=True, repr=False)
class Recode(RecordMethod):
    """Give a column fewer and broader codes, or less exact numbers or dates. Empty fields stay empty, and so do codes
    that stand for "unknown", unless the map or a group names them.

    Say how in one way: ``map``, ``groups``, ``file``, ``level``, ``closed``, ``intervals``, ``digits``, ``base`` or
    ``date``; or code the ends of numbers or ordered codes with ``top``, ``top_quantile`` or ``top_count``, and
    ``bottom``, ``bottom_quantile`` or ``bottom_count``.

    Parameters
    ----------
    column
        The column, or several that are recoded in the same way.
    map
        Old codes to new ones; codes that are not in it stay.
    level
        Codes deeper than this level of the column's hierarchy become the code above them at this level; 0 is the total.
        The hierarchy is that of the records: ``Microdata(hierarchies={column: ...})``.
    intervals
        Numbers at which intervals begin, in rising order: ``(15, 30, 65)`` makes "<15", "15-29", "30-64" and "65+" of
        whole numbers.
    names
        Names of the intervals, one more than there are beginnings.
    top, bottom
        Numbers above ``top`` become ``top``, those below ``bottom`` become ``bottom``; with ``order=`` codes. Several
        columns may have a limit each, by name.
    groups
        New codes with the old ones that become them: codes and ranges (``"10-19"``, ``"-9"``, ``"90-"``), which compare
        codes as right-justified text. Codes in no group stay.
    file
        A file that says it: a ``.grc`` file of ARGUS, or lines of old and new codes.
    closed
        Codes of the hierarchy below which nothing is shown.
    digits
        Keep so many characters of each code, from its beginning.
    base
        Round numbers to multiples of this one; with ``coded_as`` the mean or median.
    ties
        What lies halfway goes to the ``"even"`` multiple, or ``"away"`` from zero.
    date
        What is left of dates: ``"month"``, ``"quarter"``, ``"year"``, or ``"age"`` in full years on the day ``at``.
    at
        The day, such as ``"2024-12-31"``.
    top_quantile, bottom_quantile
        The limit is the least number that this share of the records does not exceed (``top_quantile=0.995``), or the
        largest that at most this share falls short of (``bottom_quantile=0.005``).
    top_count, bottom_count
        At least so many records with the largest, or the smallest, numbers are coded, and all that equal one of them.
    order
        All codes from the lowest to the highest, for top and bottom codes of a column that holds no numbers.
    weight
        Column of weights that quantiles, counts and means are made with.
    coded_as
        What coded records get: the ``"limit"``, or the ``"mean"`` or ``"median"`` of all that are coded.
    least
        Least number of records that a published mean or median is made of.
    top_code, bottom_code
        What coded records get instead: a code such as ``"10+"``, or a number such as -9.
    together
        A record beyond the limit in one of several columns is coded in all of them.
    labels
        Words for the new codes, which the public file gets.
    unknown
        New codes that stand for "unknown".
    complete
        Refuse records with codes that neither ``map`` nor ``groups`` names; codes for "unknown" need not be named.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9]}), keys=["age"])
    >>> release = ds.protect(people, ds.Recode("age", intervals=[15, 65]), rules=[ds.KAnonymity(2)], keep_order=True)
    >>> release.public.records.shown()["age"]
    ['<15', '15-64', '15-64', '65+', '65+', '<15']
    >>> release = ds.protect(people, ds.Recode("age", top_count=2, bottom=10), keep_order=True)
    >>> release.public.records.shown()["age"]
    [10, 17, 19, 19, 19, 10]
    """

    kind: ClassVar[str] = "recode"
    column: str | tuple[str, ...]
    map: Mapping[str, str] | None = None
    level: Natural | None = None
    intervals: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    top: float | str | Mapping[str, float | str] | None = None
    bottom: float | str | Mapping[str, float | str] | None = None
    groups: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    file: str | None = None
    closed: tuple[str, ...] = ()
    digits: AtLeastOne | None = None
    base: Positive | None = None
    ties: Literal["even", "away"] = "even"
    date: Literal["month", "quarter", "year", "age"] | None = None
    at: str | None = None
    top_quantile: Annotated[float, Number(above=0, below=1)] | None = None
    bottom_quantile: Annotated[float, Number(above=0, below=1)] | None = None
    top_count: AtLeastOne | None = None
    bottom_count: AtLeastOne | None = None
    order: tuple[str, ...] = ()
    weight: str | None = None
    coded_as: Literal["limit", "mean", "median"] = "limit"
    least: Annotated[int, Number(least=3)] = 5
    top_code: float | str | None = None
    bottom_code: float | str | None = None
    together: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    complete: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.file, Path):
            object.__setattr__(self, "file", str(self.file))
        super().__post_init__()
        for name, kept in check_parameters(self).items():
            object.__setattr__(self, name, kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return (self.column,) if isinstance(self.column, str) else self.column

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from; those that are recoded may hold them as text."""
        return () if self.weight is None else (self.weight,)

    def codes(self, end: str) -> bool:
        """Whether it codes the top, or the bottom."""
        return any(getattr(self, name) is not None for name in (end, f"{end}_quantile", f"{end}_count"))

    def record(self) -> dict[str, Any]:
        """The method as plain data; what it leaves at its default stands there only where it always did."""
        told = {"method", *FIRST_FIELDS, *self._told()}
        return {name: value for name, value in super().record().items() if name in told}

    def _told(self) -> list[str]:
        """Parameters that are not at their default."""
        plain = Recode("any", top=0)
        return [f.name for f in fields(self)[1:] if getattr(self, f.name) != getattr(plain, f.name) or f.name == "top"]

    def __repr__(self) -> str:
        said = (f", {name}={getattr(self, name)!r}" for name in self._told() if getattr(self, name) is not None)
        return f"Recode({self.column!r}{''.join(said)})"

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Recode:
        """The method with what its file says."""
        return self if self.file is None else replace(self, file=None, **from_file(self, self.file, find))

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Recode the columns."""
        if self.file is not None:
            return self.with_files_read().run(records, key)
        facts: dict[str, Any] = {}
        notes: tuple[str, ...] = ()
        if self.codes("top") or self.codes("bottom"):
            changed, facts, notes = coded_tails(self, records)
        else:
            changed = {}
            for name in self.columns:
                changed[name], said = self._recoded(records, name)
                notes += said
        if self.map is None and not self.groups:
            for name in self.columns:
                _refuse_new_unknown(records, name, changed[name])
        plain = self.record()
        return RecordOutcome(changed, Evidence(plain, recoded_claim(plain, facts), facts=facts), notes)

    def _recoded(self, records: RecordSet, name: str) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
        """One column after a way that looks at single values, and what the custodian is told."""
        import pyarrow as pa

        column = records[name]
        if self.base is not None:
            plain = not pa.types.is_string(column.type) and not records.about(name).missing
            coded = None if plain else coded_column(records, name)
            return rounded(column, coded, self.base, self.ties, name), ()
        if self.date is not None and pa.types.is_timestamp(column.type) and not records.about(name).missing:
            records = records.with_columns({name: column.cast(pa.date32(), safe=False)})
        coded = coded_column(records, name)
        if self.map is not None:
            return mapped(coded, self.map, self.complete)
        if self.groups:
            parts = {new: (old,) if isinstance(old, str) else old for new, old in self.groups.items()}
            return grouped(coded, parts, self.complete)
        if self.intervals:
            return in_intervals(column, coded, self.intervals, self.names), ()
        if self.digits is not None:
            return cut(coded, self.digits), ()
        if self.date is not None:
            return dated(coded, self.date, None if self.at is None else date.fromisoformat(self.at)), ()
        tree = hierarchy_of(records, name, "closed" if self.closed else "level")
        return raised(coded, closed_at(tree, self.closed) if self.closed else ancestors(tree, self.level or 0)), ()


def _refuse_new_unknown(records: RecordSet, name: str, changed: pa.ChunkedArray) -> None:
    """Refuse a known value that becomes a code for "unknown": readers would take it for one."""
    missing = records.about(name).missing
    if not missing:
        return
    import pyarrow as pa

    pairs = pa.table({"old": records[name], "new": changed}).group_by(["old", "new"]).aggregate([([], "count_all")])
    wrong = sum(
        row["count_all"]
        for row in pairs.to_pylist()
        if row["new"] is not None
        and stands_for_unknown(row["new"], missing)
        and not stands_for_unknown(row["old"], missing)
    )
    if wrong:
        raise InputError(
            f"{counted(wrong, 'known value')} of column {name!r} would become a code that stands for unknown.",
            hint="Choose other new codes or limits, or recode the codes for unknown with map= first.",
        )
