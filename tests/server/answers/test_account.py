"""The account: what a table tells, found by other code, and that nothing goes beyond the room."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.server.account import MarginReading, MemoryAccount
from discreet.server.levels import levels_of
from discreet.server.question import QuestionRefusal
from discreet.server.refinement import exact_chance, largest_precision, readings_of

TREE = ds.Hierarchy.from_parents({"a": "T", "b": "T", "a1": "a", "a2": "a", "b1": "b"}, total="T")
FLAT = ds.Hierarchy.flat(["x", "y", "z"], total="T")
UP = {"a1": ("T", "a", "a1"), "a2": ("T", "a", "a2"), "b1": ("T", "b", "b1")}


def ancestors(code: str, which: int) -> tuple[str, ...]:
    return UP[code] if which == 0 else ("T", code)


def by_hand(records: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Mean precision of every margin by every finer one, by listing all parts of all cells."""
    found = {}
    for fine in product(range(3), range(2)):
        for coarse in product(range(fine[0] + 1), range(fine[1] + 1)):
            if coarse == fine:
                continue
            parts: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
            for record in records:
                chains = [ancestors(code, k) for k, code in enumerate(record)]
                whole = tuple(chain[d] for chain, d in zip(chains, coarse, strict=True))
                parts[whole].add(tuple(chain[d] for chain, d in zip(chains, fine, strict=True)))
            mean = np.mean([1 / len(p) if len(p) > 1 else 0.0 for p in parts.values()])
            found[name(coarse), f"{name(fine)}@all"] = float(mean)
    return found


def name(depths: tuple[int, ...]) -> str:
    parts = [f"{n}:{d}" for n, d in (("flat", depths[1]), ("tree", depths[0])) if d]
    return "|" + ",".join(parts)


@given(st.lists(st.tuples(st.sampled_from(["a1", "a2", "b1"]), st.sampled_from("xyz")), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_readings_are_the_parts_of_all_cells(records: list[tuple[str, str]]) -> None:
    import pyarrow as pa

    frame = pa.table({"tree": [r[0] for r in records], "flat": [r[1] for r in records]})
    table = ds.tabulate(frame, by={"tree": TREE, "flat": FLAT})
    levels = [levels_of("tree", TREE)[-1], levels_of("flat", FLAT)[-1]]
    told = {r[:2]: r.precision for r in readings_of(table, levels, None, "all")}
    assert told == pytest.approx(by_hand(records))


def test_a_universe_is_a_reading_of_everybody() -> None:
    import pyarrow as pa

    frame = pa.table({"flat": ["x", "y", "z"]})
    table = ds.tabulate(frame, by={"flat": FLAT})
    told = {r[:2]: r.precision for r in readings_of(table, [levels_of("flat", FLAT)[-1]], None, "adults")}
    assert told["|flat:1", "|flat:1@adults|"] == 0.5
    assert told["|", "|@adults|"] == 0.5


def test_the_largest_precision_is_where_the_share_is_reached() -> None:
    for share in (0.1, 0.3, 0.5, 0.9):
        assert exact_chance(largest_precision(share, 3.0), 3.0) == pytest.approx(share)
    assert largest_precision(1.0, 3.0) == float("inf")


readings = st.lists(
    st.tuples(st.sampled_from("mno"), st.sampled_from("pqrstu"), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    max_size=6,
    unique_by=lambda r: r[:2],
)


@given(st.lists(readings, max_size=8))
def test_no_margin_is_told_more_than_its_room(tables: list[list[tuple[str, str, float]]]) -> None:
    room = {"m": 0.5, "n": 1.0, "o": 2.0}
    account, told = MemoryAccount(), defaultdict(dict)
    for number, table in enumerate(tables):
        wanted = {margin: {**told[margin]} for margin in room}
        for margin, by, precision in table:
            wanted[margin].setdefault(by, precision)
        fits = all(sum(wanted[margin].values()) <= room[margin] for margin in {r[0] for r in table})
        charged = [MarginReading(*r) for r in table]
        if fits:
            account.charge("d", "1", str(number), charged, room)
            told.update(wanted)
        else:
            with pytest.raises(QuestionRefusal, match="answered so often"):
                account.charge("d", "1", str(number), charged, room)
        assert account.has("d", "1", str(number)) == fits
