"""Contributors who have nothing hide nobody, and weights hide only where the rule lets them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.rules import reasons, rule_from_record
from discreet.verify.rules import Recheck
from tests.rules.making import assessed, counts, magnitudes

FEW = st.integers(2, 4)


@st.composite
def surveys(draw):
    """Records of some holdings in two regions, most of which have nothing, with weights."""
    size = draw(st.integers(1, 12))
    column = {
        "region": st.sampled_from(["n", "s"]),
        "firm": st.integers(1, 6),
        "income": st.sampled_from([0, 0, 0, 5, -5, 40]),
        "w": st.sampled_from([1.0, 2.5, 50.0]),
    }
    return {name: [draw(values) for _ in range(size)] for name, values in column.items()}


def who_has_something(records, region, each):
    """Contributors whose weighted sum in a region (of everybody where there is none) is not zero."""
    sums = {}
    for row in range(len(records["firm"])):
        if region in ("Total", records["region"][row]):
            who = records["firm"][row] if each == "firm" else row
            sums[who] = sums.get(who, 0) + records["income"][row] * records["w"][row]
    return len([total for total in sums.values() if total]), len(sums)


@settings(max_examples=60, deadline=None)
@given(records=surveys(), n=FEW, engine=st.sampled_from(["memory", "duckdb"]), absolute=st.booleans())
def test_a_safe_cell_has_enough_contributors_with_a_value(tmp_path_factory, records, n, engine, absolute):
    source = pa.table(records)
    if engine == "duckdb":
        path = tmp_path_factory.getbasetemp() / "survey.csv"
        csv.write_csv(source, path)
        source = str(path)
    data = ds.Microdata(source, contributor="firm", weight="w")
    by = {"region": ds.Hierarchy.flat(["n", "s"])}
    table = ds.tabulate(data, by=by, value="income", engine=engine, absolute=absolute)
    for rule, each in ((ds.MinContributors(n), "firm"), (ds.MinFrequency(n), "record")):
        unsafe = table.assess(rule).unsafe
        for row in range(len(table)):
            region = table.spec.by["region"].codes[table.codes[row, 0]]
            some, everybody = who_has_something(records, region, each)
            assert unsafe[row] == (0 < (some or everybody) < n)


def test_too_few_contributors_with_a_value_are_too_few_however_many_have_nothing():
    table = magnitudes([100, 0, 0, 0], [60, 40, 0, 0], [50, 30, 20, 0], [0, 0, 0])
    assert assessed(table, ds.MinContributors(3)) == [(30, 30), (30, 30), None, None]
    assert assessed(table, ds.MinFrequency(3)) == [(30, 30), (30, 30), None, None]
    said = reasons(table.assess(ds.MinContributors(3), ds.MinFrequency(3)), 0)
    assert said == [
        "too few contributors: 1 with a value, of 4 (at least 3 needed)",
        "low frequency: 1 with a value, of 4 (at least 3 needed)",
    ]


def test_zeros_count_when_asked_for_by_name():
    table = magnitudes([100, 0, 0, 0], [60, 40])
    assert assessed(table, ds.MinContributors(3, zeros=True)) == [None, (30, 30)]
    assert assessed(table, ds.MinFrequency(3, zeros=True)) == [None, (30, 30)]


def test_where_nobody_has_anything_all_contributors_count():
    assert assessed(magnitudes([0, 0], [0, 0, 0]), ds.MinContributors(3)) == [(0, 1), None]


def test_a_list_of_largest_contributions_that_ends_with_zeros_tells_who_has_something():
    cells = pa.table(
        {"cell": ["a", "b"], "value": [100, 100], "contributors": [5, 5], "top1": [100, 60], "top2": [0, 30]}
    )
    table = ds.Table.from_cells(cells, by={"cell": ds.Hierarchy.flat(["a", "b"], total=None)})
    assert assessed(table, ds.MinContributors(3)) == [(30, 30), None]
    assert assessed(table, ds.MinContributors(3, zeros=True)) == [None, None]


def test_the_shadow_variable_does_not_say_who_has_a_value():
    frame = pa.table({"turnover": [100, 0, 0], "staff": [1, 1, 1]})
    frame = frame.append_column("cell", pa.array(["a"] * 3))
    table = ds.tabulate(frame, by={"cell": ds.Hierarchy.flat(["a"], total=None)}, value="turnover", shadow="staff")
    assert table.contributions["holding"].nonzero.tolist() == [1]
    assert assessed(table, ds.MinContributors(3)) == [(30, 30)]


def weighted(*cells, weights):
    return magnitudes(*cells, weights=weights)


def test_each_contribution_counts_once_against_the_weighted_sum():
    # 60 of weight 1 beside 10 of weight 4: once, 60 of 100 is 60 %; as often as it weighs, the same; 10 is the next.
    table = weighted([60, 10], weights=[[1, 4]])
    assert assessed(table, ds.Dominance(2, 65, weights="once")) == [(8, 8)]  # 70 / 0.65 - 100 = 7.69...
    assert assessed(table, ds.Dominance(2, 75, weights="once")) == [None]


def test_without_weights_the_level_is_the_same_share_of_the_weighted_value():
    # 100 of weight 10 is 1000: as often as it weighs, the two largest leave 800. Without weights it stands alone.
    table = weighted([100], weights=[[10]])
    assert assessed(table, ds.PPercent(10)) == [None]
    assert assessed(table, ds.PPercent(10, weights="ignore")) == [(100, 100)]  # 10 of 100, of 1000
    assert assessed(table, ds.Dominance(1, 80, weights="ignore")) == [(250, 250)]  # 100 / 0.8 - 100 = 25 of 100


def test_without_sampling_weights_the_ways_to_take_them_are_one():
    table = magnitudes([100, 50, 5], [40, 35, 25])
    for make in (lambda how: ds.PPercent(10, weights=how), lambda how: ds.Dominance(1, 60, weights=how)):
        assert len({str(assessed(table, make(how))) for how in (None, "once", "ignore")}) == 1


def test_a_way_to_take_weights_that_is_not_known_is_refused():
    with pytest.raises(ParameterError, match="weights='never' is not allowed"):
        ds.PPercent(10, weights="never")


def test_a_table_that_does_not_tell_contributions_without_weights_is_refused():
    table = magnitudes([100, 5], spec={"weight": "w"})
    with pytest.raises(NeedsError, match="needs contributions without their weights"):
        table.assess(ds.PPercent(10, weights="once"))


def test_an_assessment_says_how_many_safe_cells_rest_on_weights_or_zeros():
    table = weighted([100, 0, 0], [40, 35, 30], weights=[[10, 1, 1], [10, 10, 10]])
    judged = table.assess(ds.PPercent(10), ds.MinContributors(3, zeros=True))
    assert judged.assessment.on_weights.tolist() == [True, False]
    assert judged.assessment.on_zeros.tolist() == [True, False]
    assert "1 safe cell rests on weights" in str(judged)
    assert "1 safe cell rests on zeros" in str(judged)
    strict = table.assess(ds.PPercent(10, weights="ignore"), ds.MinContributors(3))
    assert strict.assessment.on_zeros is None
    assert not np.any(strict.assessment.on_weights)


def test_safe_cells_rest_on_zeros_without_weights_and_under_any_of_the_rules():
    table = magnitudes([100, 0, 0], [40, 35, 0, 0], [40, 35, 30, 20], [5])
    rules = [ds.MinContributors(3, zeros=True), ds.MinContributors(2, zeros=True)]
    for some in (rules, rules[::-1]):
        found = table.assess(*some).assessment
        assert found.unsafe.tolist() == [False, False, False, True]
        assert found.on_zeros.tolist() == [True, True, False, False]  # what is unsafe rests on nothing
        assert found.on_weights is None


def test_only_what_a_rule_lets_count_can_be_rested_on():
    plain = magnitudes([100, 0, 0]).assess(ds.MinFrequency(2, weighted=True, zeros=True)).assessment
    assert plain.on_weights is None
    assert plain.on_zeros.tolist() == [True]
    people = counts({"region": ds.Hierarchy.flat(["n", "s"], total=None)}, {("n",): 20, ("s",): 3})
    people = people.with_(
        spec=people.spec.with_(weight="w"), records=np.array([2, 3]), weighted=people.value, nonzero=None
    )
    found = people.assess(ds.MinFrequency(3, weighted=True, zeros=True)).assessment
    assert found.on_weights.tolist() == [True, False]
    assert found.on_zeros is None


@pytest.mark.parametrize(
    ("rule", "cell", "level"),
    [
        (ds.Dominance(1, 75, inclusive=True), [75, 25], 1),
        (ds.Dominance(2, 80, inclusive=True), [50, 30, 20], 1),
        (ds.PPercent(10, inclusive=True), [100, 50, 10], 1),
        (ds.PriorPosterior(10, 50, inclusive=True), [100, 50, 20], 1),
        (ds.MaxShare(0.75, inclusive=True), [75, 25], 1),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_at_exactly_the_limit_a_cell_is_unsafe_when_asked_for_by_name(rule, cell, level):
    plain = rule_from_record({k: v for k, v in rule.record().items() if k != "inclusive"})
    assert assessed(magnitudes(cell), plain) == [None]
    assert assessed(magnitudes(cell), rule) == [(level, level)]
    assert assessed(magnitudes([0, 0]), rule) == [None]


def test_the_verdict_says_what_safe_cells_rest_on():
    table = weighted([100, 0, 0], [40, 35, 30], weights=[[10, 1, 1], [10, 10, 10]])
    judged = table.assess(ds.PPercent(10), ds.MinContributors(3, zeros=True))
    assert Recheck(judged).resting == (1, 1)
    assert Recheck(table.assess(ds.PPercent(10, weights="ignore"), ds.MinContributors(3))).resting == (0, 0)
