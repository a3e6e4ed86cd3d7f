"""Cell keys: every change is recomputed from the stored cell keys and the stated noise tables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.noise import cell_key_left_out, cell_key_statement, noise_claim
from discreet.model.evidence import Evidence
from discreet.model.table import Table
from discreet.verify.altered import Altered, Numbers
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict

KEYS = 10**15
"""Steps of fractional cell keys."""
NEAR = 1e-11
"""Magnitudes are recomputed in floating point, which agrees to so many parts of the value."""


class Lookup(NamedTuple):
    """A noise table as it is stated in the evidence."""

    values: Floats
    start: list[int]
    upper: Ints
    change: Ints
    modulus: int
    step: int
    cycle: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Lookup:
        """From plain data; anything that is no noise table is an error."""
        start = [int(x) for x in record["start"]]
        upper, change = (np.array(record[name], np.int64) for name in ("upper", "change"))
        values = np.array(record["values"], np.float64)
        numbers = [int(record[name]) for name in ("modulus", "step", "cycle")]
        first, last = np.array(start[:-1], np.int64), np.array(start[1:], np.int64) - 1
        rises = np.diff(upper, prepend=0) >= 0
        rises[first] = upper[first] >= 0
        fits = len(start) == len(values) + 1 and start[0] == 0 and len(upper) == len(change) == start[-1]
        if (
            not fits
            or np.any(np.diff(values) <= 0)
            or not rises.all()
            or np.any(last < first)
            or np.any(upper[last] != numbers[0])
        ):
            raise ValueError("not a noise table")
        return cls(values, start, upper, change, *numbers)

    def rows(self, value: NDArray[Any]) -> Ints:
        """The row of each value: the last that is not above it, or one of the last in turn."""
        found = np.searchsorted(self.values, value, side="right").astype(np.int64) - 1
        if self.cycle > 1:
            beyond = np.asarray(value) > self.values[-1]
            extra = (np.asarray(value)[beyond] - int(self.values[-1]) - 1).astype(np.int64) % self.cycle
            found[beyond] = len(self.values) - self.cycle + extra
        return found

    def changes(self, row: Ints, key: Ints) -> Ints:
        """What the table has for rows and keys, row by row."""
        result = np.zeros(len(row), np.int64)
        order = np.argsort(row, kind="stable")
        ends = np.flatnonzero(np.diff(row[order])) + 1
        for part in np.split(order, ends) if len(order) else []:
            a, b = self.start[row[part[0]]], self.start[row[part[0]] + 1]
            result[part] = self.change[a:b][np.searchsorted(self.upper[a:b], key[part], side="right")]
        return result

    def between(self, value: Floats, key: Ints) -> Floats:
        """Changes between rows, in proportion to the distance from both."""
        low = np.minimum(np.maximum(np.searchsorted(self.values, value, side="right") - 1, 0), len(self.values) - 1)
        high = np.minimum(low + 1, len(self.values) - 1)
        one, two = self.changes(low, key) / self.step, self.changes(high, key) / self.step
        gap = self.values[high] - self.values[low]
        part = np.where(gap > 0, (value - self.values[low]) / np.where(gap > 0, gap, 1.0), 0.0)
        return np.asarray(one * (1 - part) + two * part)

    def moments(self) -> tuple[Fraction, Fraction]:
        """Largest distance of a mean from zero and largest variance."""
        worst, most = Fraction(0), Fraction(0)
        for a, b in zip(self.start[:-1], self.start[1:], strict=True):
            before, mean, square = 0, Fraction(0), Fraction(0)
            for limit, change in zip(self.upper[a:b].tolist(), self.change[a:b].tolist(), strict=True):
                share = Fraction(limit - before, self.modulus)
                mean, square, before = mean + share * change, square + share * change * change, limit
            worst = max(worst, abs(mean) / self.step)
            most = max(most, (square - mean * mean) / self.step**2)
        return worst, most

    def never(self) -> int:
        """How many small results from 1 on never occur."""
        results = {
            int(value) + int(change)
            for value, a, b in zip(self.values, self.start[:-1], self.start[1:], strict=True)
            for change in self.change[a:b].tolist()
        }
        positive = [result for result in results if result > 0]
        return min(positive) - 1 if self.step == 1 and positive else 0


def check_cell_key(a: Altered) -> None:
    """Changes are those of the noise table for the stored keys; empty cells stay empty; additive where claimed."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    method, facts = evidence.method, evidence.facts
    noise = Lookup.of(facts["noise"])
    columns = evidence.parts.get("cells", {})
    rows = len(published)
    if any(len(column) != rows for column in columns.values()) or not {"contributors", "key_sum"} <= set(columns):
        verdict.refuse("cell_key", "there is not one cell key for every cell")
        return
    additive = method.get("additive")
    noisy, least, most = _recomputed(verdict, ground, evidence, noise, columns)
    scale = 10 ** (evidence.decimals - ground.finest)
    moved = np.abs(published - noisy.astype(true.dtype) * scale)
    mean, variance = noise.moments()
    unweighted = [table.weighted is None for table in ground.tables]
    statement = cell_key_statement(
        forbidden=noise.never() if all(unweighted) else 0,
        largest=f"{max(int(noise.change.max()), -int(noise.change.min())) / noise.step:g}",
        mean=f"{float(mean):.2g}",
        variance=f"{float(variance):.6g}",
        counts=any(table.spec.value is None for table in ground.tables),
        magnitudes=any(table.spec.value is not None for table in ground.tables),
        additive=additive,
        moved=f"by at most {facts.get('moved_most')} and {facts.get('moved_sum')} in all",
    )
    left_out = cell_key_left_out(int(method.get("version", 1)), float(variance))
    allowed = noise_claim("cell_key", statement, additive=additive is not None, left_out=left_out, **a.marks)
    before = a.claims(allowed)
    a.refuse_where(a.empty & (published != 0), "an empty cell got a value")
    if additive is None:
        wrong = (published < least.astype(true.dtype)) | (published > most.astype(true.dtype))
        a.refuse_where(wrong, "a value is not what its cell key stands for")
    else:
        a.check_additive()
        once = np.unique(ground.cells, return_index=True)[1]
        _check_moved(verdict, evidence, moved[once], ((most - least) * scale)[once])
        a.refuse_where((true >= 0) & (published < 0), "a value became negative")
    verdict.take_for_granted("the cell keys are the sums of the keys of the records in each cell", "method")
    verdict.prove(f"{allowed.statement} ({counted(rows, 'cell')})", before)


def _check_moved(verdict: Verdict, evidence: Evidence, moved: Numbers, margin: Ints) -> None:
    """How far values moved for additivity is what is stated, up to the margin of recomputed magnitudes."""
    for name, mine, room in (
        ("moved_most", int(moved.max(initial=0)), int(margin.max(initial=0))),
        ("moved_sum", int(moved.sum()), int(margin.sum())),
    ):
        if abs(Fraction(str(evidence.facts[name])) * 10**evidence.decimals - mine) > room:
            verdict.refuse("cell_key", "values moved further for additivity than stated, or less")


def _recomputed(
    verdict: Verdict, ground: Ground, evidence: Evidence, noise: Lookup, columns: Mapping[str, Ints]
) -> tuple[Ints, Ints, Ints]:
    """Noisy values in units of the finest table, and between which limits they may be published."""
    whole, low, high = [], [], []
    for number, table in enumerate(ground.tables):
        first = int(ground.first[number])
        rows = slice(first, first + len(table))
        mine = {name: column[rows] for name, column in columns.items()}
        scale = 10 ** (ground.finest - table.decimals)
        if table.spec.value is None:
            value = least = most = _counts(verdict, evidence.method, table, mine, noise)
        else:
            value, least, most = _magnitudes(verdict, evidence.method, table, mine)
        whole.append(value * scale)
        low.append(least * scale)
        high.append(most * scale)
    return np.concatenate(whole), np.concatenate(low), np.concatenate(high)


def _counts(verdict: Verdict, method: Mapping[str, Any], table: Table, mine: Mapping[str, Ints], noise: Lookup) -> Ints:
    count, key = mine["contributors"], mine["key_sum"]
    original = table.value if table.weighted is None else table.records
    if original is None or np.any(count != original):
        verdict.refuse("cell_key", "the number of records of a cell is not that of the table", table.name)
    if table.key_sum is not None and method.get("identifier") is None and not _same_keys(table, key, noise.modulus):
        verdict.refuse("cell_key", "a cell key is not the sum of the record keys", table.name)
    if np.any(key < 0) or np.any(key >= noise.modulus) or np.any(count < 0) or noise.step != 1:
        verdict.refuse("cell_key", "a cell key or count lies outside the noise table", table.name)
        return np.zeros(len(table), np.int64)
    result = count + noise.changes(noise.rows(count), key)
    result[result < int(method.get("threshold") or 0)] = 0
    if table.weighted is None:
        return np.asarray(result)
    # The mean weight times the noisy number of records, halves up.
    records = [max(n, 1) for n in count.tolist()]
    triples = zip(table.value.tolist(), result.tolist(), records, strict=True)
    return np.array([(2 * v * r + n) // (2 * n) for v, r, n in triples], np.int64)


def _same_keys(table: Table, key: Ints, modulus: int) -> bool:
    assert table.key_sum is not None
    if table.key_modulus == 0:
        return bool(np.array_equal(table.key_sum % modulus, key))
    exact = [k * modulus // table.key_modulus for k in table.key_sum.tolist()]
    return bool(np.array_equal(np.array(exact, np.int64), key))


# ---- magnitudes ---------------------------------------------------------------------------------------------


def _magnitudes(
    verdict: Verdict, method: Mapping[str, Any], table: Table, mine: Mapping[str, Ints]
) -> tuple[Ints, Ints, Ints]:
    """Noisy magnitudes in units of the table, and between which units floating point may round them."""
    stated = method.get("magnitudes")
    nothing = np.zeros(len(table), np.int64)
    if not isinstance(stated, Mapping) or "total" not in mine:
        verdict.refuse("cell_key", "it is not stated how magnitudes are changed", table.name)
        return nothing, nothing, nothing
    if table.from_records and np.any(mine["total"] != table.value):
        verdict.refuse("cell_key", "the contributions of a cell are not those of its value", table.name)
    key = mine["key_sum"]
    if np.any(key < 0) or np.any(key >= KEYS):
        verdict.refuse("cell_key", "a cell key lies outside 0 .. 1", table.name)
        return nothing, nothing, nothing
    unit = 10.0**-table.decimals
    change = _noise_of(stated, np.asarray(table.value * unit, np.float64), mine, unit, table.unsafe)
    units, near = change / unit, np.abs(table.value) * NEAR
    moves = (np.rint(units), np.ceil(units - 0.5 - near), np.floor(units + 0.5 + near))
    value, least, most = (np.where(table.empty, 0, table.value + move.astype(np.int64)) for move in moves)
    return value, least, most


def _noise_of(
    stated: Mapping[str, Any], value: Floats, mine: Mapping[str, Ints], unit: float, unsafe: NDArray[np.bool_]
) -> Floats:
    """The noise of magnitudes, contribution by contribution."""
    parts = int(stated["top"]) if stated["magnifier"] == "top" else 1
    weights = [1.0, *(float(e) for e in stated["epsilon"] or [1.0] * (parts - 1))]
    small_share, argus = float(stated["small"]), stated["compatible"] == "argus"
    even = Lookup.of(stated["noise"])
    odd = even if stated["odd"] is None else Lookup.of(stated["odd"])
    small = None if stated["small_noise"] is None else Lookup.of(stated["small_noise"])
    point = 0.0
    if stated["separation"] and small is not None:
        a, b = small.start[-2], small.start[-1]
        share = np.diff(small.upper[a:b], prepend=0) / small.modulus
        second = float((share * (small.change[a:b] / small.step) ** 2).sum())
        point = np.sqrt(second) / (small_share * np.sqrt(sum(w * w for w in weights)))
    key = mine["key_sum"] if stated["same_key"] and not argus else _turned(mine["key_sum"])
    odd_number = mine["contributors"] % 2 == 1
    now = value.copy()
    for j in range(parts):
        x = _magnifier(stated["magnifier"], mine, j) * unit
        size = np.abs(x)
        there = (now != 0) & (x != 0)
        weighed = argus | (stated["flex_point"] is None) | (size >= (stated["flex_point"] or 0.0))
        step = size * _share(stated, size) * np.where(weighed, weights[j], 1.0)
        fixed = size < point
        step = np.where(fixed, 1.0, step)
        short = there & (np.abs(now) < step)
        step = np.where(short, np.abs(now), step)
        size = np.where(short, np.abs(now) / (small_share * weights[j]), size)
        again = short & (size < point)
        step, fixed = np.where(again | (fixed & short), 1.0, step), fixed | again
        if j:
            there &= ~fixed
        where = np.where(step > 0, np.abs(now) / np.where(step > 0, step, 1.0), 0.0)
        drawn = np.where(odd_number, odd.between(where, key), even.between(where, key))
        if small is not None:
            drawn = np.where(fixed, small.between(where, key), drawn)
        more = float(stated["extra"]) if j == 0 or not argus else 0.0
        size_of_noise = np.abs(drawn) + np.where(unsafe, more, 0.0)
        way = np.where(drawn < 0, -1.0, np.where(drawn > 0, 1.0, 0.0 if argus else 1.0))
        noise = np.where(there, step * way * size_of_noise, 0.0)
        now = now + np.sign(now) * np.maximum(noise, -np.abs(now))
        key = _turned(key)
    return np.asarray(now - value)


def _turned(key: Ints) -> Ints:
    """Keys with their first decimal moved to the end."""
    first, rest = np.divmod(key, KEYS // 10)
    return np.asarray(rest * 10 + first)


def _magnifier(kind: str, mine: Mapping[str, Ints], j: int) -> Floats:
    if kind == "top":
        return mine[f"top{j + 1}"].astype(np.float64)
    if kind == "mean":
        return np.asarray(mine["total"] / np.maximum(mine["contributors"], 1))
    if kind == "range":
        return (mine["most"] - mine["least"]).astype(np.float64)
    return mine["total"].astype(np.float64)


def _share(stated: Mapping[str, Any], size: Floats) -> Floats:
    """The share of noise: constant, or falling from the flex point on."""
    low, point = stated["large"], stated["flex_point"]
    high = float(stated["small"])
    if low is None:
        return np.full(len(size), high)
    falling = low * (1 + (high * size - low * point) / (low * point) * (2 * point / (size + point)) ** stated["q"])
    return np.where(size < point, high, falling)
