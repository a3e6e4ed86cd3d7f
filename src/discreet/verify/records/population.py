"""How many people combinations of a public file stand for, summed anew from its own weights."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Decimal
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from discreet.errors import counted
from discreet.model.claims.population import population_statement
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SETS = 20_000
"""So many sets of columns are counted; no true release has more."""
MILLIONTH = Decimal("0.000001")


def check_population(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any]) -> None:
    """Every combination stands for enough people."""
    before = len(verdict.refused)
    sets = _sets(rule)
    if sets is None:
        verdict.refuse("rules", "the sets of columns of a rule on the population cannot be counted")
        return
    named = {name for columns in sets for name in columns} | {str(rule["weight"])}
    absent = sorted(named - set(public.column_names))
    if absent:
        verdict.refuse("rules", "a rule on the population names columns that are not public", ", ".join(absent))
        return
    people = _people(public, str(rule["weight"]))
    if people is None:
        verdict.refuse("rules", "a public weight is empty, no number, or not above 0", str(rule["weight"]))
        return
    least = Decimal(str(rule["n"]))
    fewest: Decimal | None = None
    for columns in sets:
        sums = _sums([public[name] for name in columns], people)
        few = sum(total < least for total in sums)
        fewest = min([*sums, *([] if fewest is None else [fewest])], default=None)
        if few:
            verdict.refuse(
                "rules",
                f"{counted(few, 'combination')} of the public file stand{'s' if few == 1 else ''} for fewer than "
                f"{rule['n']:,.15g} people",
                ", ".join(columns),
            )
    verdict.prove(f"{population_statement(rule)} (the rarest: {fewest or 0:,.6g})", before)


def _sets(rule: Mapping[str, Any]) -> list[list[str]] | None:
    """The sets of columns to be counted; nothing where they are none, too many, or name a column twice."""
    keys = [str(key) for key in rule["keys"]]
    named = [[str(name) for name in columns] for columns in rule["combinations"]]
    if bool(keys) == bool(named) or (named and "size" in rule):
        return None
    size = min(int(rule.get("size", len(keys))), len(keys))
    if len(named) > MOST_SETS or (keys and comb(len(keys), size) > MOST_SETS):
        return None
    sets = named or [list(columns) for columns in combinations(keys, size)]
    return None if any(not columns or len(set(columns)) < len(columns) for columns in sets) else sets


def _people(public: pa.Table, weight: str) -> pa.Array | None:
    """The weights in millionths, rounded down; nothing where one is empty, no number, or not above 0."""
    import pyarrow as pa

    column = public[weight]
    if str(column.type) not in ("int64", "double") or column.null_count:
        return None
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    millionths = []
    for value in encoded.dictionary.to_pylist():
        if not 0 < value < 10**18:
            return None
        millionths.append(int(Decimal(repr(value)).quantize(MILLIONTH, ROUND_FLOOR) / MILLIONTH))
    if max(millionths, default=0) * public.num_rows >= 2**63:
        return None
    return pa.array(millionths, pa.int64()).take(encoded.indices)


def _sums(columns: list[pa.ChunkedArray], people: pa.Array) -> list[Decimal]:
    """How many people each combination of values stands for."""
    import pyarrow as pa

    names = [str(place) for place in range(len(columns))]
    table = pa.table([*columns, people], names=[*names, "people"])
    totals = table.group_by(names).aggregate([("people", "sum")])["people_sum"].to_pylist()
    return [Decimal(total) * MILLIONTH for total in totals]
