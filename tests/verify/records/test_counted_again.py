"""What the checker of records counts for itself, beside plain Python: costs, risks, intervals, means and units."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb, floor, isclose
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.records import ColumnInfo, RecordSet
from discreet.verify import check_records
from discreet.verify.records.anonymity import check_anonymity
from discreet.verify.records.blank_bounds import _least
from discreet.verify.records.blank_risk import risk_of_groups
from discreet.verify.records.blanked import _sizes, weight_column
from discreet.verify.records.broader import Broader, interval
from discreet.verify.records.check import _marked
from discreet.verify.records.generalised import _about
from discreet.verify.records.keyed_draws import identity_of
from discreet.verify.records.lost import _bits
from discreet.verify.records.microaggregated import _lost, _wrong_groups
from discreet.verify.records.multiplied_records import _units as units_of_column
from discreet.verify.records.value_columns import whole_units
from discreet.verify.verdict import Verdict
from tests.verify.records.test_forged_blanks import BlankForgery, refused
from tests.verify.records.test_forged_groups import GroupForgery
from tests.verify.records.test_forged_groups import refused as refused_groups
from tests.verify.records.test_forged_ranks import release as exchanged

# ---- keys -------------------------------------------------------------------------------------------------------


def test_more_keys_at_once_than_there_are_are_all_of_them():
    """Otherwise no combination would be counted at all."""
    verdict = Verdict()
    rule = {"kind": "k_anonymity", "k": 2, "keys": ["a", "b"], "missing": "category", "size": 5}
    check_anonymity(verdict, pa.table({"a": ["x", "x"], "b": ["y", "z"]}), rule, {})
    assert [str(r) for r in verdict.refused] == ["rules: 2 combinations occur fewer than 2 times (a, b)"]

    def forge(f: BlankForgery) -> None:
        f.method["size"] = 9
        f.forged |= {"least": 0.0, "shares": []}

    refused(forge, "fewer than 3 times", "pairs")


@pytest.mark.parametrize(
    ("size", "missing", "sizes"),
    [
        (None, "category", [3]),
        (None, "exempt", [3]),
        (2, "category", [2]),
        (2, "exempt", [1, 2]),
        (7, "exempt", [1, 2, 3]),
        (7, "any", [3]),
    ],
)
def test_how_many_keys_at_once_are_counted(size, missing, sizes):
    assert list(_sizes({"size": size, "missing": missing}, 3)) == sizes


@pytest.mark.parametrize(
    ("named", "columns", "wanted"),
    [
        (None, {"w": "weight", "a": ""}, "w"),
        (None, {"a": ""}, ""),
        ("weight", {"w": "weight"}, "w"),
        ("weight", {"w": "weight", "weight": ""}, "weight"),
        ("weight", {"a": ""}, ""),
        ("a", {"w": "weight", "a": ""}, "a"),
        ("b", {"w": "weight", "a": ""}, "b"),
    ],
)
def test_which_column_has_the_weights(named, columns, wanted):
    step = stepped(columns, method={"weight": named})
    assert weight_column(step) == wanted


def stepped(roles: dict[str, str], method: dict[str, Any], hierarchies: Any = None) -> Any:
    """A step about columns with some roles."""
    table = pa.table({name: ["x"] for name in roles})
    info = {name: ColumnInfo(role) for name, role in roles.items()}
    original = RecordSet(table, info, hierarchies=hierarchies or {})
    return SimpleNamespace(method=method, original=original, before={name: table[name] for name in roles})


# ---- what emptying costs, and what it leaves of the risk ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_the_least_that_emptying_the_fields_of_a_record_costs(seed):
    draw = np.random.default_rng(seed)
    rows, keys, k = 14, ["a", "b", "c"], int(draw.integers(2, 5))
    codes = {name: draw.integers(-1, 3, rows) for name in keys} | {"s": draw.integers(0, 2, rows)}
    price = draw.integers(1, 9, (rows, 3)).astype(float)
    found = _least(codes, keys, keys, price, lambda group, rows: np.bincount(group)[group[rows]] >= k, "s")
    for row in range(rows):
        full = [name for name in keys if codes[name][row] >= 0]
        best = []
        for gone in chain.from_iterable(combinations(full, size) for size in range(len(full) + 1)):
            # What was empty before counts as a value where nothing is emptied, and not at all afterwards.
            left = [name for name in (full if gone else keys) if name not in gone]
            alike = sum(all(codes[n][row] == codes[n][other] for n in [*left, "s"]) for other in range(rows))
            if alike >= k or len(gone) == len(full) or (not gone and _agree(codes, full, row, rows) >= k):
                best.append(sum(price[row, keys.index(name)] for name in gone))
        assert found[row] == min(best), (seed, row)


def _agree(codes: dict[str, Any], names: list[str], row: int, rows: int) -> int:
    return sum(all(codes[n][row] == codes[n][other] for n in [*names, "s"]) for other in range(rows))


@pytest.mark.parametrize("records", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("share", [1.0, 0.9, 0.5, 0.41, 0.4, 0.39, 0.1])
def test_the_risk_of_a_record_is_the_mean_of_one_over_the_number_of_persons(records, share):
    """The number of persons is at least that of records: the sum over all that it may be."""
    chances = [comb(n - 1, records - 1) * share**records * (1 - share) ** (n - records) for n in range(records, 900)]
    wanted = sum(chance / (records + i) for i, chance in enumerate(chances))
    (found,) = risk_of_groups(np.array([float(records)]), np.array([records / share]), 1e-6)
    assert isclose(found, wanted, rel_tol=1e-6)


def test_risks_are_those_within_strata():
    def forge(f: BlankForgery) -> None:
        f.method["strata"] = f.forged["strata"] = ["part"]

    refused(forge, "a risk above the limit", "risk", alone=False)


# ---- codes that stand above others ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("5-9", (5, 9)),
        ("5-5", (5, 5)),
        ("6-5", None),
        ("-5 to 2.5", (-5, 2.5)),
        ("a to 5", None),
        ("5 to a", None),
        ("5", None),
    ],
)
def test_intervals_by_their_names(text, wanted):
    assert interval(text) == wanted


def test_an_empty_field_loses_nothing():
    tree = Broader("x", {"a": ["a", "all"]}, {"a": 1, "all": 2}, 2, [("?", "?")], 1, 1, None)
    assert tree.width(None, None) == tree.width("?", "?") == 0.0
    assert tree.width("a", "all") == 1.0


def test_gaps_and_codes_for_unknown_lose_no_bits():
    """They stay apart from codes that are written alike, and from those above them."""
    lines = {code: [code, "all"] for code in ("None", "a", "?")}
    values = pa.chunked_array([pa.array(["None", None, "a", "?"])])
    every = np.ones(4, np.bool_)
    for level, wanted in ((0, 0.0), (1, 2.0)):
        tree = Broader("x", lines, {}, 3, [("?", "?")], level, 1, None)
        assert _bits(tree, values, every, every) == wanted


def gapped(algorithm: str) -> ds.Release:
    draw = np.random.default_rng(6)
    ages = [f"{age:02d}" for age in range(30)]
    people = pa.table(
        {
            "age": pa.array([None if i % 17 == 0 else "99" if i % 11 == 0 else draw.choice(ages) for i in range(150)]),
            "sex": pa.array([None if i % 13 == 0 else str(draw.choice(["f", "m"])) for i in range(150)]),
        }
    )
    tree = ds.Hierarchy.from_digits([*ages, "99"], [1, 1])
    data = ds.Microdata(people, keys=["age", "sex"], missing_codes={"age": ["99"]}, hierarchies={"age": tree})
    return ds.protect(data, ds.Generalise(2, algorithm=algorithm, outliers=0.2), key=ds.Key(bytes(32)))


@pytest.mark.parametrize("algorithm", ["lattice", "local"])
def test_losses_of_keys_with_gaps_and_codes_for_unknown_are_those_of_the_method(algorithm):
    release = gapped(algorithm)
    assert release.verify().refused == []
    if algorithm == "lattice":
        assert any(release.custodian.steps[0].evidence.facts["levels"])


def test_rules_keep_what_they_say_and_take_the_rest_from_the_records():
    tree = ds.Hierarchy.flat(["a", "b"]).with_grouping("but a", ["Total"], minus=["a"])
    step = stepped({"ill": "sensitive", "other": ""}, {}, {"ill": tree})
    rule: dict[str, Any] = {"kind": "t_closeness", "distance": "hierarchical"}
    above = {"a": "Total", "b": "Total"}
    assert _about(step, rule, ["x"]) == {**rule, "keys": ["x"], "sensitive": "ill", "above": above}
    told = {**rule, "sensitive": "other", "above": {"p": "q"}}
    assert _about(step, told, ["x"]) == {**told, "keys": ["x"]}
    assert _about(step, {**rule, "sensitive": "other"}, ["x"])["above"] == {}
    several = stepped({"ill": "sensitive", "other": "sensitive"}, {})
    assert _about(several, {"kind": "l_diversity"}, ["x"])["sensitive"] == ""


# ---- numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "marked"),
    [
        ([1.0, -2.0, 0.0], False),
        ([1.0, -0.0], True),
        ([1.0, float("nan")], True),
        ([1.0, float("inf")], True),
        ([None, 1.0], False),
    ],
)
def test_numbers_that_tell_more_than_their_size(values, marked):
    assert _marked(pa.chunked_array([pa.array(values, pa.float64())])) is marked


def wrong_groups(before, after, group, decimals, location):
    """What the checker says of groups whose members stand in this order and weigh the same."""
    step = SimpleNamespace(method={"location": location, "weighted": False}, original=range(len(group)))
    return _wrong_groups(step, before, after, group, decimals, np.arange(len(group)))


@pytest.mark.parametrize("location", ["mean", "median"])
@pytest.mark.parametrize("seed", range(20))
def test_groups_that_hold_something_else(seed, location):
    """Of two multiples that are equally near, the upper one; every member has the same."""
    draw = np.random.default_rng(seed)
    group = np.sort(draw.integers(0, 4, 12))
    tenths = draw.integers(-30, 30, 12) * 5
    before, decimals = tenths / 10, int(draw.integers(0, 2))
    after = np.empty(12)
    for one in np.unique(group):
        own = sorted(tenths[group == one].tolist())
        # Twice the mean or median in tenths, over the number of members.
        top, bottom = (
            (2 * sum(own), len(own)) if location == "mean" else (own[(len(own) - 1) // 2] + own[len(own) // 2], 1)
        )
        after[group == one] = floor((top * 10**decimals + 10 * bottom) / (20 * bottom)) / 10**decimals
    assert wrong_groups(before, after, group, decimals, location) == 0
    for row in range(12):
        for step in (-1, 1):
            lie = after.copy()
            lie[row] = round(lie[row] * 10**decimals + step) / 10**decimals
            assert wrong_groups(before, lie, group, decimals, location) == 1
            lie[group == group[row]] = lie[row]
            assert wrong_groups(before, lie, group, decimals, location) == 1


def test_two_numbers_that_are_equally_near():
    """The upper one is right; all records of a group have the same."""
    for location in ("mean", "median"):
        for after, wrong in (([2, 2], 0), ([1, 1], 1), ([3, 3], 1), ([2, 3], 1)):
            assert wrong_groups(np.array([1, 2]), np.array(after), np.zeros(2, np.int64), 0, location) == wrong


def test_values_without_a_last_decimal_have_no_mean():
    assert wrong_groups(np.array([1 / 3, 2 / 3]), np.array([0.5, 0.5]), np.array([0, 0]), 1, "mean") is None
    assert wrong_groups(np.array([1.0, 2.0]), np.array([1 / 3, 1 / 3]), np.array([0, 0]), 1, "mean") is None


EDGES = [
    ([2.0**53, 1.0], 0, None),
    ([-(2.0**53), 1.0], 0, None),
    ([2.0**53 - 1, 1.0], 0, [2**53 - 1, 1]),
    ([1 - 2.0**53, 1.0], 0, [1 - 2**53, 1]),
    ([1.5, 2.0], 0, None),
    ([1.5, 2.0], 1, [15, 20]),
]


@pytest.mark.parametrize(("values", "decimals", "wanted"), EDGES)
def test_whole_numbers_of_units(values, decimals, wanted):
    found = whole_units(np.array(values), decimals)
    assert (None if found is None else found.tolist()) == wanted
    column = units_of_column(pa.chunked_array([pa.array(values)]), decimals)
    assert (None if column is None else column.tolist()) == wanted


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_has_no_units(value):
    assert whole_units(np.array([value, 1.0]), 0) is None


@pytest.mark.parametrize(
    ("decimals", "good"), [(True, False), (1.0, False), (-1, False), (10, False), (9, True), (0, True)]
)
def test_decimals_that_units_have(decimals, good):
    assert (units_of_column(pa.chunked_array([pa.array([1.0])]), decimals) is not None) == good


def test_nothing_is_lost_of_what_does_not_vary():
    assert _lost(np.array([3.0, 3.0]), np.array([3.0, 3.0])) == 0.0
    assert _lost(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == 1.0


def test_the_first_group_lies_in_one_stratum_too():
    def forge(f: GroupForgery) -> None:
        group = f.groups["group_0"]
        area = f.custodian.original.columns["area"].to_pylist()
        gaps = f.custodian.original.columns["x"].is_null().to_pylist()
        mine = int(np.flatnonzero(group == 0)[0])
        row = next(r for r in range(len(group)) if area[r] != area[mine] and gaps[r] == gaps[mine])
        group[group == group[row]] = 0

    refused_groups(forge, "a group has records of several strata, or with different gaps")


# ---- records ----------------------------------------------------------------------------------------------------


def test_identities_of_records_that_are_named_twice_or_say_nothing():
    """A name that stands twice is one identity; a column of gaps alone has one, too."""
    from discreet.engine.record_set import read_record_set

    gaps = pa.array([None, None, None], pa.string())
    same = read_record_set(ds.Microdata(pa.table({"x": [1, 2, 3], "none": gaps})))
    assert np.array_equal(identity_of(same).astype(np.int64), same.identity)
    table = pa.table({"id": ["a", "a", "b"], "x": [1, 2, 3]})
    twice = identity_of(RecordSet(table, {"id": ColumnInfo("identifier"), "x": ColumnInfo("")}))
    once = identity_of(RecordSet(table.slice(1), {"id": ColumnInfo("identifier"), "x": ColumnInfo("")}))
    assert twice[0] == twice[1] == once[0]
    assert twice[2] == once[1]


def test_what_a_verdict_says_of_columns_that_stayed_and_of_their_roles():
    release = exchanged("each")
    verdict = check_records(release.custodian, release.public)
    assert "columns that are as they were: z, area" in verdict.proved
    assert any(said.startswith("the roles of the columns: numeric x, y, z") for said in verdict.asserted)
    table = pa.table({"home": [1, 1, 2, 2, 3, 3], "name": list("abcdef"), "x": [3, 1, 4, 0, 5, 9]})
    data = ds.Microdata(table, household="home", identifier="name", numeric="x")
    other = ds.protect(data, ds.Recode("x", top=5))
    assert "columns that are as they were: none" in other.verify().proved
    plain = ds.protect(ds.Microdata(pa.table({"x": [1, 2]})), ds.Recode("x", top=1))
    assert "the roles of the columns: none" in plain.verify().asserted
