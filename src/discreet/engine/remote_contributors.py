"""Distinct contributors and largest contributions of every cell, found by the engine that holds the records.

Contributors whose records all lie in one finest cell are put on that cell's list; the lists are merged upwards here, as
those of other engines are. All others are summed in every cell above, in the engine. Lists of cells come back, and no
sum of a single contributor that is not on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.cells import row_finder, strides_of
from discreet.engine.contributions import ContributorLists, KnownRoles, merged_up, nothing_known
from discreet.engine.plan import WantedLists
from discreet.engine.remote_source import RemoteTable
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import HOLDERS, Contributions, Holders

ZERO_TO_F = "0123456789abcdef"
DIGITS = 18
PLAIN_NUMBER = f"^(0|[1-9][0-9]{{0,{DIGITS - 1}}})$"


class RecordAmounts(NamedTuple):
    """One row for each record, as ibis has it: ``cell``, positions ``k0``, ``k1``, ..., and amounts in units.

    ``amount`` is what the rules look at, ``weighted`` the same with its weight, ``value`` what the record adds to the
    cell. ``who`` names the contributor. ``refuses``, ``asks1`` and ``asks2`` are 1 or 0.
    """

    records: Any
    hierarchies: tuple[Hierarchy, ...]
    known: KnownRoles
    holding: bool
    values: bool
    """Whether ``value`` is there."""
    absolute: bool
    in_order: bool
    """Whether the largest amounts are the largest values too, so that one order serves both."""

    @property
    def sums(self) -> list[str]:
        """Columns that are added up for a contributor."""
        return ["amount", *(["weighted"] * self.known.weighted), *(["value"] * self.values)]

    @property
    def marks(self) -> list[str]:
        """Columns of which one record is enough for its contributor."""
        return [*(["refuses"] * self.known.waived), *(["asks1", "asks2"] * self.known.requested)]

    @property
    def names(self) -> list[str]:
        """Who contributes, where it must be known."""
        return ["who"] if self.holding or self.known.named else []


def identity_of(who: Any, is_text: bool) -> Any:
    """The number that stands for a contributor in all tables, see :mod:`discreet.engine.identities`."""
    import ibis

    if is_text:
        plain = who.re_search(PLAIN_NUMBER)
        return ibis.ifelse(plain, ibis.ifelse(plain, who, "0").cast("int64"), _hashed(who))
    plain = (who >= 0) & (who < 10**DIGITS)
    return ibis.ifelse(plain, who, _hashed(who.cast("string")))


@cache
def _md5() -> Any:
    """The function that duckdb, PostgreSQL, Spark, Snowflake and ClickHouse call so; ibis has none for all of them."""
    import ibis

    def md5(text: str) -> str: ...  # type: ignore[empty-body]

    md5.__annotations__ = {"text": str, "return": str}
    return ibis.udf.scalar.builtin(md5)


def _hashed(text: Any) -> Any:
    """62 bits of the digest of a text: its hexadecimal digits are read one by one, which every engine can."""
    import ibis

    digest = _md5()(text)

    def digit(place: int) -> Any:
        # PostgreSQL finds places as 32-bit numbers, which ibis takes for 64-bit ones: the cast must be seen.
        return ibis.literal(ZERO_TO_F).find(digest.substr(place, 1)).cast("int32").cast("int64")

    number = digit(0) % 4
    for place in range(1, 16):
        number = number * 16 + digit(place)
    return number


def contributions_in(
    remote: RemoteTable, amounts: RecordAmounts, is_text: bool, wanted: WantedLists
) -> tuple[Contributions, Holders | None]:
    """Contributors of every cell."""
    shape = [len(h) for h in amounts.hierarchies]
    merge = not wanted.above.signed
    lists = nothing_known(len(wanted.leaves), len(wanted.cells), wanted.kept, amounts.known)
    if amounts.holding:
        each = remote.kept("contributors", _by_contributor(amounts))
        alone = each.filter(each.first == each.last).mutate(cell=each.first) if merge else None
        several = each.filter(each.first != each.last) if merge else each
        above = _in_cells_above(remote, amounts, several)
    else:
        alone = amounts.records if merge else None
        above = None if merge else _exploded(remote, amounts, amounts.records)
    if alone is not None:
        _enter(remote, amounts, alone, is_text, wanted.kept, row_finder(wanted.leaves, shape), lists, finest=True)
    if above is not None:
        _enter(remote, amounts, above, is_text, wanted.kept, row_finder(wanted.cells, shape), lists, finest=False)
    return merged_up(lists, wanted.above, wanted.top, wanted.kept, amounts.known)


def _by_contributor(amounts: RecordAmounts) -> Any:
    records = amounts.records
    return records.group_by("who").aggregate(
        first=records.cell.min(),
        last=records.cell.max(),
        **{name: records[name].sum().cast("int64") for name in amounts.sums},
        **{name: records[name].max() for name in amounts.marks},
    )


def _in_cells_above(remote: RemoteTable, amounts: RecordAmounts, several: Any) -> Any:
    """Sums of contributors with records in several finest cells, in every cell that has some."""
    chosen = several.select("who", **{f"all_{name}": several[name] for name in amounts.marks})
    found = amounts.records.drop(*amounts.marks).join(chosen, "who")
    found = found.mutate(**{name: found[f"all_{name}"] for name in amounts.marks})
    found = _exploded(remote, amounts, found)
    return found.group_by(["cell", "who"]).aggregate(
        **{name: found[name].sum().cast("int64") for name in amounts.sums},
        **{name: found[name].max() for name in amounts.marks},
    )


def _exploded(remote: RemoteTable, amounts: RecordAmounts, records: Any) -> Any:
    """Records once for every cell that they lie in, with signs."""
    import ibis

    strides = strides_of([len(h) for h in amounts.hierarchies])
    cell, sign, signed = None, None, False
    found = records
    for k, (hierarchy, stride) in enumerate(zip(amounts.hierarchies, strides, strict=True)):
        start, above, signs = hierarchy.ancestors
        columns = {
            f"base{k}": np.repeat(np.arange(len(hierarchy)), np.diff(start)),
            f"up{k}": above.astype(np.int64) * stride,
            f"sign{k}": signs.astype(np.int64),
        }
        listing = _listing(remote, columns)
        found = found.join(listing, found[f"k{k}"] == listing[f"base{k}"])
        signed = signed or bool(np.any(signs < 0))
    for k in range(len(amounts.hierarchies)):
        cell = found[f"up{k}"] if cell is None else cell + found[f"up{k}"]
        sign = found[f"sign{k}"] if sign is None else sign * found[f"sign{k}"]
    assert cell is not None
    times = sign if signed else ibis.literal(1, type="int64")
    summed = {name: found[name] * times if signed else found[name] for name in amounts.sums}
    return found.select(*amounts.names, *amounts.marks, cell=cell, **summed)


def _listing(remote: RemoteTable, columns: dict[str, Ints]) -> Any:
    import pyarrow as pa

    return remote.listing(pa.table({name: np.asarray(column, np.int64) for name, column in columns.items()}))


def _enter(
    remote: RemoteTable,
    amounts: RecordAmounts,
    entries: Any,
    is_text: bool,
    kept: int,
    rows: Any,
    lists: ContributorLists,
    *,
    finest: bool,
) -> None:
    """Ask for the lists of cells that some contributors are in, and write them down."""
    found = remote.fetch("contributors", _lists(amounts, entries, is_text, kept))
    if not found.num_rows:
        return
    columns = {name: np.asarray(found[name].fill_null(0).to_numpy(), np.int64) for name in found.column_names}
    at = rows(columns["cell"])
    known, held = (lists.finest, lists.held_finest) if finest else (lists.cells, lists.held)
    _write(known, at, columns, kept, amounts.known.weighted)
    for i in range(HOLDERS if amounts.known.named else 0):
        there = found[f"value{i}"].is_valid().to_numpy(zero_copy_only=False)
        held[at[there], i] = columns[f"who{i}"][there]
        held[at[there], HOLDERS + i] = columns[f"value{i}"][there]


def _write(known: Ints, at: Ints, columns: dict[str, Ints], kept: int, weighted: bool) -> None:
    from discreet.engine.kernels import COUNT, NEGATIVE, NONZERO, OWN, REQUESTED, TOP, TOTAL, UNWAIVED

    places = {
        "contributors": COUNT,
        "nonzero": NONZERO,
        "total": TOTAL,
        "own": OWN,
        "negative": NEGATIVE,
        "refuses": UNWAIVED,
        "asks1": REQUESTED,
        "asks2": REQUESTED + 1,
    }
    for name, place in places.items():
        if name in columns:
            known[at, place] = columns[name]
    for i in range(kept):
        known[at, TOP + i] = columns[f"top{i}"]
        if weighted:
            known[at, TOP + kept + i] = columns[f"weighted{i}"]


def _lists(amounts: RecordAmounts, entries: Any, is_text: bool, kept: int) -> Any:
    """Everything about the contributors of each cell, in one pass."""
    import ibis

    known = amounts.known
    adds = entries.value if amounts.values else entries.weighted if known.weighted else entries.amount
    columns = {"cell": entries.cell, "signed": entries.amount, "adds": adds}
    columns["amount"] = entries.amount.abs() if amounts.absolute else entries.amount
    if known.weighted:
        columns["weighted"] = entries.weighted.abs() if amounts.absolute else entries.weighted
    columns |= {name: entries[name] for name in amounts.marks}
    if known.named:
        columns["who"] = identity_of(entries.who, is_text)
    rows = entries.select(**columns)
    places = {}
    if known.named:
        places["held"] = _place([rows.adds.abs().desc(), rows.who.asc()])
    if not (known.named and amounts.in_order):
        largest = [rows.amount.desc(), *([rows.weighted.desc()] if known.weighted else [])]
        places["place"] = _place(largest)
    rows = rows.mutate(**places)
    place = rows.place if "place" in places else rows.held
    total = rows.weighted if known.weighted else rows.amount
    found = {
        "contributors": rows.count(),
        "nonzero": _number_of(rows.adds != 0),
        "total": total.sum().cast("int64"),
        "own": rows.amount.sum().cast("int64"),
        "negative": ibis.ifelse(rows.signed < 0, 1, 0).max().cast("int64"),
    }
    for name in amounts.marks:
        found[name] = ibis.ifelse(rows[name] == 1, ibis.greatest(rows.amount, 0), -1).max().cast("int64")
    for i in range(kept):
        here = (place == i) & (rows.amount > 0)
        found[f"top{i}"] = rows.amount.max(where=here)
        if known.weighted:
            found[f"weighted{i}"] = rows.weighted.max(where=here)
    for i in range(HOLDERS if known.named else 0):
        found[f"who{i}"] = rows.who.max(where=rows.held == i)
        found[f"value{i}"] = rows.adds.max(where=rows.held == i)
    return rows.group_by("cell").aggregate(**found)


def _place(order: Sequence[Any]) -> Any:
    import ibis

    return ibis.row_number().over(ibis.window(group_by="cell", order_by=list(order)))


def _number_of(condition: Any) -> Any:
    return condition.sum().cast("int64")
