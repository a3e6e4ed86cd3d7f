"""Random hierarchies, records and specs, small enough for brute force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec


@dataclass(frozen=True)
class Case:
    """Records, their roles and a question."""

    records: list[dict[str, Any]]
    roles: dict[str, Any]
    weight: str | None
    spec: TableSpec

    @property
    def frame(self) -> pa.Table:
        return pa.table({name: [record[name] for record in self.records] for name in self.records[0]})

    def microdata(self, source: Any) -> Microdata:
        return Microdata(source, weight=self.weight, **self.roles)

    @property
    def universe(self) -> list[dict[str, Any]]:
        """The records that meet the filter, with their place in the file."""
        placed = [{**record, "place": place} for place, record in enumerate(self.records)]
        return [r for r in placed if not self.spec.where or r["stays"] == 1]


@st.composite
def hierarchies(draw: Callable[..., Any], name: str, signs: bool = True) -> Hierarchy:
    """Flat lists, unbalanced trees with single children, codes in several sums, differences."""
    base = [f"{name}{i}" for i in range(draw(st.integers(1, 4)))]
    if draw(st.integers(0, 5)) == 0:
        return Hierarchy.flat(base, total=None)
    parents: dict[str, str | None] = {}
    groups = draw(st.integers(0, 2))
    for code in base:
        group = draw(st.integers(0, groups))
        parents[code] = f"{name}G{group}" if group else "Total"
    for group in range(1, groups + 1):
        if f"{name}G{group}" in parents.values():
            parents[f"{name}G{group}"] = "Total"
    if draw(st.booleans()) and f"{name}G1" in parents:
        parents[f"{name}Top"], parents[f"{name}G1"] = "Total", f"{name}Top"
    hierarchy = Hierarchy.from_parents(parents, total="Total")
    if len(base) > 1 and draw(st.booleans()):
        hierarchy = hierarchy.with_grouping(f"{name}Mix", draw(st.permutations(base))[:2])
    if signs and len(base) > 1 and draw(st.integers(0, 3)) == 0:
        hierarchy = hierarchy.with_grouping(f"{name}Net", [base[0]], minus=[base[1]])
    return hierarchy


def amounts(draw: Callable[..., Any]) -> st.SearchStrategy[Any]:
    """Whole numbers or numbers with two decimals, sometimes negative."""
    low = draw(st.sampled_from([0, 0, -50]))
    whole = st.integers(low, 200)
    return draw(st.sampled_from([whole, whole.map(lambda v: v / 100), whole.map(lambda v: v / 8)]))


def contributors() -> list[st.SearchStrategy[Any]]:
    """Whole numbers close together, far apart and below zero, texts, and numbers with a point."""
    apart = st.sampled_from([0, 17, -4, 10**17, 2**62 - 1, 2**62 + 5])
    text = st.sampled_from(["p", "q", "r q", "é", "12", "012"])
    return [st.integers(1, 5), st.integers(-2, 3), apart, text, st.sampled_from([1.0, 2.5, -3.0, 1e20])]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    """Records with any mixture of roles, and a spec for them."""
    by = {f"v{k}": draw(hierarchies("abc"[k])) for k in range(draw(st.integers(1, 3)))}
    columns: dict[str, st.SearchStrategy[Any]] = {v: st.sampled_from(h.base_codes) for v, h in by.items()}
    columns |= {"x": amounts(draw), "y": amounts(draw), "stays": st.just(1) | st.integers(0, 1)}
    roles: dict[str, Any] = {}
    weight = draw(st.sampled_from([None, "w"]))
    if weight:
        hundredths = st.integers(100, 900).map(lambda v: v / 100)
        tenths = st.integers(1, 30).map(lambda v: v / 10)
        columns["w"] = draw(st.sampled_from([st.integers(1, 5), hundredths, tenths]))
    if draw(st.integers(0, 2)):
        roles["contributor"] = "firm"
        columns["firm"] = draw(st.sampled_from(contributors()))
    if draw(st.booleans()):
        roles["waiver"] = "agrees"
        columns["agrees"] = st.booleans()
    if draw(st.booleans()):
        roles["request"] = "asks"
        columns["asks"] = st.integers(0, 2)
    if draw(st.booleans()):
        roles["record_key"] = "key"
        columns["key"] = draw(
            st.sampled_from([st.integers(0, 2**31 - 1), st.integers(1, 9999).map(lambda v: v / 10000)])
        )
    records = draw(st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=20))
    where = "stays == 1" if any(r["stays"] == 1 for r in records) and draw(st.booleans()) else ()
    spec = TableSpec(
        by=by,
        value=draw(st.sampled_from([None, "x", "x", "x"])),
        where=where,
        shadow=draw(st.sampled_from([None, None, "y"])),
        absolute=draw(st.booleans()),
        cost=draw(st.sampled_from([None, "y"])),
        cells=draw(st.sampled_from(["nonempty", "nonempty", "all"])),
        top=draw(st.integers(1, 4)),
        levels=draw(st.sampled_from([("holding",), ("record",), ("holding", "record")])),
        holders=draw(st.sampled_from([True, True, True, False])),
    )
    return Case(records, roles, weight, spec)
