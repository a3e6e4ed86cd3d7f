"""New codes for old ones, worked out once for every distinct value of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, NeedsError, counted, listed, spelt, unknown_codes, unknown_name
from discreet.files.argus.recodes import Group, grouped_codes
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import MissingRange, RecordSet, stands_for_unknown
from discreet.parallel import by_rows

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class CodedColumn(NamedTuple):
    """A column as its distinct values, how often each occurs, and the place of every row among them."""

    name: str
    values: list[Any]
    counts: list[int]
    places: pa.Array
    missing: tuple[MissingRange, ...]

    def changed(self, new: Sequence[Any], kind: Any = None) -> pa.ChunkedArray:
        """The column with other values in place of the distinct ones."""
        import pyarrow as pa

        return taken_by_rows(pa.array(new, kind or pa.string()), self.places)

    def is_unknown(self, value: Any) -> bool:
        """Whether a value is a code that stands for "unknown"."""
        return stands_for_unknown(value, self.missing)

    @property
    def codes(self) -> list[str]:
        """The distinct values as codes."""
        return [code_of(value) for value in self.values]


def taken_by_rows(values: pa.Array, places: pa.Array) -> pa.ChunkedArray:
    """For every row the value at its place; rows without a place stay empty."""
    import pyarrow as pa

    # As numbers of numpy: pickled, a part of an array of pyarrow brings the whole with it.
    found = by_rows(partial(_taken, values), places.fill_null(-1).to_numpy())
    return pa.chunked_array([pa.concat_arrays(found)])


def _taken(values: pa.Array, places: Ints) -> pa.Array:
    import pyarrow as pa

    return values.take(pa.array(places, mask=places < 0))


def coded_column(records: RecordSet, name: str) -> CodedColumn:
    """The distinct values of a column; empty fields are none of them, and stay empty."""
    import pyarrow as pa

    encoded = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    places = np.asarray(encoded.indices.drop_null().to_numpy(zero_copy_only=False), np.int64)
    values = encoded.dictionary.to_pylist()
    counts = np.bincount(places, minlength=len(values)).tolist()
    return CodedColumn(name, values, counts, encoded.indices, records.about(name).missing)


def mapped(
    column: CodedColumn, codes: Mapping[str, str], complete: bool = False
) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """New codes by a map; codes that are not in it stay, or are refused where it is to be complete."""
    seen = set(column.codes)
    absent = [code for code in codes if code not in seen]
    if len(absent) == len(codes):
        raise InputError(
            f"None of the codes in the map of {column.name!r} occurs in the records.",
            hint="Check the map against the codes of the column.",
        )
    if complete:
        _refuse_unnamed(column, codes, "map")
    note = f"{counted(len(absent), 'code')} in the map of {column.name!r} did not occur: {listed(absent, 5)}."
    return column.changed([codes.get(code, code) for code in column.codes]), (note,) if absent else ()


def _refuse_unnamed(column: CodedColumn, named: Mapping[str, str], way: str) -> None:
    """Refuse codes that would stay because nobody named them."""
    left = {
        code: many
        for code, value, many in zip(column.codes, column.values, column.counts, strict=True)
        if code not in named and not column.is_unknown(value)
    }
    if left:
        worst = sorted(left.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{spelt(code)} ({counted(many, 'record')})" for code, many in worst[:5])
        more = f" and {counted(len(worst) - 5, 'more code')}" if len(worst) > 5 else ""
        raise InputError(
            f"Column {column.name!r} has {counted(len(left), 'code')} that its {way} does not name: {shown}{more}.",
            hint=f"Name them in {way}=, or leave complete out to keep them as they are.",
        )


def grouped(
    column: CodedColumn, groups: Mapping[str, Sequence[str]], complete: bool = False
) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """New codes by groups of codes and ranges; a range never means a code that stands for "unknown"."""
    codes = column.codes
    known = [code for code, value in zip(codes, column.values, strict=True) if not column.is_unknown(value)]
    listed_groups = [Group(new, tuple(parts)) for new, parts in groups.items()]
    found, twice = grouped_codes(listed_groups, known)
    named, again = grouped_codes(listed_groups, [code for code in codes if code not in set(known)], ranges=False)
    twice += again
    if twice:
        shown = ", ".join(f"{spelt(code)} ({one!r} and {other!r})" for code, one, other in twice[:5])
        more = f" and {counted(len(twice) - 5, 'more code')}" if len(twice) > 5 else ""
        raise InputError(
            f"Groups of {column.name!r} give {counted(len(twice), 'code')} two new codes: {shown}{more}.",
            hint="Name each code in one group.",
        )
    new = {**found, **named}
    if not new:
        raise InputError(
            f"None of the codes in the groups of {column.name!r} occurs in the records.",
            hint="Check the groups against the codes of the column.",
        )
    if complete:
        _refuse_unnamed(column, new, "groups")
    absent = [code for code in groups if code not in set(new.values())]
    note = f"{counted(len(absent), 'group')} of {column.name!r} got no record: {listed(absent, 5)}."
    return column.changed([new.get(code, code) for code in codes]), (note,) if absent else ()


def raised(column: CodedColumn, above: Mapping[str, str]) -> pa.ChunkedArray:
    """Every code becomes the one that stands above it; codes that the hierarchy lacks are listed with their counts."""
    strange, new = dict[str, int](), []
    for code, value, many in zip(column.codes, column.values, column.counts, strict=True):
        if code not in above and not column.is_unknown(value):
            strange[code] = many
        new.append(code if column.is_unknown(value) else above.get(code, code))
    if strange:
        raise unknown_codes(column.name, strange)
    return column.changed(new)


def hierarchy_of(records: RecordSet, name: str, way: str) -> Hierarchy:
    """The hierarchy of a column, which a way of recoding needs."""
    found = records.hierarchies.get(name)
    if found is None:
        raise NeedsError(
            f"Recode({way}=) needs the hierarchy of {name!r}.",
            hint=f"Give Microdata(hierarchies={{{name!r}: hierarchy}}).",
        )
    return found


def ancestors(hierarchy: Hierarchy, level: int) -> dict[str, str]:
    """For every code the code above it at a level, itself where it is no deeper; the total stands at level 0."""
    return {code: steps[min(level, len(steps) - 1)] for code, steps in _paths(hierarchy).items()}


def closed_at(hierarchy: Hierarchy, nodes: Iterable[str]) -> dict[str, str]:
    """For every code the uppermost of some nodes that it stands under, itself where it stands under none."""
    alike = {code.strip(): code for code in hierarchy.codes}
    closed = set()
    for node in nodes:
        code = node if node in hierarchy.index else alike.get(node.strip())
        if code is None:
            raise InputError(unknown_name("code", node, hierarchy.codes, "the hierarchy"))
        closed.add(code)
    return {code: next((step for step in steps if step in closed), code) for code, steps in _paths(hierarchy).items()}


def _paths(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """For every code the codes from the total down to it."""
    path: dict[str, list[str]] = {}
    for place, code in enumerate(hierarchy.codes):
        up = int(hierarchy.parents[place])
        path[code] = [*(path[hierarchy.codes[up]] if up >= 0 else []), code]
    return path


def cut(column: CodedColumn, digits: int) -> pa.ChunkedArray:
    """The first characters of every code."""
    bad = sum(
        many
        for code, value, many in zip(column.codes, column.values, column.counts, strict=True)
        if not column.is_unknown(value) and not isinstance(value, str) and not code.isdecimal()
    )
    if bad:
        raise InputError(
            f"{counted(bad, 'value')} of column {column.name!r} {'is' if bad == 1 else 'are'} no code of digits.",
            hint="digits= is for text and whole numbers; use base= or intervals= for numbers, date= for dates.",
        )
    return column.changed(
        [
            code if column.is_unknown(value) else code[:digits]
            for code, value in zip(column.codes, column.values, strict=True)
        ]
    )


def dated(column: CodedColumn, to: str, at: date | None) -> pa.ChunkedArray:
    """Dates as months, quarters, years, or ages in full years.

    Years and ages are whole numbers, unless codes for "unknown" stand beside them: then all are text.
    """
    import pyarrow as pa

    days = [None if column.is_unknown(value) else _day(value) for value in column.values]
    pairs = list(zip(column.values, days, column.counts, strict=True))
    wrong = sum(many for value, day, many in pairs if day is None and not column.is_unknown(value))
    if wrong:
        raise InputError(
            f"{counted(wrong, 'value')} of column {column.name!r} {'is' if wrong == 1 else 'are'} no date.",
            hint="Give dates, or text such as 2024-03-31; name codes for unknown in missing_codes=.",
        )
    late = sum(many for _, day, many in pairs if day is not None and at is not None and day > at)
    if late:
        raise InputError(
            f"{counted(late, 'date')} of column {column.name!r} {'lies' if late == 1 else 'lie'} after at={at}.",
            hint="Give a later day in at=, or correct the dates.",
        )
    new = [code_of(value) if day is None else _period(day, to, at) for value, day, _ in pairs]
    if any(isinstance(item, str) for item in new) or not new:
        return column.changed([str(item) for item in new])
    return column.changed(new, pa.int64())


def _day(value: Any) -> date | None:
    """The day of a date, of a time, or of text that writes a date; nothing otherwise."""
    if isinstance(value, date):  # times are dates, too
        return date(value.year, value.month, value.day)
    if not isinstance(value, str) or not PLAIN_DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _period(day: date, to: str, at: date | None) -> str | int:
    if to == "age":
        assert at is not None
        return at.year - day.year - ((at.month, at.day) < (day.month, day.day))
    if to == "year":
        return day.year
    return f"{day.year:04d}-{day.month:02d}" if to == "month" else f"{day.year:04d}-Q{(day.month + 2) // 3}"


def code_of(value: Any) -> str:
    """The code that a value stands for: its text, for numbers without a needless point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(number: float) -> str:
    """A number without a needless point."""
    return str(int(number)) if number == int(number) else repr(float(number))
