"""Any pattern is audited as it stands and completed to a certified one."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.model.table import CellStatus
from tests.battery.cases import INPUTS
from tests.model.test_pattern import linked, table


def pattern_of(rows: list[tuple[str, str, str]], name: str = "") -> ds.Pattern:
    columns = dict(zip(("trade", "region", "status"), zip(*rows, strict=True), strict=True))
    return ds.read_pattern(pa.table({k: list(v) for k, v in columns.items()}), variables=["trade", "region"], name=name)


def test_a_certified_pattern_needs_nothing_more():
    release = ds.protect(table(), ds.Suppress())
    done = ds.repair(table(), release.pattern())
    assert done.held
    assert done.added.num_rows == 0
    assert done.changed().num_rows == 0
    assert done.release.pattern().digest == release.pattern().digest
    assert "was safe" in done.summary()


@pytest.mark.parametrize("kind", ["hierarchical", "linked", "counts", "weighted"])
def test_a_safe_pattern_is_not_changed_even_in_the_plainest_search(kind):
    """What a pattern protects already costs nothing, so that nothing is withheld besides."""
    tables = INPUTS[kind]()
    done = ds.repair(tables, ds.protect(tables, ds.Suppress()).pattern(), ds.Suppress(effort=0))
    assert done.held
    assert done.added.num_rows == 0
    assert "limit_struck_at" not in done.release.custodian.log["effort"]
    assert done.release.verify().holds


def test_a_pattern_that_withholds_too_little_is_completed_and_the_difference_shown():
    done = table().repair(pattern_of([("retail", "South", "unsafe"), ("retail", "North", "secondary")]))
    assert not done.held
    assert (done.audit.short, done.audit.recoverable) == (1, 2)
    assert done.release.verify().holds
    status = done.release.custodian.status[0]
    assert status[table().row(trade="retail", region="North")] == CellStatus.SECONDARY
    added = done.added.to_pydict()
    assert {(t, r) for t, r in zip(added["trade"], added["region"], strict=True)} == {
        (t, r) for t in added["trade"] for r in ("North", "South")
    }
    assert added["before"] == ["not listed"] * 2
    assert added["status"] == ["secondary"] * 2
    assert added["reason"] == ["protects trade=retail, region=South"] * 2
    text = done.summary()
    assert "was NOT safe" in text
    assert "2 cells are withheld besides (0 unsafe, 2 others)" in text
    assert repr(done) == text


def test_unsafe_cells_that_a_pattern_publishes_are_counted_and_withheld():
    bare = pattern_of([("retail", "South", "published"), ("retail", "North", "unsafe"), ("food", "", "secondary")])
    found = ds.audit(table(), pattern=bare)
    assert found.counts()["published"] == 1
    assert not found.holds
    assert "unsafe cells that are published: 1" in found.summary()
    done = ds.repair(table(), bare)
    changed = done.changed().to_pydict()
    at = changed["before"].index("published")
    assert changed["reason"][at] == "unsafe under the rules, and the pattern did not withhold it"
    at = changed["before"].index("unsafe")
    assert (changed["status"][at], changed["region"][at]) == ("secondary", "North")
    assert changed["reason"][at] == "not unsafe under the rules; stays withheld"
    assert "of the cells that it calls unsafe 1 are not so under these rules" in done.summary()
    assert not done.release.public.tables[0].shown[table().row(trade="food")]


def test_secondaries_that_are_unsafe_here_are_said():
    done = ds.repair(table(), pattern_of([("retail", "South", "secondary")]))
    assert "of the cells that it withholds as secondary 1 are unsafe under these rules" in done.summary()
    assert "unsafe under the rules" in done.changed().to_pydict()["reason"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(["hierarchical", "linked", "signed", "counts"]))
def test_part_of_a_certified_pattern_is_repaired_and_contained(data, kind):
    """Any part of a certified pattern is kept, completed, and the result verifies."""
    tables = INPUTS[kind]()
    whole = ds.protect(tables, ds.Suppress(effort=0)).pattern()
    parts = []
    for part in whole.tables:
        seed = data.draw(st.integers(0, 2**16))
        keep = np.random.default_rng(seed).random(len(part)) < data.draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
        parts.append(part.at(part.withheld & keep))
    given_ = ds.Pattern(tuple(parts), "part")
    done = ds.repair(tables, given_, ds.Suppress(effort=0))
    assert done.release.verify().holds
    assert done.release.audit(insiders=None).short == 0
    for before, number in zip(done.before, range(len(parts)), strict=True):
        withheld = done.release.custodian.withheld(number)
        assert withheld[np.isin(before, (CellStatus.UNSAFE, CellStatus.SECONDARY))].all()
    hidden = sum(int(done.release.custodian.withheld(n).sum()) for n in range(len(parts)))
    assert done.added.num_rows == hidden - len(given_)
    assert all(done.added.to_pydict()["reason"])


def test_forced_cells_of_a_pattern_stay_published():
    free = ds.protect(table(), ds.Suppress()).pattern()
    frozen = [(*codes, "forced") for codes in free.cells(status="secondary")]
    done = ds.repair(table(), pattern_of([("retail", "South", "unsafe"), *frozen]))
    shown = done.release.public.tables[0].shown
    for trade, region, _ in frozen:
        row = table().row(trade=trade, region=region)
        assert shown[row]
        assert done.release.custodian.status[0][row] == CellStatus.FORCED
    assert done.release.verify().holds


def test_a_frozen_pattern_that_cannot_be_completed_fails_with_the_cells_and_the_way_out():
    frozen = [("retail", region, "forced") for region in ("North", "East", "Total")]
    with pytest.raises(
        ProtectionError, match=r"trade=retail, region=South \(impossible: .*let 'trade=retail, region=Total'.*withheld"
    ):
        ds.repair(table(), pattern_of(frozen))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("retail", "South", "forced")],
            r"1 cell of table 'turnover' must be published by the pattern, although unsafe: 'trade=retail, "
            r"region=South'.*Take the status 'forced'",
        ),
        (
            [("mining", "South", "secondary"), ("retail", "Mars", "unsafe")],
            r"names 2 cells that the tables do not have: 'trade=mining, region=South', 'trade=retail, region=Mars'"
            r".*Correct the codes",
        ),
    ],
)
def test_a_pattern_that_does_not_fit_is_refused_by_its_cells(rows, message):
    with pytest.raises(InputError, match=message):
        ds.repair(table(), pattern_of(rows))


def test_a_pattern_that_contradicts_the_table_is_refused():
    forced = ds.examples.small_table().marked({("retail", "North"): "P"}).assess(ds.PPercent(10))
    with pytest.raises(
        InputError, match=r"withheld by the pattern but forced to be published in the table: 'trade=retail"
    ):
        ds.repair(forced, pattern_of([("retail", "North", "secondary")]))
    manual = np.zeros(16, np.int8)
    manual[5] = CellStatus.SECONDARY
    marked = ds.examples.small_table().with_(manual=manual).assess(ds.PPercent(10))
    with pytest.raises(InputError, match=r"must be published by the pattern, although marked as withheld"):
        ds.repair(marked, pattern_of([("retail", "North", "forced")]))
    frame = pa.table({"region": ["N"] * 3, "x": [5, 6, 7]})
    empty = ds.tabulate(frame, by={"region": ds.Hierarchy.flat(["N", "S"])}, value="x", cells="all").assess()
    pattern = ds.read_pattern(pa.table({"region": ["S"]}), variables=["region"], all_are="secondary")
    with pytest.raises(InputError, match=r"withheld by the pattern but empty: 'region=S'"):
        ds.repair(empty, pattern)


def test_an_unassessed_table_and_a_release_are_refused():
    pattern = table().pattern()
    with pytest.raises(NeedsError, match="not been assessed"):
        ds.repair(ds.examples.small_table(), pattern)
    with pytest.raises(NeedsError, match="not been assessed"):
        ds.audit(ds.examples.small_table(), pattern=pattern)
    with pytest.raises(ParameterError, match="A release has its own pattern"):
        ds.audit(ds.protect(table(), ds.Suppress()), pattern=pattern)


def test_a_pattern_that_withholds_a_shared_cell_once_only_counts_as_publishing_it():
    tables = linked()
    withheld_in_a = ds.read_pattern(
        pa.table({"region": ["N"], "status": ["secondary"]}), variables=["region"], table="a"
    )
    audit = ds.audit(tables, pattern=withheld_in_a)
    assert audit.counts()["withheld"] == 0
    done = ds.repair(tables, withheld_in_a)
    added = done.added.to_pydict()
    assert ("b", "N", "Total") in zip(added["table"], added["region"], added["size"], strict=True)
    assert done.release.verify().holds


def test_one_name_of_a_cell_is_enough_only_where_the_pattern_says_so():
    """Files of other programs leave out levels with a single child; written as it stands, the child is published."""
    region = ds.Hierarchy.from_nested({"A": ["a"], "B": ["b1", "b2"], "C": ["c1", "c2"]})
    frame = pa.table({"region": ["a", "b1", "b2", "c1", "c2"] * 4, "x": [50, 10, 12, 9, 8] * 4})
    made = ds.tabulate(frame, by={"region": region}, value="x").assess(ds.MinContributors(5))
    pattern = ds.read_pattern(pa.table({"region": ["A"]}), variables=["region"], all_are="unsafe")
    counts = ds.audit(made, pattern=pattern, insiders=None).counts()
    assert (counts["withheld"], counts["published"]) == (0, 5)
    meant = ds.read_pattern(pa.table({"region": ["A"]}), variables=["region"], all_are="unsafe", one_name=True)
    counts = ds.audit(made, pattern=meant, insiders=None).counts()
    assert (counts["withheld"], counts["published"]) == (1, 4)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_pattern_that_publishes_an_unsafe_cell_under_another_name_was_not_safe(data):
    """Take any name of a withheld unsafe cell out of a certified pattern: what is left gives the cell away."""
    values = [data.draw(st.integers(1, 40)) for _ in range(6)]
    region = ds.Hierarchy.from_nested({"A": ["a"], "B": {"B1": ["b"]}, "C": ["c1", "c2"], "D": ["d1", "d2"]})
    frame = pa.table({"region": ["a", "b", "c1", "c2", "d1", "d2"], "x": values})
    frame = pa.concat_tables([frame.slice(i, 1) for i in range(6) for _ in range(data.draw(st.integers(1, 6)))])
    made = ds.tabulate(frame, by={"region": region}, value="x").assess(ds.MinFrequency(3))
    unsafe = [c for c, s in zip(made.columns()["region"], made.columns()["status"], strict=True) if s == "U"]
    twins = [pair for pair in (("A", "a"), ("B", "B1", "b")) if pair[0] in unsafe]
    assume(twins)
    try:
        whole = ds.protect(made, ds.Suppress(insiders=None)).pattern()
    except ProtectionError:
        assume(False)
    left_out = data.draw(st.sampled_from([code for twin in twins for code in twin]))
    listed = [(*c, "unsafe") for c in whole.cells(status="unsafe") if c != (left_out,)]
    listed += [(*c, "secondary") for c in whole.cells(status="secondary")]
    cut = ds.read_pattern(
        pa.table({"region": [c for c, _ in listed], "status": [s for _, s in listed]}), variables=["region"]
    )
    assert ds.audit(made, pattern=whole, insiders=None).holds
    found = ds.audit(made, pattern=cut, insiders=None)
    assert not found.holds
    done = ds.repair(made, cut, ds.Suppress(insiders=None))
    assert not done.held
    assert "was NOT safe" in done.summary()
    assert left_out in done.added.column("region").to_pylist()


def test_the_log_names_the_pattern_and_replays(tmp_path):
    pattern = pattern_of([("retail", "South", "unsafe"), ("retail", "North", "secondary"), ("food", "East", "forced")])
    pattern = ds.Pattern(pattern.tables, "theirs.csv")
    done = ds.repair(table(), pattern)
    entry = {"name": "theirs.csv", "digest": pattern.digest, "cells": {"unsafe": 1, "secondary": 1, "forced": 1}}
    assert done.release.custodian.log["pattern"] == entry
    done.release.save(tmp_path / "one")
    assert json.loads((tmp_path / "one" / "custodian" / "log.json").read_text())["pattern"] == entry
    ds.load(tmp_path / "one").replay().save(tmp_path / "two")
    for path in sorted((tmp_path / "one").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


@pytest.mark.parametrize("limit", [{"effort": 3}, {"time_limit": 1e-9}])
def test_a_limit_counts_for_what_is_added_and_replays(limit, tmp_path):
    tables = INPUTS["hierarchical"]()
    part = ds.protect(tables, ds.Suppress(effort=0)).pattern().tables[0]
    some = ds.Pattern((part.at(part.withheld & (np.arange(len(part)) % 3 > 0)),), "some")
    release = ds.repair(tables, some, ds.Suppress(**limit)).release
    assert "limit_struck_at" in release.custodian.log["effort"]
    again = release.replay()
    assert np.array_equal(again.custodian.status[0], release.custodian.status[0])
    assert again.custodian.log["effort"] == release.custodian.log["effort"]


def test_a_pattern_from_a_file_and_without_insiders(tmp_path):
    pattern_of([("retail", "South", "unsafe")]).write(tmp_path / "p.csv")
    done = ds.repair(table(), tmp_path / "p.csv", ds.Suppress(insiders=None, cost="unity"))
    assert done.audit.insiders is None
    assert done.release.custodian.evidence[0].method["cost"] == "unity"
    assert done.release.verify().holds


def test_no_confidential_value_is_in_what_a_repair_prints():
    base = table()
    big = base.with_(value=base.value * 7_654_321)
    done = ds.repair(big, pattern_of([("retail", "South", "unsafe")]))
    text = done.summary() + str(done.added.to_pydict()) + str(done.changed().to_pydict())
    assert not any(str(v) in text for v in big.value.tolist())
