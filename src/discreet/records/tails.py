"""Top and bottom codes: where the tails of columns begin, which records lie in them, and what these become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted, spelt, unknown_name
from discreet.model.arrays import Bools, Ints
from discreet.model.claims.recoding import ENDS, number_said
from discreet.model.records import RecordSet
from discreet.model.units import detect_decimals
from discreet.records.code_changes import coded_column, number_text
from discreet.records.number_columns import (
    EXACT_FLOATS,
    MOST_WHOLE,
    NumberColumn,
    exact,
    nearest_multiple,
    number_column,
    written,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.records.recode import Recode

WEIGHT_UNITS = 1_000_000
"""Weights are counted in millionths, so that sums of them are exact."""


class TailColumn(NamedTuple):
    """A column whose ends are coded: its numbers, or the places of its codes in their order."""

    name: str
    column: pa.ChunkedArray
    found: NumberColumn
    order: tuple[str, ...]

    @property
    def kind(self) -> Any:
        """The type that is published."""
        import pyarrow as pa

        return pa.string() if self.order else self.column.type

    def beyond(self, limit: float, end: str) -> Bools:
        """Which records lie beyond a limit."""
        compared = self.found.numbers > limit if end == "top" else self.found.numbers < limit
        result: Bools = compared & ~self.found.aside
        return result

    def said(self, limit: Any) -> Any:
        """A limit as it is published: a number, or a code."""
        if self.order:
            return self.order[int(limit)]
        return limit.item() if hasattr(limit, "item") else limit


def coded_tails(how: Recode, records: RecordSet) -> tuple[dict[str, pa.ChunkedArray], dict[str, Any], tuple[str, ...]]:
    """Columns with coded tails, what was found, and what the custodian is told."""
    units = None if how.weight is None else weight_units(records, how.weight)
    columns = [tail_column(records, name, how.order) for name in how.columns]
    limits = {
        (column.name, end): limit_of(how, column, end, units) for column in columns for end, _ in ENDS if how.codes(end)
    }
    for column in columns:
        ends = [limits.get((column.name, end)) for end, _ in ENDS]
        if ends[0] is not None and ends[1] is not None and ends[1] > ends[0]:
            raise ParameterError(
                f"The bottom of column {column.name!r} ends above where its top begins.",
                hint="Code a smaller part of one end.",
            )
    changed = {column.name: _as_published(column, records) for column in columns}
    facts: dict[str, Any] = {"rows": len(records), "tails": []}
    for end, _ in ENDS:
        if not how.codes(end):
            continue
        beyond = {c.name: c.beyond(limits[c.name, end], end) for c in columns}
        coded = np.logical_or.reduce(list(beyond.values()))
        for column in columns:
            rows = coded & ~column.found.aside if how.together else beyond[column.name]
            tail = _tail(how, column, end, limits[column.name, end], rows, units)
            facts["tails"].append({**tail, "records": int(beyond[column.name].sum())})
            changed[column.name] = _with_value(changed[column.name], rows, tail["value"], column)
        if how.together:
            facts["coded"] = int(coded.sum())
    return changed, facts, _notes(facts)


def tail_column(records: RecordSet, name: str, order: Sequence[str]) -> TailColumn:
    """A column ready to be compared with limits; of ordered codes the places in their order."""
    column, missing = records[name], records.about(name).missing
    if not order:
        return TailColumn(name, column, number_column(column, name, missing), ())
    coded = coded_column(records, name)
    place = {code: number for number, code in enumerate(order)}
    known = [None if coded.is_unknown(value) else code for value, code in zip(coded.values, coded.codes, strict=True)]
    strange = {c: n for c, n in zip(known, coded.counts, strict=True) if c is not None and c not in place}
    if strange:
        worst = sorted(strange.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{spelt(code)} ({counted(many, 'record')})" for code, many in worst[:10])
        more = f" and {counted(len(worst) - 10, 'more code')}" if len(worst) > 10 else ""
        raise InputError(
            f"Column {name!r} has {counted(len(strange), 'code')} that order= does not name: {shown}{more}.",
            hint="Name every code in order=, or those that stand for unknown in missing_codes=.",
        )
    import pyarrow.compute as pc

    places = coded.changed([None if code is None else place[code] for code in known], "int64")
    aside = np.asarray(places.is_null().to_numpy(), np.bool_)
    return TailColumn(name, column, NumberColumn(pc.fill_null(places, 0).to_numpy(), aside), tuple(order))


def limit_of(how: Recode, column: TailColumn, end: str, units: Ints | None) -> Any:
    """The limit of one end of a column: given, or found by quantile or count."""
    given = getattr(how, end)
    given = given.get(column.name) if isinstance(given, Mapping) else given
    if given is not None:
        return _given_limit(column, given)
    known = ~column.found.aside
    numbers = column.found.numbers[known]
    weights = np.full(len(numbers), WEIGHT_UNITS, np.int64) if units is None else units[known]
    if not int(weights.sum()):
        what = "has no value" if not len(numbers) else "has no weight above zero beside a value"
        raise InputError(f"Column {column.name!r} {what}, so that its {end} cannot be found.", hint=f"Give {end}=.")
    quantile, many = getattr(how, f"{end}_quantile"), getattr(how, f"{end}_count")
    if end == "bottom":  # the bottom of a column is the top of its opposite
        found = _quantile_limit(-numbers, weights, 1 - exact(quantile)) if many is None else _count_limit(
            -numbers, weights, many, column.name
        )  # fmt: skip
        return -found
    return (
        _quantile_limit(numbers, weights, exact(quantile))
        if many is None
        else _count_limit(numbers, weights, many, column.name)
    )


def _given_limit(column: TailColumn, given: Any) -> Any:
    import pyarrow as pa

    if column.order:
        if given not in column.order:
            raise ParameterError(unknown_name("code", str(given), column.order, "order="))
        return column.order.index(given)
    if isinstance(given, str):
        raise ParameterError(
            f"The limit {given!r} of column {column.name!r} is no number.",
            hint="Give a number, or order= with all codes from the lowest to the highest.",
        )
    if pa.types.is_integer(column.column.type) and given != int(given):
        raise ParameterError(
            f"Column {column.name!r} holds whole numbers, and {given:g} is none.", hint="Give a whole number."
        )
    return int(given) if pa.types.is_integer(column.column.type) else given


def _quantile_limit(numbers: Any, weights: Ints, share: Fraction) -> Any:
    """The least number that at least this share of the weight does not exceed."""
    order = np.argsort(numbers, kind="stable")
    upto = np.cumsum(weights[order])
    need = share * int(upto[-1])
    return numbers[order[int(np.searchsorted(upto, -(-need.numerator // need.denominator), side="left"))]]


def _count_limit(numbers: Any, weights: Ints, many: int, name: str) -> Any:
    """The largest number below those that at least so many records, or units of weight, have."""
    order = np.argsort(numbers, kind="stable")[::-1]
    upto = np.cumsum(weights[order])
    place = int(np.searchsorted(upto, many * WEIGHT_UNITS, side="left"))
    below = numbers[numbers < numbers[order[place]]] if place < len(order) else numbers[:0]
    if not len(below):
        raise ParameterError(
            f"Coding {many:,} of column {name!r} would leave no other value.", hint="Give a smaller number."
        )
    return below.max()


def weight_units(records: RecordSet, name: str) -> Ints:
    """Weights in millionths; gaps and negative ones are refused."""
    import pyarrow as pa

    column = records[name]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"The weight {name!r} holds {column.type}, not numbers.", hint="Name another column.")
    if column.null_count:
        raise InputError(
            f"{counted(column.null_count, 'record', 'have')} no weight in {name!r}.", hint="Fill it, or leave it out."
        )
    raw = column.to_numpy().astype(np.float64)
    negative = int((raw < 0).sum())
    if negative:
        raise InputError(
            f"{counted(negative, 'record', 'have')} a negative weight in {name!r}.", hint="Correct the weights."
        )
    scaled = np.rint(raw * WEIGHT_UNITS)
    if len(scaled) and (scaled.max() >= EXACT_FLOATS or scaled.sum() >= MOST_WHOLE):
        raise InputError(f"The weights in {name!r} are too large to be added exactly.", hint="Scale them down.")
    units: Ints = scaled.astype(np.int64)
    return units


def _tail(how: Recode, column: TailColumn, end: str, limit: Any, rows: Bools, units: Ints | None) -> dict[str, Any]:
    """What one tail of a column becomes."""
    about = {"column": column.name, "end": end, "limit": column.said(limit)}
    code = getattr(how, f"{end}_code")
    if code is not None:
        return {**about, "value": _fitting_code(column, code, f"{end}_code")}
    many = int(rows.sum())
    if how.coded_as == "limit" or not many:
        return {**about, "value": _published_limit(column, column.said(limit))}
    if many < how.least:
        raise ProtectionError(
            f"The {how.coded_as} of the {end} of column {column.name!r} would be that of {counted(many, 'record')}, "
            f"and least={how.least} are needed.",
            hint="Code more records, or publish the limit (coded_as='limit').",
        )
    unit = _unit(how, column)
    chosen = column.found.numbers[rows].tolist()
    weights = [1] * many if units is None else units[rows].tolist()
    if not sum(weights):
        raise InputError(f"Records in the {end} of column {column.name!r} have no weight.", hint="Leave weight= out.")
    middle = _mean(chosen, weights) if how.coded_as == "mean" else _median(chosen, weights)
    value = nearest_multiple(middle, unit, how.ties) * unit
    return {**about, "value": written(value, column.kind), "unit": int(unit) if unit.denominator == 1 else float(unit)}


def _mean(numbers: Sequence[float], weights: Sequence[int]) -> Fraction:
    if all(isinstance(number, int) for number in numbers):
        total = Fraction(sum(n * w for n, w in zip(numbers, weights, strict=True)))
    else:
        total = sum((exact(n) * w for n, w in zip(numbers, weights, strict=True)), Fraction(0))
    return total / sum(weights)


def _median(numbers: Sequence[float], weights: Sequence[int]) -> Fraction:
    """The number with half of the weight on either side; halfway between two where both have it."""
    half, upto = Fraction(sum(weights), 2), 0
    pairs = sorted(pair for pair in zip(numbers, weights, strict=True) if pair[1])
    for place, (number, weight) in enumerate(pairs):
        upto += weight
        if upto == half:
            return (exact(number) + exact(pairs[place + 1][0])) / 2
        if upto > half:
            return exact(number)
    raise AssertionError("some number has half of the weight below it")


def _unit(how: Recode, column: TailColumn) -> Fraction:
    """What a mean is rounded to: multiples of ``base``, or the decimals of the column."""
    if how.base is not None:
        unit = exact(how.base)
        if column.found.whole and unit.denominator != 1:
            raise ParameterError(
                f"Column {column.name!r} holds whole numbers, and base={how.base:g} is none.",
                hint="Give a whole number.",
            )
        return unit
    decimals = 0 if column.found.whole else detect_decimals(column.found.numbers.astype(np.float64))
    if decimals is None:
        raise ParameterError(
            f"Column {column.name!r} has numbers of more than nine decimals, and no unit to round a {how.coded_as} to.",
            hint="Give base=, such as base=0.01.",
        )
    return Fraction(1, 10**decimals)


def _fitting_code(column: TailColumn, code: Any, name: str) -> Any:
    """A code that stands for a tail, as the column can hold it."""
    import pyarrow as pa

    if pa.types.is_string(column.kind):
        return code if isinstance(code, str) else number_text(code)
    whole = pa.types.is_integer(column.kind)
    if isinstance(code, str) or (whole and code != int(code)):
        raise ParameterError(
            f"Column {column.name!r} holds {'whole ' if whole else ''}numbers, and {name}={code!r} is none.",
            hint="Give a number, or recode with intervals=, which makes text of numbers.",
        )
    return int(code) if whole else float(code)


def _published_limit(column: TailColumn, limit: Any) -> Any:
    import pyarrow as pa

    if column.order:
        return limit
    if pa.types.is_string(column.kind):
        return number_text(limit)
    return int(limit) if pa.types.is_integer(column.kind) else float(limit)


def _as_published(column: TailColumn, records: RecordSet) -> pa.ChunkedArray:
    """The column before any tail is coded; ordered codes are text."""
    if not column.order:
        return column.column
    coded = coded_column(records, column.name)
    return coded.changed(coded.codes)


def _with_value(column: pa.ChunkedArray, rows: Bools, value: Any, about: TailColumn) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.chunked_array([pa.array(rows)]), pa.scalar(value, about.kind), column)


def _notes(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """How many records lie in each tail, so that its size can be judged."""
    words = dict(ENDS)
    said = [
        f"{tail['column']}: {counted(tail['records'], 'record', 'lie')} {words[tail['end']]} "
        f"{number_said(tail['limit'])}, of {facts['rows']:,}."
        for tail in facts["tails"]
    ]
    together = [f"{counted(facts['coded'], 'record', 'are')} coded in all columns."] if "coded" in facts else []
    return (*said, *together)
