"""Impossible parameters and missing inputs are refused at once, in words that say what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.rules import rule_from_record
from tests.rules.making import magnitudes

PERCENT = "Use more than 0 up to 100."
WHOLE = "Use a whole number from 1 to 1000000000."
SHARE = "Use more than 0, below 1."
BELOW = "Use more than 0, below 100."
WIDE = "Use more than 0 up to 1000."


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (lambda: ds.PPercent(0), "p_percent: p=0 is not allowed.", PERCENT),
        (lambda: ds.PPercent(-3), "p_percent: p=-3 is not allowed.", PERCENT),
        (lambda: ds.PPercent(100.5), "p_percent: p=100.5 is not allowed.", PERCENT),
        (lambda: ds.PPercent(float("nan")), "p_percent: p=nan is not allowed.", PERCENT),
        (lambda: ds.PPercent(True), "p_percent: p=True is not allowed.", PERCENT),
        (lambda: ds.PPercent("10"), "p_percent: p='10' is not allowed.", PERCENT),
        (lambda: ds.PPercent(10, coalition=0), "p_percent: coalition=0 is not allowed.", WHOLE),
        (lambda: ds.PPercent(10, coalition=1.5), "p_percent: coalition=1.5 is not allowed.", WHOLE),
        (lambda: ds.PriorPosterior(0, 50), "prior_posterior: p=0 is not allowed.", "Use more than 0 up to 10000."),
        (lambda: ds.PriorPosterior(5, -1), "prior_posterior: q=-1 is not allowed.", "Use more than 0 up to 10000."),
        (lambda: ds.PriorPosterior(5, 10, 0), "prior_posterior: coalition=0 is not allowed.", WHOLE),
        (
            lambda: ds.PriorPosterior(60, 50),
            "prior_posterior: p=60 is larger than q=50.",
            "Knowledge after publication (p) cannot be asked to be vaguer than before (q).",
        ),
        (lambda: ds.Dominance(0, 70), "dominance: n=0 is not allowed.", WHOLE),
        (lambda: ds.Dominance(True, 70), "dominance: n=True is not allowed.", WHOLE),
        (lambda: ds.Dominance(1, 100), "dominance: k=100 is not allowed.", BELOW),
        (lambda: ds.Dominance(1, 120), "dominance: k=120 is not allowed.", BELOW),
        (lambda: ds.Dominance(1, 0), "dominance: k=0 is not allowed.", BELOW),
        (lambda: ds.Dominance(1, True), "dominance: k=True is not allowed.", BELOW),
        (lambda: ds.MaxShare(1), "max_share: share=1 is not allowed.", SHARE),
        (lambda: ds.MaxShare(0), "max_share: share=0 is not allowed.", SHARE),
        (lambda: ds.MaxShare(50), "max_share: share=50 is not allowed.", SHARE),
        (lambda: ds.MinContributors(0), "min_contributors: n=0 is not allowed.", WHOLE),
        (lambda: ds.MinContributors(10**30), f"min_contributors: n={10**30} is not allowed.", WHOLE),
        (lambda: ds.MinContributors(3, range=0), "min_contributors: range=0 is not allowed.", WIDE),
        (lambda: ds.MinContributors(3, range=1001), "min_contributors: range=1001 is not allowed.", WIDE),
        (lambda: ds.MinFrequency(0), "min_frequency: n=0 is not allowed.", WHOLE),
        (lambda: ds.MinFrequency(3, range=-1), "min_frequency: range=-1 is not allowed.", WIDE),
        (
            lambda: ds.MinFrequency(3, weighted="no"),
            "min_frequency: weighted='no' is not allowed.",
            "Use true or false.",
        ),
        (lambda: ds.ZeroUnsafe(0), "zero_unsafe: range=0 is not allowed.", "Use more than 0 up to 1e+15."),
        (lambda: ds.Request(0), "request: p1=0 is not allowed.", PERCENT),
        (lambda: ds.Request(10, 101), "request: p2=101 is not allowed.", PERCENT),
        (lambda: ds.Request(10, n=0), "request: n=0 is not allowed.", WHOLE),
        (lambda: ds.Request(10, range=0), "request: range=0 is not allowed.", WIDE),
        (
            lambda: ds.GroupDisclosure("sex", k=-1),
            "group_disclosure: k=-1 is not allowed.",
            "Use a whole number from 0 to 1000000000.",
        ),
        (lambda: ds.GroupDisclosure("sex", k=True), "group_disclosure: k=True is not allowed.", None),
        (lambda: ds.GroupDisclosure(5), "group_disclosure: variable=5 is not allowed.", "Give its name."),
        (
            lambda: ds.PPercent(10, level="firm"),
            "p_percent: level='firm' is not allowed.",
            "Use 'holding' or 'record'.",
        ),
        (
            lambda: ds.PPercent(10, tables=[3]),
            "p_percent: tables=[3] is not allowed.",
            "Give names of tables in a list.",
        ),
        (lambda: ds.PPercent(10, tables=[""]), "p_percent: tables=[''] is not allowed.", None),
    ],
)
def test_a_rule_with_an_impossible_parameter_cannot_be_made(make, message, hint):
    with pytest.raises(ParameterError) as error:
        make()
    assert error.value.message == message
    assert hint is None or error.value.hint == hint


def test_the_ends_of_the_ranges_are_allowed():
    rules = [ds.PPercent(100), ds.PriorPosterior(50, 50), ds.Dominance(1, 99.9), ds.MaxShare(0.999), ds.Request(100)]
    assert [rule.kind for rule in rules] == ["p_percent", "prior_posterior", "dominance", "max_share", "request"]


def test_numbers_of_numpy_become_plain_ones():
    rule = ds.Dominance(np.int64(2), np.float64(80.5))
    assert rule == ds.Dominance(2, 80.5)
    assert [type(value) for value in (rule.n, rule.k)] == [int, float]
    with pytest.raises(ParameterError, match="n=True is not allowed"):
        ds.Dominance(np.bool_(True), 80)


@pytest.mark.parametrize(
    "rule",
    [
        ds.PPercent(10, coalition=2, level="record", tables=("a", "b")),
        ds.PriorPosterior(5, 50),
        ds.Dominance(2, 80.5),
        ds.MaxShare(0.5),
        ds.MinContributors(3, range=12.5),
        ds.MinFrequency(3, weighted=True),
        ds.ZeroUnsafe(2.5),
        ds.Request(25),
        ds.Request(25, 40, n=3),
        ds.GroupDisclosure("sex", k=1),
    ],
    ids=lambda rule: rule.kind,
)
def test_a_rule_survives_as_plain_data(rule):
    assert rule_from_record(rule.record()) == rule
    assert rule_from_record({**rule.record(), "tables": list(rule.tables)}) == rule


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"kind": "p_percnt", "p": 10}, "There is no rule 'p_percnt'. Did you mean 'p_percent'? Available: "),
        ({"p": 10}, "There is no rule ''. Available: "),
        (
            {"kind": "p_percent", "p": 10, "colition": 2},
            "There is no parameter 'colition' in rule 'p_percent'. Did you mean 'coalition'? "
            "Available: 'p', 'coalition', 'level', 'inclusive', 'weights', 'below_one', 'tables'.",
        ),
        ({"kind": "dominance", "k": 70}, "Rule 'dominance' needs 'n'. It takes 'n', 'k', 'level', "),
        ({"kind": "p_percent", "p": 10, "tables": 3}, "p_percent: tables=3 is not allowed."),
    ],
)
def test_records_with_unknown_or_missing_parameters_are_refused(record, message):
    with pytest.raises(ParameterError) as error:
        rule_from_record(record)
    assert str(error.value).startswith(message)


# ---- what a rule needs ---------------------------------------------------------------------------------------


def ready_made(**columns):
    cells = pa.table({"cell": ["", "a", "b"], "value": [30, 20, 10], **columns})
    return ds.Table.from_cells(cells, by={"cell": ds.Hierarchy.flat(["a", "b"])}, name="ready")


def tabulated(**options):
    firms = pa.table({"cell": ["a", "a", "b"], "turnover": [5, 7, 9], "firm": [1, 2, 3]})
    by = {"cell": ds.Hierarchy.flat(["a", "b"])}
    return ds.tabulate(firms, by=by, value="turnover", name="made", contributor="firm", **options)


TOP = {"contributors": [4, 3, 1], "top1": [12, 12, 10], "top2": [10, 6, 0]}


@pytest.mark.parametrize(
    ("table", "rule", "message"),
    [
        (
            lambda: tabulated(top=2),
            ds.PPercent(10, coalition=2),
            "Rule 'p_percent' needs the 3 largest contributions of each cell; table 'made' keeps 2. "
            "Please tabulate with top=3.",
        ),
        (
            lambda: tabulated(),
            ds.Dominance(5, 90),
            "Rule 'dominance' needs the 5 largest contributions of each cell; table 'made' keeps 3. "
            "Please tabulate with top=5.",
        ),
        (
            lambda: ready_made(**TOP),
            ds.PriorPosterior(5, 50, coalition=2),
            "Rule 'prior_posterior' needs the 3 largest contributions of each cell; table 'ready' keeps 2. "
            "Please give from_cells the columns 'top1', 'top2', 'top3'.",
        ),
        (
            lambda: ready_made(contributors=[4, 3, 1]),
            ds.MaxShare(0.5),
            "Rule 'max_share' needs the 1 largest contributions of each cell; table 'ready' keeps 0. "
            "Please give from_cells the columns 'top1'.",
        ),
        (
            lambda: tabulated(),
            ds.PPercent(10, level="record"),
            "Rule 'p_percent' needs contributions per record in table 'made'. "
            "Please tabulate with levels=('holding', 'record').",
        ),
        (
            lambda: ready_made(**TOP),
            ds.MinContributors(3, level="record"),
            "Rule 'min_contributors' needs contributions per record in table 'ready'. "
            "Please use level='holding': a ready-made table knows one kind of contributor.",
        ),
        (
            ready_made,
            ds.MinContributors(3),
            "Rule 'min_contributors' needs contributions per holding in table 'ready'. "
            "Please give from_cells a column 'contributors' and, for the largest contributions, 'top1', 'top2' "
            "and so on.",
        ),
        (
            ready_made,
            ds.MinFrequency(3),
            "Rule 'min_frequency' needs the number of records of each cell in table 'ready'. "
            "Please give from_cells a column 'contributors'.",
        ),
        (
            lambda: tabulated(),
            ds.Request(25),
            "Rule 'request' needs to know who asked for protection in table 'made'. "
            "Please give the column request= (0, 1 or 2) to Microdata and tabulate.",
        ),
        (
            lambda: ready_made(**TOP),
            ds.Request(25),
            "Rule 'request' needs to know who asked for protection in table 'ready'. "
            "Please tabulate from records with the column request= (0, 1 or 2): ready-made tables cannot say.",
        ),
    ],
)
def test_a_table_without_what_a_rule_needs_is_refused_with_the_way_to_supply_it(table, rule, message):
    with pytest.raises(NeedsError) as error:
        table().assess(rule)
    assert str(error.value) == message


def test_the_way_that_an_error_shows_leads_on():
    assert tabulated(top=3).assess(ds.PPercent(10, coalition=2)).unsafe.all()
    levels = tabulated(levels=("holding", "record")).assess(ds.PPercent(10, level="record"))
    assert levels.unsafe.tolist() == [False, True, True]
    assert ready_made(**TOP).assess(ds.PPercent(10)).unsafe.tolist() == [False, False, True]


def test_only_rules_can_be_assessed():
    with pytest.raises(ParameterError, match=r"rules for tables, not a int. For example ds.PPercent\(10\)"):
        magnitudes([100]).assess(10)


def test_a_rule_cannot_be_changed_after_it_was_checked():
    rule = ds.PPercent(10)
    with pytest.raises(AttributeError):
        rule.p = 0
    with pytest.raises(ParameterError):
        replace(rule, p=0)


@pytest.mark.parametrize(
    ("make", "given", "meant"),
    [
        (lambda **k: ds.PPercent(0.1, **k), "p_percent: p=0.1", "10"),
        (lambda **k: ds.PriorPosterior(0.05, 0.5, **k), "prior_posterior: q=0.5", "50"),
        (lambda **k: ds.PriorPosterior(0.05, 50, **k), "prior_posterior: p=0.05", "5"),
        (lambda **k: ds.Dominance(1, 0.75, **k), "dominance: k=0.75", "75"),
        (lambda **k: ds.MinContributors(3, 0.3, **k), "min_contributors: range=0.3", "30"),
        (lambda **k: ds.MinFrequency(3, 0.3, **k), "min_frequency: range=0.3", "30"),
        (lambda **k: ds.Request(0.7, **k), "request: p1=0.7", "70"),
        (lambda **k: ds.Request(70, 0.85, **k), "request: p2=0.85", "85"),
        (lambda **k: ds.Request(70, range=0.2, **k), "request: range=0.2", "20"),
    ],
)
def test_a_share_in_place_of_a_percentage_is_refused_and_taken_by_name_only(make, given, meant):
    with pytest.raises(ParameterError, match=f"{given} is less than one per cent") as error:
        make()
    assert f"Did you mean {meant}?" in str(error.value.hint)
    rule = make(below_one=True)
    assert rule_from_record(rule.record()) == rule


def test_a_share_in_place_of_the_range_of_marks_by_hand_is_refused():
    with pytest.raises(ParameterError, match=r"manual_range=0\.2 is less than one per cent"):
        magnitudes([100, 5]).assess(manual_range=0.2)
