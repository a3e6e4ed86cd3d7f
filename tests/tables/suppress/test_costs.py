"""What cells cost: distance, hints of the officer, and last period's pattern."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.methods.registry import method_from_record
from discreet.relations import build_system
from discreet.tables.suppress.costs import measured
from tests.tables.test_suppress import square

FLAT = [10] * 9
"""Nine cells of the same worth: only hints and preferences can tell them apart."""


def hidden(table: ds.Table, method: ds.Suppress) -> set[tuple[str, ...]]:
    release = ds.protect(table, method)
    assert release.verify().holds
    return {table.spec_codes(c) for c in table.codes[release.custodian.withheld(0)].tolist()}


def corner(r: int, t: int) -> set[tuple[str, ...]]:
    """The square of four inner cells with the unsafe one at (0, 0)."""
    return set(product(("r0", f"r{r}"), ("t0", f"t{t}")))


def test_distance_keeps_what_is_withheld_together():
    """Two blocks of regions; the cells of the unsafe cell's own block are near, dear as they are by value."""
    region = ds.Hierarchy.from_nested({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    trade = ds.Hierarchy.flat(["t1", "t2"])
    rows = list(product(region.base_codes, trade.base_codes))
    value = [40, 40, 40, 40, 3, 3, 3, 3]
    cells = {"region": [r for r, _ in rows], "trade": [t for _, t in rows], "value": value}
    table = ds.Table.from_cells(pa.table(cells), by={"region": region, "trade": trade}, compute_totals=True)
    table = table.marked({("a1", "t1"): "U"}, protection=(2, 2)).assess()
    near = hidden(table, ds.Suppress(cost="distance"))
    assert {region for region, _ in near} == {"a1", "a2"}
    assert len(near) == 4
    release = ds.protect(table, ds.Suppress(cost="distance", exponent=2))
    assert release.verify().holds


@pytest.mark.parametrize("algorithm", ["certified", "optimal"])
def test_hints_lead_the_pattern(algorithm):
    table = square(FLAT, 0, (2, 2))
    cheap = {("r0", "t2"): 0.5, ("r2", "t0"): 0.5, ("r2", "t2"): 0}
    assert hidden(table, ds.Suppress(hints=cheap, algorithm=algorithm)) == corner(2, 2)
    dear = {("r0", "t2"): "avoid", ("r1", "t0"): 100.0}
    assert hidden(table, ds.Suppress(hints=dear, algorithm=algorithm)) == corner(2, 1)
    never = {("r0", "t1"): "never", ("r2", "t0"): "never"}
    assert hidden(table, ds.Suppress(hints=never, algorithm=algorithm)) == corner(1, 2)


def test_an_absolute_cost_replaces_the_measure():
    table = square([10, 1, 1, 1, 1, 1, 1, 1, 1], 0, (1, 1))
    hints = [{"cell": {"region": f"r{r}", "trade": f"t{t}"}, "cost": 0.1} for r, t in ((0, 2), (2, 0), (2, 2))]
    assert hidden(table, ds.Suppress(hints=hints)) == corner(2, 2)


def test_hints_from_a_frame_and_a_file_are_the_same(tmp_path):
    columns = {
        "region": ["r0", "r2", "r2", None],
        "trade": ["t2", "t0", "t2", "t1"],
        "times": [0.5, None, 0.0, None],
        "cost": [None, 1.0, None, None],
        "use": [None, None, None, "avoid"],
    }
    (tmp_path / "hints.csv").write_text("region,trade,times,cost,use\nr0,t2,0.5,,\nr2,t0,,1,\nr2,t2,0,,\n,t1,,,avoid\n")
    by_frame = ds.Suppress(hints=pa.table(columns))
    by_file = ds.Suppress(hints=ds.read_hints(tmp_path / "hints.csv"))
    assert by_frame == by_file
    table = square(FLAT, 0, (2, 2))
    release = ds.protect(table, ds.Suppress(hints=tmp_path / "hints.csv"))
    assert release.custodian.evidence[0].method == by_frame.record()
    assert hidden(table, by_frame) == corner(2, 2)


def test_a_hint_that_cannot_be_kept_fails_with_the_cells_and_a_way_out():
    table = square(FLAT, 0, (2, 2))
    hints = dict.fromkeys([("r0", "t1"), ("r0", "t2"), ("r0", "Total")], "never")
    with pytest.raises(ds.DiscreetError, match=r"region=r0, trade=t0 \(impossible.*let 'region=r0, trade=Total'"):
        ds.protect(table, ds.Suppress(hints=hints))


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({("r0", "t0"): "never"}, r"never to withhold cells that are unsafe: 'region=r0, trade=t0'"),
        ({("r9", "t0"): 2}, r"1 cell that table 'value_by_region_trade' does not have: '\(r9, t0\)'"),
        ({("r0",): 2}, r"has 2 codes, \(r0\) has 1"),
        ([{"cell": {"size": "1"}, "times": 2}], r"no variable 'size'"),
        ([{"cell": ["r0", "t1"], "times": 2, "table": "x"}], r"no table 'x'"),
        (
            [{"cell": ["r0", "t1"], "times": 2}, {"cell": ["r0", "t1"], "times": 3}],
            r"contradict each other on region=r0, trade=t1",
        ),
    ],
)
def test_hints_that_do_not_fit_the_tables_are_refused(hints, message):
    with pytest.raises((InputError, ParameterError), match=message):
        ds.protect(square(FLAT, 0, (2, 2)), ds.Suppress(hints=hints))


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({("r0", "t0"): "nevr"}, r"no use 'nevr'.*Did you mean 'never'"),
        ({("r0", "t0"): -1}, r"\(r0, t0\) has times=-1.*0 is free"),
        ({("r0", "t0"): float("nan")}, r"times=nan"),
        ([{"cell": ["r0"], "time": 2}], r"no field 'time'.*Did you mean 'times'"),
        ([{"cell": ["r0"]}], r"\(r0\) says none"),
        ([{"cell": ["r0"], "times": 1, "cost": 1}], r"says 'times', 'cost'"),
        ([{"times": 1}], r"has no cell"),
        (["r0"], r"A hint is a str"),
    ],
)
def test_hints_that_say_nothing_clear_are_refused_at_once(hints, message):
    with pytest.raises(ParameterError, match=message):
        ds.Suppress(hints=hints)


def test_a_text_where_a_number_belongs_is_named(tmp_path):
    (tmp_path / "h.csv").write_text("region,times\nr0,1\nr1,never\n")
    with pytest.raises(InputError, match=r"'times' of the hints holds 'never' in record 2.*column 'use'"):
        ds.read_hints(tmp_path / "h.csv")


def last_period(*cells: tuple[str, str]) -> ds.Pattern:
    frame = pa.table({"region": [r for r, _ in cells], "trade": [t for _, t in cells]})
    return ds.read_pattern(frame, variables=["region", "trade"], all_are="secondary")


def test_what_was_withheld_last_period_is_withheld_again():
    table = square([10, 5, 10, 5, 5, 10, 10, 10, 10], 0, (2, 2))
    assert hidden(table, ds.Suppress()) == corner(1, 1)
    before = last_period(("r0", "t2"), ("r2", "t0"), ("r2", "t2"))
    assert hidden(table, ds.Suppress(prefer=before)) == corner(2, 2)
    assert hidden(table, ds.Suppress(prefer=before, prefer_share=1)) == corner(1, 1)


def test_cells_that_are_gone_since_last_period_are_reported():
    before = last_period(("r0", "t2"), ("r2", "t0"), ("r2", "t2"), ("r7", "t2"))
    release = ds.protect(square(FLAT, 0, (2, 2)), ds.Suppress(prefer=before))
    note = "Not in the tables: 1 of the 4 cells of the preferred pattern: '(r7, t2)'"
    assert release.custodian.log["notes"] == [note]
    assert f"note: {note}" in release.summary()


def test_a_pattern_of_something_else_cannot_be_preferred():
    with pytest.raises(ParameterError, match=r"None of the 1 cell of the preferred pattern.*'\(x, y\)'"):
        ds.protect(square(FLAT, 0, (2, 2)), ds.Suppress(prefer=last_period(("x", "y"))))
    named = last_period(("r0", "t0")).renamed({"": "other"})
    with pytest.raises(ParameterError, match=r"'other: \(r0, t0\)'"):
        ds.protect(square(FLAT, 0, (2, 2)), ds.Suppress(prefer=named))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prefer": 5}, r"takes a pattern, not a int"),
        ({"prefer": [{"table": "x"}]}, r"other fields than it should"),
        ({"prefer": [{"table": "x", "variables": ["r"], "cells": [["a", "b"]]}]}, r"another number of codes"),
        ({"prefer_share": 1.5}, r"prefer_share=1.5 is not allowed"),
        ({"prefer_share": -0.1}, r"prefer_share=-0.1"),
    ],
)
def test_impossible_preferences_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ds.Suppress(**parameters)


def test_the_record_is_plain_data_and_replays(tmp_path):
    before = last_period(("r0", "t2"), ("r2", "t0"), ("gone", "t2"))
    method = ds.Suppress(hints={("r1", "t1"): "avoid", ("r0", "t1"): 2}, prefer=before, cost="distance")
    record = json.loads(json.dumps(method.record()))
    assert method_from_record(record) == method
    release = ds.protect(square(FLAT, 0, (2, 2)), method)
    release.save(tmp_path / "one")
    loaded = ds.load(tmp_path / "one")
    loaded.replay().save(tmp_path / "two")
    for path in sorted((tmp_path / "one").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


def test_a_file_that_nobody_read_does_not_run():
    from discreet.relations import build_system

    with pytest.raises(NeedsError, match=r"'h.csv' \(hints=\) has not been read.*ds.protect"):
        ds.Suppress(hints="h.csv").run(build_system(square(FLAT, 0, (2, 2))))


def test_linked_tables_need_the_table_of_a_hint():
    frame = pa.table({"region": ["N"] * 9 + ["S"] * 9, "size": ["1", "2", "3"] * 6, "x": list(range(10, 28))})
    region, size = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["1", "2", "3"])
    specs = [
        ds.TableSpec(by={"region": region}, value="x", name="a"),
        ds.TableSpec(by={"region": region, "size": size}, value="x", name="b"),
    ]
    tables = ds.tabulate(frame, specs=specs).assess(ds.MinContributors(4))
    with pytest.raises(ParameterError, match=r"\(N\) does not say which table.*'a', 'b'"):
        ds.protect(tables, ds.Suppress(hints={("N",): 2}))
    release = ds.protect(tables, ds.Suppress(hints=[{"table": "a", "cell": ["N"], "use": "never"}]))
    assert release.public["a"].shown[1]
    # The same cell in the other table.
    assert release.public["b"].shown[np.flatnonzero((tables["b"].codes == (1, 0)).all(axis=1))].all()


# ---- acceptances from files ----------------------------------------------------------------------------------


def stuck() -> ds.Table:
    """An unsafe cell with everything around it published by force."""
    table = ds.examples.small_table()
    others = [table.spec_codes(c) for c in table.codes.tolist() if c != [1, 3]]
    return table.marked(dict.fromkeys(others, "P")).assess(ds.PPercent(10))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "trade,region,reason,name\nretail,South,agreed,A. Officer\n"),
        ("a.csv", "region,trade,class,reason,name\n,,impossible,agreed,A. Officer\n"),
        ("a.yaml", "- cells: [[retail, South]]\n  reason: agreed\n  name: A. Officer\n"),
        ("a.yml", "- cells:\n  - {region: South, trade: retail}\n  reason: agreed\n  name: A. Officer\n"),
        ("a.yaml", "- class: impossible\n  reason: agreed\n  name: A. Officer\n"),
    ],
)
def test_acceptances_from_a_file_stay_in_the_evidence(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    release = ds.protect(stuck(), ds.Suppress(accept=tmp_path / name))
    (taken,) = release.custodian.evidence[0].accepted
    assert (taken.cell, taken.reason, taken.name) == (("retail", "South"), "agreed", "A. Officer")
    assert name not in json.dumps(release.custodian.log)
    release.save(tmp_path / "out")
    assert "A. Officer" in str(ds.check_folder(tmp_path / "out").require())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "trade,region,reason\nretail,South,agreed\n", r"An acceptance has no name"),
        ("a.csv", "trade,class,reason,name\nretail,impossible,x,y\n", r"either cells or a class"),
        ("a.csv", "class,reason,name\nimposible,x,y\n", r"Did you mean 'impossible'"),
        ("a.yaml", "- cells: [[a]]\n  reason: x\n  nam: y\n", r"no field 'nam'"),
        ("a.yaml", "cells: [[a]]\n", r"'a.yaml' holds a dict.*Write a list"),
        ("a.yaml", "- just text\n", r"entries that are not mappings"),
        ("a.yaml", "- {a: [}\n", r"not valid yaml"),
        ("a.yaml", "- &x {reason: r}\n- *x\n", r"not valid yaml"),
        ("a.csv", None, r"There is no file 'a.csv'"),
        ("a.yaml", None, r"There is no file 'a.yaml'"),
    ],
)
def test_acceptance_files_that_cannot_be_used_are_refused(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises((InputError, ParameterError), match=message):
        ds.protect(stuck(), ds.Suppress(accept=tmp_path / name))


def test_accepting_another_cell_does_not_help(tmp_path):
    (tmp_path / "a.csv").write_text("trade,region,reason,name\nretail,North,agreed,A. Officer\n")
    with pytest.raises(ds.DiscreetError, match="cannot be protected"):
        ds.protect(stuck(), ds.Suppress(accept=tmp_path / "a.csv"))


# ---- any variable -------------------------------------------------------------------------------------------


def firms(**more: list[float]) -> ds.Microdata:
    """Nine cells of the same turnover, with staff that differs, and two firms in each."""
    rows = [(f"r{r}", f"t{t}", k) for r in range(3) for t in range(3) for k in range(2)]
    staff = [9 if (r, t) in (("r0", "t1"), ("r1", "t0"), ("r1", "t1")) else 1 for r, t, _ in rows]
    columns = {
        "region": [r for r, _, _ in rows],
        "trade": [t for _, t, _ in rows],
        "firm": [f"{r}{t}{k}" for r, t, k in rows],
        "turnover": [10] * len(rows),
        "staff": staff,
        **more,
    }
    return ds.Microdata(pa.table(columns), contributor="firm")


BY = {"region": ds.Hierarchy.flat(["r0", "r1", "r2"]), "trade": ds.Hierarchy.flat(["t0", "t1", "t2"])}


def turnover(data: ds.Microdata, **options: object) -> ds.Table:
    table = ds.tabulate(data, by=BY, value="turnover", **options)
    return table.marked({("r0", "t0"): "U"}, protection=(2, 2)).assess()


def test_a_column_of_the_records_can_be_the_cost(tmp_path):
    """The table was made without it; it is summed from the records, and the saved release can be made again."""
    method = ds.Suppress(cost="staff", insiders=None)
    assert hidden(turnover(firms()), method) == corner(2, 2)
    release = ds.protect(turnover(firms()), method)
    release.save(tmp_path / "out")
    again = ds.load(tmp_path / "out").replay()
    assert again.public.tables[0].status == release.public.tables[0].status
    assert "staff" not in (tmp_path / "out" / "public" / "turnover_by_region_trade.csv").read_text()


@pytest.mark.parametrize("cost", ["staff", "log(staff)", "variable"])
def test_a_declared_cost_is_taken_by_its_name(cost):
    table = turnover(firms(), cost="staff")
    assert hidden(table, ds.Suppress(cost=cost, insiders=None, exponent=0.5)) == corner(2, 2)


def test_another_table_of_the_set_can_be_the_cost():
    """The value of another table at the same place; its own cells cost their own value."""
    data = firms()
    staff = ds.tabulate(data, by=BY, value="staff").assess()
    tables = ds.TableSet([turnover(data), staff])
    release = ds.protect(tables, ds.Suppress(cost="staff", insiders=None))
    table = release.custodian.tables.tables[0]
    found = {table.spec_codes(c) for c in table.codes[release.custodian.withheld(0)].tolist()}
    assert found == corner(2, 2)


def test_logarithm_and_exponent_change_what_is_dear():
    system = build_system(turnover(firms(), cost="staff"))
    plain, log, root = (measured(system, "staff", 1), measured(system, "log(staff)", 1), measured(system, "staff", 0.5))
    assert log == pytest.approx(np.log1p(plain))
    assert root == pytest.approx(np.sqrt(plain))


def ready(worth: list[float | None], **options: object) -> ds.Table:
    cells = {"region": ["a", "b", "c"], "value": [10, 20, 30], "worth": worth}
    by = {"region": ds.Hierarchy.flat(["a", "b", "c"])}
    table = ds.Table.from_cells(pa.table(cells), by=by, compute_totals=True, cost="worth", **options)
    return table.marked({("a",): "U"}, protection=(2, 2)).assess()


def test_a_column_of_ready_made_cells_can_be_the_cost():
    assert hidden(ready([1, 9, 2]), ds.Suppress(cost="worth")) == {("a",), ("c",)}
    assert hidden(ready([1, 2, 9]), ds.Suppress(cost="worth")) == {("a",), ("b",)}
    assert ready([1, 2, 9]).cost.tolist() == [12, 1, 2, 9]


@pytest.mark.parametrize(
    ("worth", "message"),
    [([1, None, 2], "empty in row 2"), ([1, -3, 2], "negative in row 2"), ([1.0, float("nan"), 2.0], "worth")],
)
def test_missing_and_negative_costs_of_ready_made_cells_are_refused(worth, message):
    with pytest.raises(InputError, match=message):
        ready(worth)


def test_a_cost_column_that_is_not_there_is_refused():
    cells = pa.table({"region": ["a"], "value": [10]})
    with pytest.raises(InputError, match="no column 'worth'"):
        ds.Table.from_cells(cells, by={"region": ds.Hierarchy.flat(["a"])}, compute_totals=True, cost="worth")


def test_costs_that_nobody_has_are_refused_with_what_there_is():
    table = square(FLAT, 0, (2, 2))
    with pytest.raises(NeedsError, match=r"no cost 'wealth'.*'value'"):
        ds.protect(table, ds.Suppress(cost="wealth"))
    with pytest.raises(ds.DiscreetError, match="wealth"):
        ds.protect(turnover(firms()), ds.Suppress(cost="wealth"))


@pytest.mark.parametrize("profit", [-5.0, float("inf"), float("nan")])
def test_a_variable_that_is_no_cost_in_some_cell_is_refused(profit):
    table = turnover(firms())
    worth = np.full(len(table), 1.0)
    worth[4] = profit
    bad = table.with_(cost=worth, spec=table.spec.with_(cost="profit"))
    for cost in ("profit", "variable", "log(profit)"):
        with pytest.raises(InputError, match=r"cost.*cell of table"):
            ds.protect(bad, ds.Suppress(cost=cost))


@pytest.mark.parametrize("cost", ["", " ", "log()", None, 3, "valuee", "counts"])
def test_what_is_no_name_and_what_is_misspelt_is_no_cost(cost):
    with pytest.raises(ParameterError, match="cost"):
        ds.Suppress(cost=cost)


def test_powers_beyond_all_numbers_are_refused():
    with pytest.raises(ParameterError, match="power of 400"):
        ds.protect(square(FLAT, 0, (2, 2)), ds.Suppress(exponent=400))
