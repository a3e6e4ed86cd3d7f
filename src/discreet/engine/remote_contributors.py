"""Distinct contributors and largest contributions of every cell, found by the engine that holds the records.

Contributors whose records all lie in one finest cell are put on that cell's list; the lists are merged upwards here, as
those of other engines are. All others are summed in every cell above, in the engine. Lists of cells come back, and no
sum of a single contributor that is not on one.

Only contributors that may be among a cell's largest are put in order there: those that reach the least of the largest
amounts of some groups of its contributors, which one pass without any order finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.cells import row_finder, strides_of
from discreet.engine.contributions import ContributorLists, KnownRoles, merged_up, nothing_known
from discreet.engine.identities import DIGITS
from discreet.engine.plan import WantedLists
from discreet.engine.remote_source import RemoteTable
from discreet.errors import InputError
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import HOLDERS, Contributions, Holders

ZERO_TO_F = "0123456789abcdef"
GROUPS = (3, 5, 7)
"""Amounts fall into so many groups by their rest; longer lists are made of all contributors, in order."""


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
        # The end of a text is before its last line break in some engines: what must not be there is looked for.
        digits = ~who.re_search("[^0-9]") & (who.length() > 0) & (who.length() <= DIGITS)
        plain = digits & ((who == "0") | ~who.startswith("0"))
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
    remote: RemoteTable, amounts: RecordAmounts, is_text: bool, wanted: WantedLists, records: int
) -> tuple[Contributions, Holders | None]:
    """Contributors of every cell; ``records`` is how many records there are, and each must be met once."""
    shape = [len(h) for h in amounts.hierarchies]
    merge = not wanted.above.signed
    lists = nothing_known(len(wanted.leaves), len(wanted.cells), wanted.kept, amounts.known)
    if amounts.holding:
        each = remote.kept("contributors", _by_contributor(amounts))
        _refuse_lost(remote, each.aggregate(n=each.records.sum().cast("int64")), records)
        alone = each.filter(each.first == each.last).mutate(cell=each.first) if merge else None
        several = each.filter(each.first != each.last) if merge else each
        above = remote.kept("contributors", _in_cells_above(remote, amounts, several))
    else:
        # What is asked twice must be the same both times, and records may change.
        plain = amounts.records.select("cell", *amounts.names, *amounts.marks, *amounts.sums)
        each = remote.kept("contributors", plain if merge else _exploded(remote, amounts, amounts.records))
        counted = amounts.records.aggregate(n=amounts.records.count())
        _refuse_lost(remote, each.aggregate(n=each.count()) if merge else counted, records)
        alone, above = (each, None) if merge else (None, each)
    if alone is not None:
        _enter(remote, amounts, alone, is_text, wanted.kept, row_finder(wanted.leaves, shape), lists, finest=True)
    if above is not None:
        _enter(remote, amounts, above, is_text, wanted.kept, row_finder(wanted.cells, shape), lists, finest=False)
    return merged_up(lists, wanted.above, wanted.top, wanted.kept, amounts.known)


def _refuse_lost(remote: RemoteTable, counted: Any, records: int) -> None:
    """Refuse an engine that joins codes otherwise than it groups them: contributors would be lost or count twice."""
    found = int(remote.rows("contributors", counted)[0]["n"] or 0)
    if found != records:
        raise InputError(
            f"{remote.engine} met {found:,} records of table {remote.name!r} with their codes, and has {records:,}: "
            "records were lost or met twice.",
            hint="Try again if records were changed meanwhile; otherwise make columns of plain text of the codes.",
        )


def _by_contributor(amounts: RecordAmounts) -> Any:
    records = amounts.records
    return records.group_by("who").aggregate(
        first=records.cell.min(),
        last=records.cell.max(),
        records=records.count(),
        **{name: records[name].sum().cast("int64") for name in amounts.sums},
        **{name: records[name].max() for name in amounts.marks},
    )


def _in_cells_above(remote: RemoteTable, amounts: RecordAmounts, several: Any) -> Any:
    """Sums of contributors with records in several finest cells, in every cell that has some."""
    chosen = several.select("who", **{f"all_{name}": several[name] for name in amounts.marks})
    found = amounts.records.drop(*amounts.marks).join(chosen, "who")
    found = found.mutate(**{name: found[f"all_{name}"] for name in amounts.marks})
    places = [f"k{k}" for k in range(len(amounts.hierarchies))]
    found = found.group_by([*places, "who"]).aggregate(
        **{name: found[name].sum().cast("int64") for name in amounts.sums},
        **{name: found[name].max() for name in amounts.marks},
    )
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
    rows_of = _amounts_of(amounts, entries)
    orders = _orders(amounts, kept)
    known_of = remote.kept("contributors", _known(amounts, rows_of, orders))
    told = [name for name in known_of.columns if not name.startswith("reach")]
    _write_down(remote.fetch("contributors", known_of.select(*told)), amounts, kept, rows, lists, finest=finest)
    largest = _largest(amounts, _candidates(rows_of, known_of, orders), is_text, kept)
    _write_down(remote.fetch("contributors", largest), amounts, kept, rows, lists, finest=finest)


def _write_down(
    found: Any, amounts: RecordAmounts, kept: int, rows: Any, lists: ContributorLists, *, finest: bool
) -> None:
    if not found.num_rows:
        return
    columns = {name: np.asarray(found[name].fill_null(0).to_numpy(), np.int64) for name in found.column_names}
    at = rows(columns["cell"])
    known, held = (lists.finest, lists.held_finest) if finest else (lists.cells, lists.held)
    _write(known, at, columns, kept, amounts.known.weighted)
    for i in range(HOLDERS if f"value{HOLDERS - 1}" in columns else 0):
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
    for i in range(kept if "top0" in columns else 0):
        known[at, TOP + i] = columns[f"top{i}"]
        if weighted:
            known[at, TOP + kept + i] = columns[f"weighted{i}"]


def _amounts_of(amounts: RecordAmounts, entries: Any) -> Any:
    """What decides who is large in a cell, and what is added up there."""
    known = amounts.known
    adds = entries.value if amounts.values else entries.weighted if known.weighted else entries.amount
    columns = {"cell": entries.cell, "signed": entries.amount, "adds": adds}
    columns["amount"] = entries.amount.abs() if amounts.absolute else entries.amount
    if known.weighted:
        columns["weighted"] = entries.weighted.abs() if amounts.absolute else entries.weighted
    columns |= {name: entries[name] for name in amounts.marks}
    if known.named:
        columns["who"] = entries.who
    return entries.select(**columns)


def _orders(amounts: RecordAmounts, kept: int) -> dict[str, int]:
    """How many contributors must be found by each order: by what they add to the value, and by what rules look at."""
    held = {"held": max(HOLDERS, kept if amounts.in_order else 0)} if amounts.known.named else {}
    return held if held and amounts.in_order else {**held, "place": kept}


def _ordered_by(rows: Any, order: str) -> Any:
    return rows.adds.abs() if order == "held" else rows.amount


def _known(amounts: RecordAmounts, rows: Any, orders: dict[str, int]) -> Any:
    """What is known of the contributors of each cell without any order, and what its largest reach at least."""
    import ibis

    total = rows.weighted if amounts.known.weighted else rows.amount
    found = {
        "contributors": rows.count(),
        "nonzero": _number_of(rows.adds != 0),
        "total": total.sum().cast("int64"),
        "own": rows.amount.sum().cast("int64"),
        "negative": ibis.ifelse(rows.signed < 0, 1, 0).max().cast("int64"),
    }
    for name in amounts.marks:
        found[name] = ibis.ifelse(rows[name] == 1, ibis.greatest(rows.amount, 0), -1).max().cast("int64")
    for order, length in orders.items():
        groups = next((groups for groups in GROUPS if groups >= length), 0)
        amount = _ordered_by(rows, order)
        for group in range(groups):
            found[f"reach_{order}{group}"] = amount.max(where=amount % groups == group)
    return rows.group_by("cell").aggregate(**found)


def _candidates(rows: Any, known: Any, orders: dict[str, int]) -> Any:
    """Contributors that may be among the largest of a cell by one of the orders.

    The largest amounts of different groups belong to different contributors: so many reach the least of them. Where a
    group is empty, everybody may be among the largest.
    """
    reached = {order: [name for name in known.columns if name.startswith(f"reach_{order}")] for order in orders}
    if not all(reached.values()):
        return rows
    least = known.select(of=known.cell, **{order: _least(known, names) for order, names in reached.items()})
    found = rows.join(least, rows.cell == least.of)
    large = [(_ordered_by(found, order) >= found[order]).fill_null(True) for order in orders]
    return found.filter(reduce(or_, large)).select(*rows.columns)


def _least(known: Any, names: Sequence[str]) -> Any:
    """The least of some columns, and nothing where one of them is empty: engines differ in what they say then."""
    import ibis

    there = reduce(and_, [known[name].notnull() for name in names])
    return ibis.ifelse(there, ibis.least(*(known[name] for name in names)), ibis.null("int64"))


def _largest(amounts: RecordAmounts, rows: Any, is_text: bool, kept: int) -> Any:
    """The largest contributions of each cell, and who its holders are."""
    known = amounts.known
    if known.named:
        rows = rows.mutate(who=identity_of(rows.who, is_text))
    places = {}
    if known.named:
        places["held"] = _place([rows.adds.abs().desc(), rows.who.asc()])
    if not (known.named and amounts.in_order):
        largest = [rows.amount.desc(), *([rows.weighted.desc()] if known.weighted else [])]
        places["place"] = _place(largest)
    rows = rows.mutate(**places)
    place = rows.place if "place" in places else rows.held
    found = {}
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
