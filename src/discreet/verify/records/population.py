"""How many units of a population each public record fits, and who is known to be in the file, counted anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model.claims.record_rules import rule_words
from discreet.model.records import MissingRange
from discreet.verify.records.words import code_of, is_unknown
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1e-9
Unknown = Mapping[str, Sequence[MissingRange]]
Row = tuple[str | None, ...]
Holding = Callable[[str, str, str], bool]
"""Whether a code of a key, of a unit of the population, is held by what a record shows: key, code, shown."""


def check_map(
    verdict: Verdict, public: pa.Table, rule: Mapping[str, Any], unknown: Unknown, holds: Holding | None = None
) -> None:
    """Every public record fits enough units; ``holds`` says where codes of records hold several of the population."""
    before = len(verdict.refused)
    units = _units(verdict, public, rule)
    if units is None:
        return
    rare = 0
    for count, fits in _fits(public, rule["keys"], unknown, units, holds):
        if sum(units[unit] for unit in fits) < rule["k"]:
            rare += count
    if rare:
        what = f"{counted(rare, 'record', 'fit')} fewer than {rule['k']} units of the population"
        verdict.refuse("rules", what, ", ".join(rule["keys"]))
    _prove(verdict, rule, before)


def check_presence(
    verdict: Verdict, public: pa.Table, rule: Mapping[str, Any], unknown: Unknown, holds: Holding | None = None
) -> None:
    """Nobody is too certain to be in the file, or not to be in it."""
    before = len(verdict.refused)
    units = _units(verdict, public, rule)
    if units is None:
        return
    most, least = dict.fromkeys(units, 0.0), dict.fromkeys(units, 0.0)
    nobody = 0
    for count, fits in _fits(public, rule["keys"], unknown, units, holds):
        total = sum(units[unit] for unit in fits)
        nobody += not total
        for unit in fits:
            most[unit] += count / total
            least[unit] = max(least[unit], count / total)
    high = min(float(rule["upper"]), 1.0)
    wrong = sum(most[unit] > high + NEARLY or least[unit] < rule["lower"] - NEARLY for unit in units)
    if nobody:
        verdict.refuse("rules", f"{counted(nobody, 'combination', 'are')} not in the population")
    if wrong:
        verdict.refuse(
            "rules", f"{counted(wrong, 'combination of the population', 'have')} a chance outside the bounds"
        )
    _prove(verdict, rule, before)


def _prove(verdict: Verdict, rule: Mapping[str, Any], before: int) -> None:
    words = rule_words(rule)
    verdict.prove(words.statement, before)
    verdict.not_considered += words.not_considered


def _units(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any]) -> Counter[Row] | None:
    """The population by the keys of the rule; nothing where it cannot be used, or is not kept."""
    population, keys = rule["population"], [str(name) for name in rule["keys"]]
    if not keys or len(set(keys)) < len(keys) or not set(keys) <= {*public.column_names} & {*population["keys"]}:
        verdict.refuse("rules", "the keys of the population are not columns of the public file")
        return None
    if "units" not in population:
        verdict.asserted.append(f"{rule_words(rule).statement} (The population is too large to be kept.)")
        verdict.not_considered += rule_words(rule).not_considered
        return None
    codes, columns, units = population["codes"], population["combinations"], population["units"]
    good = len(codes) == len(columns) == len(population["keys"]) and len(units) == population["distinct"]
    good = good and all(len(column) == len(units) for column in columns)
    good = good and all(max(column, default=-1) < len(one) for one, column in zip(codes, columns, strict=True))
    if not good or sum(units) != population["total"]:
        verdict.refuse("rules", "the population contradicts itself")
        return None
    at = [population["keys"].index(name) for name in keys]
    found: Counter[Row] = Counter()
    for row, number in zip(zip(*(columns[i] for i in at), strict=True), units, strict=True):
        found[tuple(None if place < 0 else codes[i][place] for i, place in zip(at, row, strict=True))] += number
    return found


def _rows(public: pa.Table, keys: Sequence[str], unknown: Unknown) -> Counter[Row]:
    """Distinct rows of the public file as codes; ``None`` is an empty field, or a code for "unknown"."""
    import pyarrow as pa

    named = {str(place): public[name] for place, name in enumerate(keys)}
    counts = pa.table(named).group_by(list(named)).aggregate([([], "count_all")])
    columns = [
        [None if value is None or is_unknown(value, unknown.get(name, ())) else code_of(value) for value in column]
        for name, column in zip(keys, (counts[place].to_pylist() for place in named), strict=True)
    ]
    found: Counter[Row] = Counter()
    for row, number in zip(zip(*columns, strict=True), counts["count_all"].to_pylist(), strict=True):
        found[row] += number
    return found


def _fitting(rows: Counter[Row], units: Mapping[Row, int]) -> Iterator[tuple[int, Sequence[Row]]]:
    """Of every row how often it occurs, and the combinations of the population that it fits."""
    indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}
    for row, count in rows.items():
        shown = tuple(place for place, code in enumerate(row) if code is not None)
        if shown not in indexes:
            index: dict[Row, list[Row]] = {}
            for unit in units:
                index.setdefault(tuple(unit[place] for place in shown), []).append(unit)
            indexes[shown] = index
        yield count, indexes[shown].get(tuple(row[place] for place in shown), ())


def _fits(
    public: pa.Table, keys: Sequence[str], unknown: Unknown, units: Mapping[Row, int], holds: Holding | None
) -> Iterator[tuple[int, Sequence[Row]]]:
    if holds is None:
        return _fitting(_rows(public, keys, unknown), units)
    # A code above others is meant as it is written, also where it stands for "unknown" elsewhere.
    return _held(_rows(public, keys, {}), units, keys, holds)


def _held(
    rows: Counter[Row], units: Mapping[Row, int], keys: Sequence[str], holds: Holding
) -> Iterator[tuple[int, Sequence[Row]]]:
    """The same where records show intervals or codes above those of the population.

    For every code that is shown a number has a bit for each combination of the population that it holds; a record fits
    those whose bits all of its codes have.
    """
    listing = list(units)
    having: list[dict[str, int]] = [{} for _ in keys]
    for number, unit in enumerate(listing):
        for place, code in enumerate(unit):
            if code is not None:
                having[place][code] = having[place].get(code, 0) | 1 << number
    bits: dict[tuple[int, str], int] = {}
    for row, count in rows.items():
        found = (1 << len(listing)) - 1
        for place, shown in enumerate(row):
            if shown is None:
                continue
            if (place, shown) not in bits:
                codes = having[place]
                bits[place, shown] = sum(mine for code, mine in codes.items() if holds(keys[place], code, shown))
            found &= bits[place, shown]
        packed = np.frombuffer(found.to_bytes(len(listing) // 8 + 1, "little"), np.uint8)
        places = np.flatnonzero(np.unpackbits(packed, bitorder="little"))
        yield count, [listing[number] for number in places.tolist()]
