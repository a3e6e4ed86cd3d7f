"""Numbers of records in an engine: what kind they are, their decimals, and exact units as ibis expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Literal, NamedTuple

from discreet.engine.remote_source import RemoteTable
from discreet.errors import InputError, ParameterError
from discreet.files.frames import bad_numbers, condition_mask
from discreet.model.condition import GAPS, Condition
from discreet.model.units import FLOATING_NOISE, MOST_DECIMALS, MOST_NOISE, chosen_decimals

Kind = Literal["text", "integer", "float", "decimal", "boolean", "date", "nothing"]
TOO_LARGE = 1e18
"""Larger numbers are refused; engines must not stumble over their multiples before."""
TINY = 1e-200
FIRST_DECIMALS = 3
"""Most columns have fewer decimals than this, and are looked at once."""
MOST_WORDS = 100_000
"""Text that a filter compares by order is compared here, if a column has no more words than this."""


def kind_of(remote: RemoteTable, name: str) -> Kind:
    """What a column holds; what depends on time zones or has no order of its own is refused."""
    kind = remote.column(name).type()
    tests: list[tuple[Kind, bool]] = [
        ("text", kind.is_string() or kind.is_uuid()),
        ("boolean", kind.is_boolean()),
        ("integer", kind.is_integer()),
        ("float", kind.is_floating()),
        ("decimal", kind.is_decimal()),
        ("date", kind.is_date()),
        ("nothing", kind.is_null()),
    ]
    for found, fits in tests:
        if fits:
            return found
    if kind.is_timestamp() or kind.is_time():
        raise InputError(
            f"Column {name!r} holds times, which read differently in other time zones.",
            hint="Make a column of dates or text in the engine, in the time zone that is meant.",
        )
    raise InputError(
        f"Column {name!r} holds {kind}, which tables cannot be made of.", hint="Make a column of text or numbers of it."
    )


def read(remote: RemoteTable, name: str) -> Any:
    """A column as 64-bit numbers, text, dates or true and false."""
    kind, column = kind_of(remote, name), remote.column(name)
    if kind in ("integer", "float"):
        return column.cast("int64" if kind == "integer" else "float64")
    return column.cast("string") if kind == "text" else column


def _whole(flag: Any) -> Any:
    """True as 1, false as 0; PostgreSQL has no direct way to 64-bit numbers."""
    return flag.cast("int32").cast("int64")


def half_even(number: Any) -> Any:
    """A floating-point number rounded to a whole one, halves to even ones, as every engine does it in the same way."""
    import ibis

    low = number.floor()
    rest = number - low.cast("float64")
    odd = (low.cast("float64") / 2.0).floor().cast("float64") * 2.0 != low.cast("float64")
    up = (rest > 0.5) | ((rest == 0.5) & odd)
    return low.cast("int64") + ibis.ifelse(up, 1, 0).cast("int64")


def _rounded(number: Any) -> Any:
    """The same as a floating-point number; large ones are whole already, and too large for 64-bit integers."""
    import ibis

    small = number.abs() < 2.0**52
    return ibis.ifelse(small, half_even(ibis.ifelse(small, number, 0.0)).cast("float64"), number)


def _within(number: Any) -> Any:
    """A number, 0 in place of one that is refused anyway, and a small one in place of one that is too small to divide.

    PostgreSQL refuses products that are too small for a floating-point number. Neither has few decimals.
    """
    import ibis

    fits = ~number.isnan() & (number.abs() < TOO_LARGE)
    tiny = (number != 0.0) & (number.abs() < TINY)
    return ibis.ifelse(fits, ibis.ifelse(tiny, TINY, number), 0.0)


class Looked(NamedTuple):
    """What was found of a column of numbers."""

    decimals: int
    largest: float
    total: float


class Numbers:
    """The columns of numbers of one universe; each is looked at once.

    Parameters
    ----------
    remote
        The table.
    records
        The records of the universe, as ibis has them.
    """

    def __init__(self, remote: RemoteTable, records: Any) -> None:
        self.remote = remote
        self.records = records
        self.looked: dict[str, Looked] = {}
        self._exact: dict[str, bool] = {}

    def kind(self, name: str) -> Kind:
        """What a column of numbers holds; text is refused."""
        kind = kind_of(self.remote, name)
        if kind in ("text", "date"):
            raise InputError(
                f"Column {name!r} holds {'text' if kind == 'text' else 'dates'} where numbers are needed.",
                hint="Make a column of numbers of it in the engine, or name another.",
            )
        if kind == "nothing":
            raise bad_numbers(name, self.count(), None, "are empty")
        return kind

    def count(self) -> int:
        """How many records there are."""
        return int(self.remote.rows("count", self.records.aggregate(n=self.records.count()))[0]["n"])

    def plain(self, name: str) -> Any:
        """A column of whole numbers, floating-point or decimal ones; true is 1."""
        column = read(self.remote, name)
        return _whole(column) if self.kind(name) == "boolean" else column

    def look_at(self, names: Sequence[str]) -> None:
        """Refuse gaps and what is no number, and find the decimals of some columns, in one pass or two."""
        wanted = [name for name in dict.fromkeys(names) if name not in self.looked]
        if not wanted:
            return
        found = self._asked({name: self._basics(name) for name in wanted})
        undecided: dict[str, int | None] = {}
        for name in wanted:
            _refuse_bad(name, found[name])
            kind = self.kind(name)
            if kind in ("integer", "boolean"):
                self.looked[name] = Looked(0, float(found[name]["largest"]), float(found[name]["total"]))
            else:
                undecided[name] = next((d for d in range(FIRST_DECIMALS) if not found[name][f"not{d}"]), None)
        more = [name for name, exact in undecided.items() if exact is None]
        if more:
            rest = range(FIRST_DECIMALS, MOST_DECIMALS + 1)
            again = self._asked({name: {f"not{d}": self._missed(name, d) for d in rest} for name in more})
            undecided |= {name: next((d for d in rest if not again[name][f"not{d}"]), None) for name in more}
        for name, exact in undecided.items():
            self.looked[name] = self._decided(name, exact, found[name])

    def _asked(self, wanted: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        named = {f"{i}_{what}": e for i, each in enumerate(wanted.values()) for what, e in each.items()}
        row = self.remote.rows("decimals", self.records.aggregate(**{f"c{name}": e for name, e in named.items()}))[0]
        return {
            name: {what: row[f"c{i}_{what}"] or 0 for what in each} for i, (name, each) in enumerate(wanted.items())
        }

    def _basics(self, name: str) -> dict[str, Any]:
        kind, column = self.kind(name), self.plain(name)
        number = column.cast("float64")
        found = {"empty": column.isnull().sum().cast("int64")}
        if kind in ("float", "decimal"):
            wrong = number.isnan() | number.isinf()
            found["odd"] = wrong.sum().cast("int64")
            number = _clipped(number)
            found |= {f"not{d}": self._missed(name, d) for d in range(FIRST_DECIMALS)}
        return found | {"largest": number.abs().max(), "total": number.abs().sum()}

    def _missed(self, name: str, decimals: int) -> Any:
        """How many values so many decimals do not write."""
        if self.kind(name) == "decimal":
            scaled = self.plain(name) * _power(decimals)
            return (scaled != scaled.floor()).sum().cast("int64")
        number = _within(self.plain(name))
        return (_rounded(number * 10.0**decimals) / 10.0**decimals != number).sum().cast("int64")

    def _decided(self, name: str, exact: int | None, found: dict[str, Any]) -> Looked:
        largest, total = float(found["largest"]), float(found["total"])
        if self.kind(name) == "decimal" and exact is None:
            raise InputError(
                f"Column {name!r} has decimal numbers with more than {MOST_DECIMALS} decimals.",
                hint="Round them in the engine, or make a column of floating-point numbers of them.",
            )

        def near() -> int | None:
            return None if self.kind(name) == "decimal" else self._near_decimals(name, largest)

        return Looked(chosen_decimals(name, largest, total, exact, near), largest, total)

    def _near_decimals(self, name: str, largest: float) -> int | None:
        """Least number of decimals that writes all values but for the noise of floating-point sums."""
        fit = [d for d in range(MOST_DECIMALS + 1) if largest * 10.0**d * FLOATING_NOISE <= MOST_NOISE]
        if not fit:
            return None
        found = self._asked({name: {f"off{d}": self._off(name, d) for d in fit}})[name]
        return next((d for d in fit if not found[f"off{d}"]), None)

    def _off(self, name: str, decimals: int) -> Any:
        scaled = _within(self.plain(name)) * 10.0**decimals
        return ((_rounded(scaled) - scaled).abs() > scaled.abs() * FLOATING_NOISE).sum().cast("int64")

    def writes(self, name: str, decimals: int) -> bool:
        """Whether so many decimals write a column exactly, but for noise."""
        if self.kind(name) != "float":
            return True
        if name not in self._exact:
            self._exact[name] = not self._asked({name: {"off": self._off(name, decimals)}})[name]["off"]
        return self._exact[name]

    def units(self, name: str, decimals: int) -> Any:
        """A column as whole numbers of its smallest unit."""
        kind, column = self.kind(name), self.plain(name)
        if kind == "float":
            return half_even(column * 10.0**decimals)
        return (column * _power(decimals)).cast("int64") if kind == "decimal" else column


def _power(decimals: int) -> Any:
    import ibis

    return ibis.literal(Decimal(10**decimals), type=f"decimal({decimals + 1}, 0)")


def _clipped(number: Any) -> Any:
    """What is not finite as 0, so that sums of the others can be had."""
    import ibis

    return ibis.ifelse(number.isnan() | number.isinf(), 0.0, number)


def _refuse_bad(name: str, found: dict[str, Any]) -> None:
    for what, words in (("empty", "are empty"), ("odd", "are not finite")):
        if found.get(what):
            raise bad_numbers(name, int(found[what]), None, words)


# ---- filters ------------------------------------------------------------------------------------------------


def universe_of(remote: RemoteTable, conditions: Sequence[Condition]) -> Any:
    """The records that meet all conditions."""
    tests = [_meets(remote, condition) for condition in conditions]
    return remote.table.filter(reduce(and_, tests)) if tests else remote.table


def _meets(remote: RemoteTable, condition: Condition) -> Any:
    kind, column = kind_of(remote, condition.column), read(remote, condition.column)
    condition_mask(_nothing(condition.column, kind), condition)  # refuses text where numbers are and the reverse
    if condition.operator in GAPS:
        gap = column.isnull() | column.isnan().fill_null(False) if kind == "float" else column.isnull()
        return gap if condition.operator == "is null" else ~gap
    if kind == "boolean":
        column = _whole(column)
    if kind == "decimal":
        column = column.cast("float64")
    if kind == "text" and condition.operator not in ("==", "!=", "in", "not in"):
        return column.isin(_words(remote, column, condition))
    met = _compared(column, condition).fill_null(False)
    if kind in ("float", "decimal") and condition.operator not in ("!=", "not in"):
        met = met & ~column.isnan().fill_null(False)  # most engines take it for the largest number
    return met


def _compared(column: Any, condition: Condition) -> Any:
    value = condition.values[0]
    compare: dict[str, Callable[[], Any]] = {
        "==": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
        "in": lambda: column.isin(condition.values),
        "not in": lambda: column.notin(condition.values),
    }
    return compare[condition.operator]()


def _words(remote: RemoteTable, column: Any, condition: Condition) -> list[str]:
    """Words of a column that meet a condition on their order, which engines do not agree on: it is found here."""
    words = remote.fetch("filter", remote.table.select(word=column).distinct().limit(MOST_WORDS + 1))["word"]
    if len(words) > MOST_WORDS:
        raise ParameterError(
            f"The filter '{condition}' compares more than {MOST_WORDS:,} words by their order.",
            hint="Make a column for the filter in the engine, or list the words: in [...].",
        )
    import pyarrow as pa

    words = words.drop_null().cast(pa.string())
    table = pa.table({condition.column: words})
    found: list[str] = words.filter(condition_mask(table, condition)).to_pylist()
    return found


def _nothing(name: str, kind: Kind) -> Any:
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "decimal": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "nothing": pa.null(),
    }
    return pa.table({name: pa.array([], types[kind])})
