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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=4), st.integers(0, 255), st.sampled_from(["suppress", "none"]))
def test_told_places_are_those_that_are_small_in_every_map_that_fits(counts, member, outliers):
    before = np.array(counts)
    where = Neighbours(in_a_row(len(counts)))
    try:
        found = redistributed(before, where, threshold=3, outliers=outliers, outlier_distance=1)
    except ProtectionError:
        return
    areas = [np.flatnonzero([member >> (4 * k + i) & 1 for i in range(len(counts))]) for k in range(2)]
    part = parts_of_map(len(counts), areas)
    after = found.after
    told = told_small(part, before, after, np.zeros(len(counts), np.int64), 3)
    # Shown places held at least one unit, or what they show above three; and all units that they show.
    least = [0 if n == 0 else 1 if n <= 3 else n for n in after.tolist()]
    total, shown = np.bincount(part, before), np.flatnonzero(after > 0)
    fitting = [
        np.array(one)
        for one in product(*(range(low, int(before.sum()) + 1) for low in least))
        if np.array_equal(np.bincount(part, one), total) and sum(one[i] for i in shown) == after.sum()
    ]
    assert any(np.array_equal(one, before) for one in fitting)
    for i in shown.tolist():
        assert told[i] == all(one[i] < 3 for one in fitting)
    for i in np.flatnonzero((after == 0) & (before > 0)).tolist():
        unseen = [int(one[(part == part[i]) & (after == 0)].sum()) for one in fitting]
        assert told[i] == (min(unseen) > 0 or max(unseen) < 3)
    assert not told[before == 0].any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=4), st.integers(0, 15))
def test_outliers_that_moved_are_told_where_every_map_that_fits_has_them(counts, member):
    before = np.array(counts)
    where = Neighbours(in_a_row(len(counts)))
    try:
        found = redistributed(before, where, threshold=3, outliers="redistribute", outlier_distance=1)
    except ProtectionError:
        return
    part = parts_of_map(len(counts), [np.flatnonzero([member >> i & 1 for i in range(len(counts))])])
    received = np.zeros(len(counts), np.int64)
    np.add.at(received, found.outlier_moves.target, found.outlier_moves.units)
    after, total, all_units = found.after, np.bincount(part, before), int(before.sum())
    told = told_small(part, before, after, received, 3, kept=True)
    shown, unseen = after > 0, {}
    for one in product(range(all_units + 1), repeat=len(counts)):
        held = np.array(one)
        if np.array_equal(np.bincount(part, held), total) and np.all(held[shown] > 0):
            # What rich places show above what they held came from places that are not shown.
            came = np.maximum(np.where(after > 3, after - held, 0), 0)[shown].sum()
            if came <= held[~shown].sum():
                for k in range(len(total)):
                    unseen.setdefault(k, set()).add(int(held[(part == k) & ~shown].sum()))
    for i in np.flatnonzero(~shown & (before > 0)).tolist():
        assert told[i] == (min(unseen[part[i]]) > 0 or max(unseen[part[i]]) < 3)


def test_a_true_total_beside_a_place_that_is_shown_tells_one_that_is_not():
    """9 in the area, 7 shown: two units lie where nothing is shown."""
    table = counted_map(7, 0, 0, 0, 0, 2)
    for areas in ({"all": table.spec.hierarchies[0].base_codes}, {"some": ["c0", "c5"]}):
        with pytest.raises(ProtectionError, match="1 place of the map"):
            ds.protect(table, ds.Redistribute(areas=areas))
    done = ds.protect(table, ds.Redistribute())
    evidence = done.custodian.evidence[0]
    lying = replace(evidence, method={**evidence.method, "areas": [["some", ["c0", "c5"]]]})
    refused = check_release(replace(done.custodian, evidence=(lying,)), done.public).refused
    assert any("totals of areas tell too much" in str(one) for one in refused)


def test_a_remainder_close_to_a_value_that_is_left_out_tells_it():
    """The area holds 1,000 more than it shows, but for a contributor of 3 that moved out: 0.3 % from the truth."""
    far = {"lonely": 1000}
    rich = {"a": 5000, "b": 4000, "c": 4500, "d": 3}
    poor = {"e": 900, "f": 800}
    table = valued_map(rich, poor, {}, {}, {}, {}, far)
    areas = {"one": ["c0", "c6"]}
    with pytest.raises(ProtectionError, match="'one'"):
        ds.protect(table, ds.Redistribute(areas=areas))
    done = ds.protect(table, ds.Redistribute())
    evidence = done.custodian.evidence[0]
    lying = replace(evidence, method={**evidence.method, "areas": [["one", ["c0", "c6"]]]})
    refused = check_release(replace(done.custodian, evidence=(lying,)), done.public).refused
    assert any("totals of areas tell too much" in str(one) for one in refused)


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
    assert "no total tells a place to be small, or that there are units where no place is shown" in done.summary()
    evidence = done.custodian.evidence[0]
    for areas in ([["west", ["c0", "c1"]]], [["only", ["c1"]]], []):
        lying = replace(evidence, method={**evidence.method, "areas": areas})
        assert not check_release(replace(done.custodian, evidence=(lying,)), done.public).holds


def test_who_reports_nothing_hides_nobody():
    table = valued_map({"a": 100, "b": 0, "c": 0}, {"d": 40, "e": 30, "f": 20, "g": 10, "h": 5})
    release = ds.protect(table, ds.Redistribute())
    assert release.verify().holds
    assert int(release.custodian.published[0][table.row(place="c0")]) > 100


def test_audits_of_maps_know_the_threshold_and_the_totals():
    """A place on the threshold held at least one unit; what is not shown held less than the threshold."""
    table = counted_map(8, 1, 0, 0, 0, 2).assess(ds.MinFrequency(3))
    audit = ds.audit(ds.protect(table, ds.Redistribute()))
    columns = audit.columns()
    ends = {
        name: (low, high) for name, low, high in zip(*(columns[c] for c in ("cell", "lower", "upper")), strict=True)
    }
    assert sorted(ends.values()) == [(0, 2), (1, 3)]
    assert not audit.holds
    values = ds.audit(ds.protect(valued_map(SAFE, {"x": 9, "y": 1}), ds.Redistribute()))
    assert "nobody has worked out" in values.not_audited


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
