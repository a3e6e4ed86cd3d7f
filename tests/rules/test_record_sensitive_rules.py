"""Rules on sensitive values and populations, and the checker's count of them, against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.rules import population
from discreet.rules.records import RecordRule, record_rule_from_record
from discreet.verify.records.rules import check_rule
from discreet.verify.verdict import Verdict

KEYS = ["x", "y"]


def table(columns: dict[str, list]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def unsafe_rows(rule: RecordRule, columns: dict[str, list], **options) -> list[bool]:
    """What the rule says, after the checker was seen to agree."""
    data = ds.Microdata(table(columns), keys=KEYS, sensitive="s", **options)
    records = read_record_set(data)
    found = rule.evaluate(records).unsafe.tolist()
    verdict = Verdict()
    plain = rule.resolved(records).record()
    check_rule(verdict, records.columns, plain, {name: records.about(name).missing for name in records.names})
    assert verdict.holds == (not any(found)), (found, verdict.refused)
    again = record_rule_from_record(plain)
    assert again.evaluate(records).unsafe.tolist() == found
    return found


@st.composite
def some_people(draw, values="abcde", gaps=True) -> dict[str, list]:
    rows = draw(st.integers(1, 24))
    codes = st.sampled_from(["1", "2", None] if gaps else ["1", "2"])
    sensitive = st.sampled_from([*values, None] if gaps else list(values))
    columns = {name: draw(st.lists(codes, min_size=rows, max_size=rows)) for name in KEYS}
    columns["s"] = draw(st.lists(sensitive, min_size=rows, max_size=rows))
    columns["s"][0] = values[0]
    return columns


def classes_of(columns: dict[str, list]) -> list[tuple[list[int], list]]:
    """Rows of each class, and their sensitive values."""
    found: dict[tuple, list[int]] = {}
    for row, keys in enumerate(zip(columns["x"], columns["y"], strict=True)):
        found.setdefault(keys, []).append(row)
    return [(rows, [columns["s"][row] for row in rows]) for rows in found.values()]


def judged(columns: dict[str, list], good, exempt: bool = False) -> list[bool]:
    unsafe = [False] * len(columns["s"])
    for rows, values in classes_of(columns):
        if exempt and None in (columns["x"][rows[0]], columns["y"][rows[0]]):
            continue
        for row in rows:
            unsafe[row] = not good(values)
    return unsafe


def entropy(values: list) -> float:
    counts = Counter(values)
    return -sum(n / len(values) * log(n / len(values)) for n in counts.values())


def recursive(values: list, c: float, least: int) -> bool:
    counts = sorted(Counter(values).values(), reverse=True)
    return bool(counts) and counts[0] < c * sum(counts[least - 1 :])


@given(some_people(), st.integers(2, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_distinct_diversity_counts_values_that_are_known(columns, least, exempt):
    rule = ds.LDiversity(least, missing="exempt" if exempt else "category")
    expected = judged(columns, lambda values: len({v for v in values if v is not None}) >= least, exempt)
    assert unsafe_rows(rule, columns) == expected


@given(some_people(), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_entropy_diversity_holds_with_gaps_and_without(columns, least):
    def good(values: list) -> bool:
        known = [v for v in values if v is not None]
        return all(part and exp(entropy(part)) >= least * (1 - 1e-9) for part in (known, values))

    assert unsafe_rows(ds.LDiversity(least, form="entropy"), columns) == judged(columns, good)


@given(some_people(), st.integers(2, 3), st.sampled_from([0.5, 1.0, 2.0, 3.5]))
@settings(max_examples=60, deadline=None)
def test_recursive_diversity_holds_with_gaps_and_without(columns, least, c):
    def good(values: list) -> bool:
        known = [v for v in values if v is not None]
        return recursive(known, c, least) and recursive(values, c, least)

    assert unsafe_rows(ds.LDiversity(least, form="recursive", c=c), columns) == judged(columns, good)


def moved(first: dict, second: dict, distance) -> float:
    """The least cost to turn one distribution into another, as a linear program."""
    from scipy.optimize import linprog

    values = list(second)
    cost = [distance(a, b) for a, b in product(values, values)]
    rows, sides = [], []
    for i, a in enumerate(values):
        out, into = np.zeros((len(values), len(values))), np.zeros((len(values), len(values)))
        out[i, :], into[:, i] = 1, 1
        rows += [out.ravel(), into.ravel()]
        sides += [first.get(a, 0.0), second[a]]
    return float(linprog(cost, A_eq=np.array(rows), b_eq=sides).fun)


def shares(values: list) -> dict:
    return {value: n / len(values) for value, n in Counter(values).items()}


def scores(rule: RecordRule, columns: dict[str, list], **options) -> list[float]:
    """The distance of each class, read off by a bisection of what the rule allows."""
    from discreet.rules.class_values import class_values, sensitive_column

    records = read_record_set(ds.Microdata(table(columns), keys=KEYS, sensitive="s", **options))
    column = sensitive_column(records, "s")
    group = np.zeros(len(records), np.int64)
    for number, (rows, _) in enumerate(classes_of(columns)):
        group[rows] = number
    return rule.resolved(records).scores(column, class_values(group, column.codes, len(column.known))).tolist()


@given(some_people())
@settings(max_examples=25, deadline=None)
def test_equal_distance_is_that_of_the_earth_mover(columns):
    whole = shares(columns["s"])
    expected = [moved(shares(values), whole, lambda a, b: float(a != b)) for _, values in classes_of(columns)]
    assert scores(ds.TCloseness(0.3), columns) == pytest.approx(expected, abs=1e-7)


@given(some_people("12345", gaps=False), st.booleans())
@settings(max_examples=25, deadline=None)
def test_ordered_distance_is_that_of_the_earth_mover(columns, stated):
    whole = shares(columns["s"])
    order = sorted(whole)
    far = max(len(order) - 1, 1)
    expected = [
        moved(shares(values), whole, lambda a, b: abs(order.index(a) - order.index(b)) / far)
        for _, values in classes_of(columns)
    ]
    rule = ds.TCloseness(0.3, distance="ordered", order=order if stated else ())
    assert scores(rule, columns) == pytest.approx(expected, abs=1e-7)


TREE = ds.Hierarchy.from_nested({"ab": ["a", "b"], "cde": {"c": None, "de": ["d", "e"]}}, total="all")
UP = {"a": "ab", "b": "ab", "c": "cde", "d": "de", "e": "de", "de": "cde", "ab": "all", "cde": "all"}
HEIGHT = {"ab": 1, "de": 1, "cde": 2, "all": 3}


def common(a: str, b: str) -> float:
    if a == b:
        return 0.0
    if None in (a, b):
        return 1.0
    line = [a]
    while line[-1] in UP:
        line.append(UP[line[-1]])
    while b not in line:
        b = UP[b]
    return HEIGHT[b] / 3


@given(some_people())
@settings(max_examples=25, deadline=None)
def test_hierarchical_distance_is_that_of_the_earth_mover(columns):
    whole = shares(columns["s"])
    expected = [moved(shares(values), whole, common) for _, values in classes_of(columns)]
    rule = ds.TCloseness(0.3, distance="hierarchical")
    assert scores(rule, columns, hierarchies={"s": TREE}) == pytest.approx(expected, abs=1e-7)


def test_measures_are_those_of_pycanon():
    # What pycanon 1.3.6 says of this file: entropy l rounded down, t of the number by its order.
    draw = np.random.default_rng(0)
    rows = int(draw.integers(30, 400))
    columns = {
        "x": draw.choice(["x", "y", "z"], rows).tolist(),
        "y": draw.choice(["p", "q"], rows).tolist(),
        "s": draw.choice(list("abcdefg"), rows, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.06, 0.04]).tolist(),
    }
    wage = {**columns, "s": [str(number) for number in draw.integers(1, 9, rows)]}
    assert min(scores(ds.LDiversity(2), columns)) == 6
    assert int(min(scores(ds.LDiversity(2, form="entropy"), columns))) == 5
    assert max(scores(ds.TCloseness(0.1), columns)) == pytest.approx(0.21540127678978566)
    assert max(scores(ds.TCloseness(0.1, distance="ordered"), wage)) == pytest.approx(0.07386633300254568)
    assert max(scores(ds.BetaLikeness(1, form="basic"), columns)) == pytest.approx(1.6060606060606062)


@given(some_people("12345", gaps=False), st.sampled_from([0.0, 0.1, 0.25, 0.5]), st.sampled_from(["equal", "ordered"]))
@settings(max_examples=40, deadline=None)
def test_the_checker_judges_closeness_alike(columns, t, distance):
    unsafe_rows(ds.TCloseness(t, distance=distance), columns)


@given(some_people(), st.sampled_from([0.1, 0.3, 0.5]))
@settings(max_examples=40, deadline=None)
def test_the_checker_judges_hierarchical_closeness_alike(columns, t):
    unsafe_rows(ds.TCloseness(t, distance="hierarchical"), columns, hierarchies={"s": TREE})


@given(some_people(), st.sampled_from([0.2, 0.5, 1.0, 2.0]), st.sampled_from(["basic", "enhanced"]))
@settings(max_examples=60, deadline=None)
def test_no_value_becomes_much_commoner(columns, beta, form):
    whole = shares(columns["s"])

    def good(values: list) -> bool:
        for value, share in shares(values).items():
            most = min(beta, -log(whole[value])) if form == "enhanced" else beta
            if share > whole[value] and (share - whole[value]) / whole[value] > most + 1e-9:
                return False
        return True

    assert unsafe_rows(ds.BetaLikeness(beta, form=form), columns) == judged(columns, good)


# ---- populations ----------------------------------------------------------------------------------------------------


@st.composite
def file_and_population(draw) -> tuple[dict[str, list], list[tuple]]:
    columns = draw(some_people())
    unit = st.tuples(st.sampled_from(["1", "2", None]), st.sampled_from(["1", "2", "3"]))
    return columns, draw(st.lists(unit, min_size=1, max_size=40))


def fits(row: tuple, unit: tuple) -> bool:
    return all(mine is None or mine == theirs for mine, theirs in zip(row, unit, strict=True))


def everybody(units: list[tuple]) -> pa.Table:
    return table({name: [unit[i] for unit in units] for i, name in enumerate(KEYS)})


@given(file_and_population(), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_k_map_counts_units_that_a_record_fits(given_, k):
    columns, units = given_
    rows = list(zip(columns["x"], columns["y"], strict=True))
    expected = [sum(fits(row, unit) for unit in units) < k for row in rows]
    assert unsafe_rows(ds.KMap(k, population=everybody(units)), columns) == expected


@given(file_and_population(), st.sampled_from([(0.0, 0.5), (0.0, 1.0), (0.2, 0.9), (0.5, 0.5)]))
@settings(max_examples=60, deadline=None)
def test_presence_adds_up_the_shares_of_all_rows_that_a_unit_fits(given_, bounds):
    columns, units = given_
    rows = list(zip(columns["x"], columns["y"], strict=True))
    size = {row: sum(fits(row, unit) for unit in units) for row in rows}
    count = Counter(rows)
    wrong, absent = set(), False
    for unit in set(units):
        parts = [count[row] / size[row] for row in count if fits(row, unit)]
        if sum(parts) > min(bounds[1], 1) + 1e-9 or max(parts, default=0) < bounds[0] - 1e-9:
            wrong.add(unit)
        absent |= not parts
    everything = absent and bounds[0] > 0
    expected = [everything or not size[row] or any(fits(row, unit) for unit in wrong) for row in rows]
    assert unsafe_rows(ds.DeltaPresence(*bounds, population=everybody(units)), columns) == expected


def test_codes_that_the_population_does_not_have_are_nobodys():
    data = ds.Microdata(pa.table({"age": ["20", "20", "99"]}), keys="age").assess(
        ds.KMap(2, population=pa.table({"age": ["20", "20"]}))
    )
    assert data.assessment.unsafe == (1,)
    assert "the rarest fits 0" in str(data.assessment)


def test_numbers_and_their_texts_are_the_same_code():
    data = ds.Microdata(pa.table({"age": [20, 20, 30]}), keys="age")
    assert data.assess(ds.KMap(2, population=pa.table({"age": ["20", "20", "30", "30"]}))).assessment.holds


def test_a_population_may_be_a_file_or_have_roles(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("age,name\n20,a\n20,b\n30,c\n")
    data = ds.Microdata(pa.table({"age": ["20", "30"]}), keys="age")
    assert data.assess(ds.KMap(2, population=str(path), keys=["age"])).assessment.unsafe == (1,)
    assert data.assess(ds.KMap(2, population=ds.Microdata(path, keys="age"))).assessment.unsafe == (1,)


def test_a_population_that_is_too_large_to_be_kept_is_asserted(monkeypatch):
    monkeypatch.setattr(population, "MOST_KEPT", 1)
    data = ds.Microdata(pa.table({"age": ["20", "20", "30", "30"]}), keys="age")
    rule = ds.KMap(2, population=data)
    release = ds.protect(data, ds.Recode("age", map={"20": "20", "30": "30"}), rules=[rule])
    verdict = release.verify()
    assert verdict.holds
    assert any("at least 2 of the 4 units" in text and "too large to be kept" in text for text in verdict.asserted)
    assert not any("units" in text for text in verdict.proved)
    with pytest.raises(NeedsError, match="has 2 combinations of keys, too many to be kept"):
        record_rule_from_record(release.custodian.rules[0]).evaluate(release.custodian.released)


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.LDiversity(1), "l=1 is not allowed"),
        (lambda: ds.LDiversity(2, form="recursive"), "that form needs it"),
        (lambda: ds.LDiversity(2, c=2), 'c= belongs to form="recursive"'),
        (lambda: ds.TCloseness(1.5), "t=1.5 is not allowed"),
        (lambda: ds.TCloseness(-0.1), "t=-0.1 is not allowed"),
        (lambda: ds.TCloseness(0.1, order=["a"]), 'order= belongs to distance="ordered"'),
        (lambda: ds.TCloseness(0.1, distance="ordered", order=["a", "a"]), "order= names a value twice"),
        (lambda: ds.BetaLikeness(0), "beta=0 is not allowed"),
        (lambda: ds.DeltaPresence(0.5, 0.1, population=pa.table({"x": ["1"]})), "lower=0.5 lies above upper=0.1"),
        (lambda: ds.KMap(2, population=None), "KMap needs a population"),
        (lambda: ds.KMap(2, population={"keys": ["x"]}), "is a mapping that is no population"),
        (lambda: ds.KMap(2, population=pa.table({"x": ["1"]}), keys=["y"]), "no column 'y' in the population"),
    ],
)
def test_impossible_parameters_are_refused(make, message):
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        make()


PEOPLE = {"x": ["1", "1"], "y": ["1", "1"], "s": ["a", "b"], "other": ["a", None]}


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (
            ds.LDiversity(2, sensitive="x"),
            ParameterError,
            "'x' is a key and the sensitive column of LDiversity at once",
        ),
        (ds.LDiversity(2, sensitive="wealth"), ParameterError, "no column 'wealth'"),
        (ds.LDiversity(2, sensitive="gone"), InputError, "'gone' is empty in every record"),
        (ds.TCloseness(0.1, distance="hierarchical"), NeedsError, "needs the hierarchy of 's'"),
        (ds.TCloseness(0.1, distance="ordered"), ParameterError, "nobody knows the order"),
        (ds.TCloseness(0.1, distance="ordered", order=["a"]), InputError, "'b' (1 record)"),
        (ds.TCloseness(0.1, sensitive="other", distance="ordered", order=["a"]), InputError, "no place in an order"),
        (ds.TCloseness(0.1, distance="hierarchical", above={"a": "z"}), InputError, "'b' (1 record)"),
        (
            ds.TCloseness(0.1, distance="hierarchical", above={"a": "z", "b": "y"}),
            InputError,
            "has 2 codes at its top: 'z', 'y'",
        ),
        (ds.KMap(2, population=pa.table({"w": ["1"]})), ParameterError, "no column 'w' in the records (rule k_map)"),
    ],
)
def test_columns_that_a_rule_cannot_use_are_refused(rule, error, message):
    data = ds.Microdata(table({**PEOPLE, "gone": [None, None]}), keys=KEYS, sensitive="s")
    with pytest.raises(error) as caught:
        data.assess(rule)
    assert message in str(caught.value)


def test_roles_must_say_which_column_is_sensitive():
    with pytest.raises(NeedsError, match="one sensitive column, and the records have none"):
        ds.Microdata(table(PEOPLE), keys=KEYS).assess(ds.LDiversity(2))
    with pytest.raises(NeedsError, match=r"and the records have 2 \('s', 'other'\)"):
        ds.Microdata(table(PEOPLE), keys=KEYS, sensitive=["s", "other"]).assess(ds.LDiversity(2))
    with pytest.raises(NeedsError, match="by which columns somebody may be recognised"):
        ds.Microdata(table(PEOPLE), sensitive="s").assess(ds.LDiversity(2))
