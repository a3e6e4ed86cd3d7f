"""Top and bottom codes: limits, numbers of records and what these became, all found anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.verify.records.context import CheckedStep
from discreet.verify.records.recoded_numbers import as_text, multiple, plain_text, to_number
from discreet.verify.records.words import is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

MILLION = 1_000_000
FEWEST = 3
"""No mean or median of fewer records may be published, whatever the method says."""
ENDS = ("top", "bottom")


@dataclass(frozen=True, eq=False)
class TailedColumn:
    """A column as places among its sorted values: -1 where it is empty or unknown."""

    name: str
    old: pa.ChunkedArray
    values: np.ndarray
    places: np.ndarray
    weight: np.ndarray
    order: Sequence[str]

    def beyond(self, limit: Any, end: str) -> np.ndarray:
        """Rows beyond a limit; those that are empty or unknown never are."""
        far: np.ndarray = np.append(self.further(limit, end), False)[self.places]
        return far

    def further(self, limit: Any, end: str) -> np.ndarray:
        """Which of the sorted values lie beyond a limit."""
        limit = self.like_values(limit)
        return np.asarray(self.values > limit if end == "top" else self.values < limit, np.bool_)

    def like_values(self, limit: Any) -> Any:
        """A limit as a number that compares with the values exactly."""
        if self.values.dtype.kind == "O":
            return to_number(limit)
        return int(limit) if self.values.dtype.kind == "i" and limit == int(limit) else limit

    def weighing(self, rows: np.ndarray) -> int:
        """The weight of some rows."""
        return int(self.weight[rows].sum())


def check_tails(step: CheckedStep, columns: Sequence[str]) -> None:
    """Limits are those that are stated or found, the tails are coded as stated, and nothing else changed."""
    method, facts = step.method, step.evidence.facts
    asked = [end for end in ENDS if any(method.get(f"{end}{how}") is not None for how in ("", "_quantile", "_count"))]
    tails = list(facts["tails"])
    if [(tail["end"], tail["column"]) for tail in tails] != [(end, name) for end in asked for name in columns]:
        step.refuse("the tails that are stated are not those of the method")
        return
    if facts["rows"] != len(step.original):
        step.refuse("the number of records is not the one that is counted")
    weight = _weights(step)
    found = {name: _tailed(step, name, weight) for name in columns}
    if any(column is None for column in found.values()):
        return
    coded = {name: np.zeros(len(step.original), np.bool_) for name in columns}
    values: dict[str, list[tuple[np.ndarray, Any]]] = {name: [] for name in columns}
    for end in asked:
        mine = {tail["column"]: tail for tail in tails if tail["end"] == end}
        beyond = {name: _beyond(step, found[name], mine[name], end) for name in columns}
        everybody = np.logical_or.reduce(list(beyond.values()))
        if method.get("together") and facts["coded"] != int(everybody.sum()):
            step.refuse("the number of coded records is not the one that is counted")
        for name in columns:
            column = found[name]
            assert column is not None
            rows = (everybody & (column.places >= 0)) if method.get("together") else beyond[name]
            _check_value(step, column, mine[name], rows, end)
            values[name].append((rows, mine[name]["value"]))
            if (coded[name] & rows).any():
                step.refuse("a record is coded at both ends", name)
            coded[name] |= rows
    for name in columns:
        _check_rows(step, found[name], values[name], coded[name])


def _beyond(step: CheckedStep, column: TailedColumn | None, tail: Mapping[str, Any], end: str) -> np.ndarray:
    """Rows beyond a stated limit, which must be the right one, and as many as is stated."""
    assert column is not None
    limit = column.order.index(tail["limit"]) if column.order else tail["limit"]
    rows = column.beyond(limit, end)
    if not _is_limit(step.method, column, limit, end, rows):
        step.refuse(f"the limit of the {end} is not the one that the method gives", column.name)
    if tail["records"] != int(rows.sum()):
        step.refuse(f"the number of records in the {end} is not the one that is counted", column.name)
    return rows


def _is_limit(method: Mapping[str, Any], column: TailedColumn, limit: Any, end: str, rows: np.ndarray) -> bool:
    """Whether a limit is the stated one, the quantile, or what leaves out the stated number."""
    given = method.get(end)
    given = given.get(column.name) if isinstance(given, Mapping) else given
    if given is not None:
        return bool((column.order.index(given) if column.order else given) == limit)
    same = np.flatnonzero(column.values == column.like_values(limit))
    if not len(same):
        return False
    known = column.places >= 0
    here = column.places == same[0]
    outside = column.weighing(rows)
    if method.get(f"{end}_quantile") is not None:
        share = Fraction(to_number(method[f"{end}_quantile"]))
        most = (1 - share if end == "top" else share) * column.weighing(known)
        # At most this weight lies beyond, and with the limit itself it would be more.
        return outside <= most < outside + column.weighing(here)
    many = int(method[f"{end}_count"]) * MILLION
    nearest = np.flatnonzero(column.further(limit, end))
    if not len(nearest) or outside < many:
        return False
    next_one = column.places == (nearest[0] if end == "top" else nearest[-1])
    return outside - column.weighing(next_one) < many


def _check_value(step: CheckedStep, column: TailedColumn, tail: Mapping[str, Any], rows: np.ndarray, end: str) -> None:
    """What the tail became."""
    method, value = step.method, tail["value"]
    code, kind = method.get(f"{end}_code"), str(column.old.type)
    if method.get("coded_as", "limit") == "limit" or not rows.any():
        wanted = tail["limit"] if code is None else code
        if kind == "string" and not isinstance(wanted, str):
            wanted = plain_text(to_number(wanted))
        if value != wanted:
            step.refuse(f"the {end} became something else than is stated", column.name)
        return
    if int(rows.sum()) < max(int(method.get("least", 5)), FEWEST):
        step.refuse(f"the {method['coded_as']} of the {end} is that of too few records", column.name)
    unit = to_number(tail["unit"])
    base = method.get("base")
    decimals = [Decimal(1).scaleb(-places) for places in range(10)]
    if unit != to_number(base) if base is not None else unit not in decimals:
        step.refuse(f"the {method['coded_as']} of the {end} is rounded to another unit than is stated", column.name)
        return
    middle = (_mean if method["coded_as"] == "mean" else _median)(column, rows)
    made = multiple(middle, unit, method.get("ties", "even"))
    # A column of floating-point numbers holds the one that is nearest to the mean.
    if (value != float(made)) if kind == "double" else (to_number(value) != made):
        step.refuse(f"the {method['coded_as']} of the {end} is another one", column.name)


def _mean(column: TailedColumn, rows: np.ndarray) -> Fraction:
    """The mean by distinct values: each times the weight that it has."""
    total, weight = Fraction(0), 0
    places = column.places[rows]
    order = np.argsort(places, kind="stable")
    sums = np.add.reduceat(column.weight[rows][order], np.flatnonzero(np.diff(places[order], prepend=-1)))
    for place, many in zip(np.unique(places).tolist(), sums.tolist(), strict=True):
        total += Fraction(to_number(column.values[place : place + 1].tolist()[0])) * many
        weight += many
    return total / weight


def _median(column: TailedColumn, rows: np.ndarray) -> Fraction:
    """Halfway between the lowest and the highest value with at most half of the weight on either side."""
    places, weight = column.places[rows], column.weight[rows]
    total = int(weight.sum())
    able = []
    for place in np.unique(places[weight > 0]).tolist():
        below, above = int(weight[places < place].sum()), int(weight[places > place].sum())
        if 2 * below <= total and 2 * above <= total:
            able.append(Fraction(to_number(column.values[place : place + 1].tolist()[0])))
    return (able[0] + able[-1]) / 2


def _check_rows(step: CheckedStep, column: Any, values: Sequence[tuple[np.ndarray, Any]], coded: np.ndarray) -> None:
    """Coded rows have the stated value, and all others what they had."""
    import pyarrow as pa
    import pyarrow.compute as pc

    new = step.changed[column.name]
    kind = pa.string() if column.order else column.old.type
    message = "values are not what the top or bottom code makes of them"
    if new.type != kind:
        step.refuse(message, column.name)
        return
    for rows, value in values:
        if (
            rows.any()
            and not pc.all(pc.equal(new.filter(pa.array(rows)), pa.scalar(value, kind)), skip_nulls=False).as_py()
        ):
            step.refuse(message, column.name)
    old = column.old
    if column.order and old.type != kind:
        old = pa.chunked_array([pa.array([None if v is None else as_text(v) for v in old.to_pylist()], kind)])
    left = pa.array(~coded)
    if not new.filter(left).equals(old.filter(left)):
        step.refuse("values that no limit is about changed", column.name)


def _tailed(step: CheckedStep, name: str, weight: np.ndarray | None) -> TailedColumn | None:
    """A column sorted by its values, or by the stated order of its codes."""
    import pyarrow as pa

    old, missing = step.before[name], step.original.about(name).missing
    order = [str(code) for code in step.method.get("order", ())]
    weights = np.full(len(old), MILLION, np.int64) if weight is None else weight
    if str(old.type) in ("int64", "double") and not missing and not order:
        empty = np.asarray(old.is_null().to_numpy(), np.bool_)
        values, found = np.unique(old.drop_null().to_numpy(), return_inverse=True)
        places = np.full(len(old), -1, np.int64)
        places[~empty] = found
        return TailedColumn(name, old, values, places, weights, ())
    encoded = old.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    distinct = encoded.dictionary.to_pylist()
    known = [v for v in distinct if v is not None and not is_unknown(v, missing)]
    if order and not {as_text(value) for value in known} <= set(order):
        step.refuse("a code stands in no order", name)
        return None
    number: dict[Any, Any] = {v: order.index(as_text(v)) if order else to_number(v) for v in known}
    in_order = sorted(set(number.values()))
    place = {value: at for at, value in enumerate(in_order)}
    by_code = [-1 if v is None or v not in number else place[number[v]] for v in distinct]
    places = np.array(by_code, np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return TailedColumn(name, old, np.array(in_order, np.int64 if order else object), places, weights, order)


def _weights(step: CheckedStep) -> np.ndarray | None:
    """Weights in millionths, where the method names a column of them."""
    name = step.method.get("weight")
    if name is None:
        return None
    raw = np.asarray(step.before[name].to_numpy(), np.float64)
    if not (raw >= 0).all():
        raise ValueError("weights that are none")
    return np.rint(raw * MILLION).astype(np.int64)
