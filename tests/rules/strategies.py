"""Random cells, rules and tables for the tests that compare two computations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import discreet as ds
from discreet.model.table import DECLARED_SAFE, CellStatus, Contributions, Table
from tests.rules.making import counts, magnitudes

PERCENTS = st.sampled_from([0.7, 1, 5, 10, 12.5, 33.3, 50, 99.9, 100])
BELOW = st.sampled_from([0.1, 10, 33.3, 50, 60, 75, 80, 90, 99.9])
LEVEL = st.sampled_from(["holding", "record"])
PROFILES = st.sampled_from(["handbook", "argus"])
RANGE = st.sampled_from([0.5, 10, 30, 150])
NO_BOUND = 2**62


@dataclass(frozen=True)
class Drawn:
    """Lists of contributions in units, and the table that was made of them."""

    cells: list[list[int]]
    consent: list[list[bool]] | None
    asked: list[list[int]] | None
    values: list[int] | None
    weights: list[list[int]] | None
    absolute: bool
    decimals: int
    table: Table


def concentration_rules() -> st.SearchStrategy[Any]:
    """Any rule of concentration, with coalitions and lists of up to three."""
    few = st.integers(1, 3)
    how = {"inclusive": st.booleans(), "weights": st.sampled_from([None, None, "once", "ignore"])}
    low = {**how, "below_one": st.just(True)}
    p_and_q = st.tuples(PERCENTS, st.sampled_from([0, 3, 25, 100]))
    return st.one_of(
        st.builds(ds.PPercent, PERCENTS, few, **low),
        st.builds(lambda pq, n, **names: ds.PriorPosterior(pq[0], pq[0] + pq[1], n, **names), p_and_q, few, **low),
        st.builds(ds.Dominance, few, BELOW, **low),
        st.builds(ds.MaxShare, st.sampled_from([0.1, 0.333, 0.5, 0.9]), **how),
    )


def rules_about_numbers() -> list[st.SearchStrategy[Any]]:
    """Least numbers of contributors and of records, and zeros."""
    low = {"zeros": st.booleans(), "below_one": st.just(True)}
    return [
        st.builds(ds.MinContributors, st.integers(1, 5), st.none() | RANGE, **low),
        st.builds(ds.MinFrequency, st.integers(1, 5), RANGE, st.booleans(), **low),
        st.builds(ds.ZeroUnsafe, st.sampled_from([0.25, 1, 3])),
    ]


def rules_for_magnitudes(asked: bool) -> st.SearchStrategy[Any]:
    """Any rule that a table of sums can have."""
    kinds = [concentration_rules(), *rules_about_numbers()]
    if asked:
        low = {"below_one": st.just(True)}
        kinds.append(st.builds(ds.Request, PERCENTS, st.none() | PERCENTS, st.integers(1, 4), RANGE, **low))
    return st.one_of(kinds)


@st.composite
def drawn_cells(draw: st.DrawFn, huge: bool = False) -> Drawn:
    """Some cells of up to six contributions, with everything that may stand beside them."""
    size = draw(st.integers(1, 4))
    amount = st.sampled_from([0, 1, 2, 3, 7, 10, 50, 99, 100, 101, 700, 1000])
    if huge:
        amount = st.integers(0, 2**56)
    absolute = draw(st.booleans())
    if absolute:
        amount = st.builds(lambda x, sign: x * sign, amount, st.sampled_from([1, 1, -1]))
    cells = [draw(st.lists(amount, max_size=6)) for _ in range(size)]
    consent = asked = values = weights = None
    if draw(st.booleans()) and not huge:
        weights = [[draw(st.sampled_from([1, 1, 2, 5])) for _ in cell] for cell in cells]
    if draw(st.booleans()):
        consent = [[draw(st.booleans()) for _ in cell] for cell in cells]
    if draw(st.booleans()):
        asked = [[draw(st.sampled_from([0, 0, 1, 2])) for _ in cell] for cell in cells]
    if draw(st.booleans()):
        values = [draw(st.integers(-20, 1000)) if cell else 0 for cell in cells]
    decimals = draw(st.integers(0, 3))
    table = magnitudes(
        *([_text(x, decimals) for x in cell] for cell in cells),
        decimals=decimals,
        consent=consent,
        asked=asked,
        values=None if values is None else [_text(v, decimals) for v in values],
        absolute=absolute,
        levels=("holding", "record"),
        weights=weights,
        spec={"decimals": draw(st.sampled_from([None, 0, decimals]))},
    )
    return Drawn(cells, consent, asked, values, weights, absolute, decimals, table)


def _text(units: int, decimals: int) -> str:
    sign, digits = "-" if units < 0 else "", str(abs(units)).rjust(decimals + 1, "0")
    return f"{sign}{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :] or '0'}"


@st.composite
def with_marks(draw: st.DrawFn, table: Table) -> Table:
    """The table with statuses, levels and bounds set by hand, where the draw says so."""
    size = len(table)
    changes: dict[str, Any] = {}
    if draw(st.booleans()):
        letters = [CellStatus.EMPTY, CellStatus.SAFE, CellStatus.UNSAFE, CellStatus.FORCED, DECLARED_SAFE]
        changes["manual"] = np.array([draw(st.sampled_from(letters)) for _ in range(size)], np.int8)
    for name in ("manual_lower", "manual_upper"):
        if draw(st.booleans()):
            changes[name] = np.array([draw(st.sampled_from([0, 0, 5, 500])) for _ in range(size)], np.int64)
    if draw(st.booleans()):
        below = [draw(st.sampled_from([0, 2, NO_BOUND])) for _ in range(size)]
        changes["lower_bound"] = np.array(
            [-NO_BOUND if b == NO_BOUND else int(v) - b for v, b in zip(table.value, below, strict=True)], np.int64
        )
    if draw(st.booleans()):
        above = [draw(st.sampled_from([0, 1, 3, NO_BOUND])) for _ in range(size)]
        changes["upper_bound"] = np.array(
            [NO_BOUND if a == NO_BOUND else int(v) + a for v, a in zip(table.value, above, strict=True)], np.int64
        )
    if draw(st.booleans()):
        changes["weighted"] = np.array([draw(st.integers(0, 80)) for _ in range(size)], np.int64)
        changes["weight_decimals"] = 1
    return table.with_(**changes)


STATES = (
    ds.Hierarchy.flat(["x", "y"]),
    ds.Hierarchy.flat(["x", "y", "unknown"], missing=frozenset(["unknown"])),
    ds.Hierarchy.from_nested({"u": ["x", "y"], "v": ["z"]}),
    ds.Hierarchy.from_nested({"everybody": ["x", "y"]}),
    ds.Hierarchy.flat(["x", "y", "z"]).with_grouping("not_z", ["Total"], minus=["z"]),
    ds.Hierarchy.flat(["x", "y"]).with_grouping("lead", ["x"], minus=["y"]),
)
REGIONS = (ds.Hierarchy.flat(["n"]), ds.Hierarchy.from_nested({"north": ["n", "m"], "south": ["s"]}))


@st.composite
def drawn_counts(draw: st.DrawFn) -> Table:
    """Counts with all their cells, flat or nested, some of them weighted."""
    state, region = draw(st.sampled_from(STATES)), draw(st.sampled_from(REGIONS))
    people = {(r, s): draw(st.sampled_from([0, 0, 0, 1, 2, 3, 9])) for r in region.base_codes for s in state.base_codes}
    table = counts({"region": region, "state": state}, people)
    held = np.minimum(np.maximum(table.value, 0), draw(st.integers(1, 9)))
    nothing = np.zeros((len(table), 0), np.int64)
    found = Contributions(held, table.value, nothing, np.zeros(len(table), np.bool_))
    table = table.with_(contributions={"holding": found})
    if draw(st.booleans()):
        table = table.with_(
            value=table.value * 5,
            decimals=1,
            weighted=table.value * 5,
            weight_decimals=1,
            spec=table.spec.with_(weight="w", decimals=draw(st.sampled_from([None, 0, 1]))),
        )
    return table


def rules_for_counts() -> st.SearchStrategy[Any]:
    """Any rule that does not look at the size of contributions."""
    return st.one_of(
        *rules_about_numbers(),
        st.builds(ds.GroupDisclosure, st.sampled_from(["state", "region"]), st.integers(0, 3), unknown=st.booleans()),
    )
