"""What was cut short, or rounded, is said."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.verbs.limits import limit_notes

flat = ds.Hierarchy.flat


def survey() -> ds.Table:
    made = ds.generate.business_survey(400, seed=3, activities=(2, 4), regions=(2, 4))
    by = {name: ds.Hierarchy.from_parents(made.parents[name], "Total") for name in ("activity", "region")}
    table = ds.tabulate(made.records, by=by, value="turnover", contributor="holding")
    return table.assess(ds.PPercent(10))


def test_a_limit_that_was_reached_says_what_it_cost_and_how_to_go_on():
    effort = {"limit_struck_at": 40, "limit_struck_cells": 312, "limit_struck_of": 862}
    [said] = limit_notes(ds.Suppress(time_limit=60), effort)
    assert said.startswith(
        "The time limit of 60 s was reached when 312 of 862 unsafe cells had been protected with care."
    )
    assert "more cells are probably withheld than needed" in said
    assert said.endswith("To go on, raise time_limit or leave it out, and protect again.")
    [later] = limit_notes(ds.Suppress(effort=40), {**effort, "limit_struck_cells": 862})
    assert later.startswith("The limit of effort (40) was reached while cells were being looked for")
    [rounding] = limit_notes(ds.Round(5, time_limit=1.5), {"limit_struck_at": 0})
    assert rounding.startswith("The time limit of 1.5 s was reached. All that is claimed holds, but values may be")


def test_an_optimum_that_was_not_proved_says_so():
    method = ds.Suppress(algorithm="optimal", time_limit=60)
    [said] = limit_notes(method, {"proven": 0, "cost": 200, "least_cost": 190})
    assert said.startswith("The optimum was not proved: what is withheld may cost at most 5.0 % more than")
    assert limit_notes(method, {"proven": 1, "cost": 200, "least_cost": 200}) == []


def test_the_note_stands_in_the_release_and_an_optimum_says_what_it_was_completed_by():
    release = ds.protect(survey(), ds.Suppress(effort=1))
    assert "note: The limit of effort (1) was reached when" in release.summary()
    best = ds.protect(survey(), ds.Suppress(algorithm="optimal"))
    finding = best.custodian.evidence[0].findings[-1]
    assert finding.startswith("the optimum against outsiders alone ")
    assert best.verify().holds


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_fractions_are_published_with_sensible_decimals_and_a_note(tmp_path, engine):
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    import pyarrow.parquet as pq

    frame = pa.table({"r": ["a"] * 6 + ["b"] * 6, "x": [1 / 3] * 12})
    pq.write_table(frame, tmp_path / "x.parquet")
    table = ds.tabulate(tmp_path / "x.parquet", by={"r": flat("ab")}, value="x", engine=engine)
    release = ds.protect(table.assess(ds.MinContributors(3)), ds.Suppress())
    assert release.to_frame().to_pydict()["value"] == [4.0, 2.0, 2.0]
    assert release.public.tables[0].decimals == 5
    assert "are published rounded to 5 decimals; decimals= chooses another number" in release.summary()
    assert release.verify().holds


def test_decimals_that_write_the_values_are_kept():
    frame = pa.table({"r": ["a"] * 3 + ["b"] * 3, "x": [0.123456] * 6})
    table = ds.tabulate(frame, by={"r": flat("ab")}, value="x")
    assert (table.spec.fewest, table.notes) == (True, ())


def test_a_misspelt_option_and_a_class_are_named():
    frame = pa.table({"r": ["a"], "x": [1]})
    with pytest.raises(ds.DiscreetError, match=r"no option 'contributorr' in tabulate. Did you mean 'contributor'?"):
        ds.tabulate(frame, by={"r": flat("a")}, contributorr="x")
    with pytest.raises(ds.DiscreetError, match=r"PPercent is a class. Give its parameters: ds.PPercent"):
        ds.tabulate(frame, by={"r": flat("a")}).assess(ds.PPercent)


def test_work_that_somebody_stopped_says_so() -> None:
    [said] = limit_notes(ds.Suppress(effort="best"), {"limit_struck_at": 40})
    assert said.startswith("The work was stopped on request. All that is claimed holds")
    assert said.endswith("To go on, protect again.")
