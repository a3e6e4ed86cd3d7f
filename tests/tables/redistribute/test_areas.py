"""What published totals of areas tell of maps, against readers who try everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.geography import Adjacency
from discreet.tables.redistribute.areas import parts_of_map, told_small
from discreet.tables.redistribute.counts import redistributed
from discreet.tables.redistribute.grid import Neighbours
from discreet.verify import check_release


def in_a_row(places: int) -> Adjacency:
    codes = [f"c{i}" for i in range(places)]
    return Adjacency(codes, list(zip(codes[:-1], codes[1:], strict=True)))  # noqa: RUF007


def counted_map(*counts: int) -> ds.Table:
    where = in_a_row(len(counts))
    frame = pa.table({"place": [c for c, n in zip(where.codes, counts, strict=True) for _ in range(n)]})
    return ds.tabulate(frame, by={"place": where}).assess()


def valued_map(*places: dict[str, int]) -> ds.Table:
    where = in_a_row(len(places))
    rows = [(code, who, v) for code, inside in zip(where.codes, places, strict=True) for who, v in inside.items()]
    frame = pa.table(dict(zip(("place", "firm", "sales"), map(list, zip(*rows, strict=True)), strict=True)))
    return ds.tabulate(frame, by={"place": where}, value="sales", contributor="firm").assess()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=4), st.integers(0, 255), st.sampled_from(["suppress", "none"]))
def test_told_places_are_those_that_are_small_in_every_map_that_fits(counts, member, outliers):
    before = np.array(counts)
    try:
        found = redistributed(before, Neighbours(in_a_row(len(counts))), threshold=3, outliers=outliers)
    except ProtectionError:
        return
    areas = [np.flatnonzero([member >> (4 * k + i) & 1 for i in range(len(counts))]) for k in range(2)]
    part = parts_of_map(len(counts), areas)
    received = np.zeros(len(counts), np.int64)
    told = told_small(part, before, found.after, received, 3)
    # Of places that are not shown nothing is known; shown ones held at least one unit, or what they show above three.
    least = [0 if n == 0 else 1 if n <= 3 else n for n in found.after.tolist()]
    total = np.bincount(part, before)
    fitting = [
        one
        for one in product(*(range(low, int(before.sum()) + 1) for low in least))
        if np.array_equal(np.bincount(part, one), total)
    ]
    assert tuple(counts) in fitting
    for i in np.flatnonzero(found.after > 0).tolist():
        assert told[i] == all(one[i] < 3 for one in fitting)
    for i in np.flatnonzero(found.after == 0).tolist():
        alone = not found.after[part == part[i]].any()
        assert told[i] == (alone and before[i] > 0 and total[part[i]] < 3)


def test_a_true_total_less_what_a_rich_place_shows_tells_its_small_neighbour():
    method = ds.Redistribute(outliers="none", areas={"west": ["c0", "c1"], "east": ["c2"]})
    with pytest.raises(ProtectionError, match=r"1 place of the map: 'west'"):
        ds.protect(counted_map(8, 1, 9), method)


def test_nested_areas_tell_their_difference():
    areas = {"all": ["c0", "c1", "c2"], "most": ["c1", "c2"]}
    with pytest.raises(ProtectionError, match="'all'"):
        ds.protect(counted_map(1, 9, 9), ds.Redistribute(outliers="none", areas=areas))
    with pytest.raises(ProtectionError, match="outside of all areas"):
        ds.protect(counted_map(1, 9, 9), ds.Redistribute(outliers="none", areas={"most": ["c1", "c2"]}))


def test_the_total_of_a_suppressed_outlier_is_not_published():
    method = ds.Redistribute(areas={"far": ["c8"], "near": ["c0", "c1"]})
    with pytest.raises(ProtectionError, match="'far'"):
        ds.protect(counted_map(5, 2, 0, 0, 0, 0, 0, 0, 1), method)


def test_a_place_that_an_outlier_came_to_may_have_held_less_than_it_shows():
    told = told_small(np.array([0, 0, 1]), np.array([5, 1, 1]), np.array([6, 3, 0]), np.array([1, 0, 0]), 3)
    assert told.tolist() == [False, True, True]


def test_the_checker_looks_at_totals_itself():
    done = ds.protect(counted_map(8, 1, 9), ds.Redistribute(outliers="none", areas={"all": ["c0", "c1", "c2"]}))
    assert done.verify().holds
    assert "no total tells a place to be small" in done.summary()
    evidence = done.custodian.evidence[0]
    for areas in ([["west", ["c0", "c1"]]], [["only", ["c1"]]], []):
        lying = replace(evidence, method={**evidence.method, "areas": areas})
        assert not check_release(replace(done.custodian, evidence=(lying,)), done.public).holds


SAFE = {"a": 50, "b": 40, "c": 45, "d": 30}


def test_areas_of_magnitudes_must_keep_the_rules_themselves():
    one = {"x": 48, "y": 7, "z": 4, "u": 9, "v": 6}
    table = valued_map(SAFE, one, {"k": 40, "l": 30, "m": 35}, {"f": 20, "g": 30, "h": 25})
    rules = {"max_share": 0.5}
    with pytest.raises(ProtectionError, match="'small'"):
        ds.protect(table, ds.Redistribute(**rules, areas={"small": ["c1"]}))
    done = ds.protect(table, ds.Redistribute(**rules, areas={"all": ["c0", "c1", "c2", "c3"]}))
    assert done.verify().holds
    evidence = done.custodian.evidence[0]
    codes = table.spec.hierarchies[0].codes
    assert [codes[i] for i in np.flatnonzero(done.custodian.published[0] != table.value)] == ["c0", "c1"]
    with pytest.raises(ProtectionError, match="'pair'"):
        ds.protect(table, ds.Redistribute(**rules, areas={"pair": ["c1", "c2"]}))
    lying = replace(evidence, method={**evidence.method, "areas": [["pair", ["c1", "c2"]]]})
    assert not check_release(replace(done.custodian, evidence=(lying,)), done.public).holds
