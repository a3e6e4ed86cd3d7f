"""Generalisation against going through everything by hand, and what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.recipe.schema import read_recipe
from discreet.records import generalising, lattice
from discreet.records.mondrian import interval_name

UP = {
    "age": {str(a): [str(a), f"{a // 2 * 2}-{a // 2 * 2 + 1}", "all"] for a in range(6)},
    "town": {"N1": ["N1", "N", "all"], "N2": ["N2", "N", "all"], "S1": ["S1", "S", "all"]},
    "sex": {"f": ["f"], "m": ["m"]},
}
LEAVES = {
    "age": {**{str(a): 1 for a in range(6)}, **{f"{a}-{a + 1}": 2 for a in (0, 2, 4)}, "all": 6},
    "town": {"N1": 1, "N2": 1, "S1": 1, "N": 2, "S": 1, "all": 3},
    "sex": {"f": 1, "m": 1},
}
AGE = ds.Hierarchy.from_parents(
    {**{str(a): f"{a // 2 * 2}-{a // 2 * 2 + 1}" for a in range(6)}, **{f"{a}-{a + 1}": None for a in (0, 2, 4)}},
    total="all",
)
TOWN = ds.Hierarchy.from_nested({"N": ["N1", "N2"], "S": ["S1"]}, total="all")
KEYS = ["age", "town", "sex"]


def people(columns: dict[str, list], **options: Any) -> ds.Microdata:
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    given_ = {"keys": KEYS, "hierarchies": {"age": AGE, "town": TOWN}, **options}
    if "ill" in columns:
        given_["sensitive"] = "ill"
    return ds.Microdata(table, **given_)


@st.composite
def some_people(draw, gaps: bool = False, most: int = 40) -> dict[str, list]:
    rows = draw(st.integers(2, most))
    gap = [None] if gaps else []

    def codes(values: list) -> list:
        return draw(st.lists(st.sampled_from([*values, *gap]), min_size=rows, max_size=rows))

    found = {
        "age": codes([str(a) for a in range(6)]),
        "town": codes(["N1", "N2", "S1"]),
        "sex": codes(["f", "m"]),
        "ill": codes(["flu", "cold", "cough"]),
    }
    for name, value in (("age", "0"), ("town", "N1"), ("sex", "f"), ("ill", "flu")):
        found[name][0] = value
    return found


def by_hand(
    columns: dict[str, list], k: int, most: int, metric: str, dearest: bool = False
) -> tuple[float, tuple[int, ...]] | None:
    """The best node, found by going through all of them record by record.

    Where outliers are so few that a further class goes with them, it is the cheapest or the dearest of the smallest.
    """
    rows = len(columns["age"])
    originals = list(zip(*(columns[name] for name in KEYS), strict=True))
    best = None
    for levels in product(range(3), range(3), range(1)):
        shown = [tuple(UP[n][v][up] for n, v, up in zip(KEYS, row, levels, strict=True)) for row in originals]
        sizes = Counter(shown)
        rare = {row for row, size in sizes.items() if size < k}
        total = sum(sizes[row] for row in rare)
        ways = [rare]
        if rare and total < k:
            least = min((size for row, size in sizes.items() if row not in rare), default=None)
            if least is None:
                continue
            total += least
            ways = [rare | {row} for row, size in sizes.items() if size == least and row not in rare]
        if total > most:
            continue
        values = []
        for gone in ways:
            if metric in ("loss", "precision"):
                lost = 0.0
                for row in shown:
                    for place, name in enumerate(KEYS):
                        base, high = len(UP[name]), len(next(iter(UP[name].values()))) - 1
                        own = (
                            (LEAVES[name][row[place]] - 1) / (base - 1)
                            if metric == "loss"
                            else levels[place] / max(high, 1)
                        )
                        lost += 1 if row in gone else own
                value = lost / (rows * 3)
            elif metric == "entropy":
                value = 0.0
                for place, name in enumerate(KEYS):
                    own, common = Counter(columns[name]), Counter(row[place] for row in shown)
                    for old, row in zip(columns[name], shown, strict=True):
                        value += log2((rows if row in gone else common[row[place]]) / own[old]) / rows
            elif metric == "discernibility":
                value = float(sum(size**2 for row, size in sizes.items() if row not in gone) + total * rows)
            else:
                value = rows / (len(set(sizes) - gone) + bool(gone))
            values.append(value)
        value = max(values) if dearest else min(values)
        order = (float(f"{value:.9g}"), sum(levels), levels)
        if best is None or order < best:
            best = order
    return None if best is None else (best[0], best[2])


METRIC = st.sampled_from(["loss", "precision", "entropy", "discernibility", "class_size"])


@given(some_people(), st.integers(2, 4), st.sampled_from([0.0, 0.1, 0.3, 1.0]), METRIC, st.booleans())
@settings(max_examples=120, deadline=None)
def test_the_best_node_is_that_of_going_through_all_of_them(columns, k, outliers, metric, prune):
    rows = len(columns["age"])
    most = int(outliers * rows + 1e-9)
    expected, dearest = (by_hand(columns, k, most, metric, dearest) for dearest in (False, True))
    method = ds.Generalise(k, metric=metric, outliers=outliers)
    with pytest.MonkeyPatch.context() as patch:
        if prune:
            patch.setattr(lattice, "EXHAUSTIVE", 1)
        if expected is None or dearest is None:
            with pytest.raises(ProtectionError):
                method.run(read_record_set(people(columns)))
            return
        facts = method.run(read_record_set(people(columns))).evidence.facts
    # Which of several smallest classes goes with few outliers is not said.
    assert expected[0] * (1 - 1e-6) - 1e-8 <= facts["losses"][metric] <= dearest[0] * (1 + 1e-6) + 1e-8


RULES = st.sampled_from(
    [
        (),
        (ds.LDiversity(2),),
        (ds.LDiversity(2, form="entropy"), ds.BetaLikeness(2)),
        (ds.LDiversity(2, form="recursive", c=3),),
        (ds.TCloseness(0.4),),
        (ds.KAnonymity(3, missing="exempt"),),
        (ds.LDiversity(2, missing="exempt"),),
    ]
)


@given(
    some_people(gaps=True), st.integers(2, 3), RULES, st.sampled_from(["lattice", "local"]), st.sampled_from([0.2, 1])
)
@settings(max_examples=150, deadline=None)
def test_whatever_is_published_is_seen_to_keep_the_rules(columns, k, rules, algorithm, outliers):
    data = people(columns, missing_codes={"age": ["5"]})
    method = ds.Generalise(k, rules=rules, algorithm=algorithm, outliers=outliers)
    try:
        release = ds.protect(data, method, keep_order=True)
    except ProtectionError:
        return
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    shown = release.public.records.shown()
    rows = Counter(zip(*(shown[name] for name in KEYS), strict=True))
    assert min(rows.values()) >= k
    for name in KEYS:
        for old, new in zip(columns[name], shown[name], strict=True):
            assert (
                new is None or new == old or (old is not None and old != "5" and (new == "*" or new in UP[name][old]))
            )


@given(some_people(), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_numbers_become_intervals_that_hold_them(columns, k):
    columns = {**columns, "age": [int(a) for a in columns["age"]]}
    if len(columns["age"]) < k:
        return
    table = pa.table({"age": columns["age"], "sex": columns["sex"]})
    release = ds.protect(ds.Microdata(table, keys=["age", "sex"]), ds.Generalise(k, algorithm="local"), keep_order=True)
    assert release.verify().holds
    for old, new in zip(columns["age"], release.public.records.shown()["age"], strict=True):
        low, _, high = str(new).partition("-")
        assert int(low) <= old <= int(high or low)


def test_local_recoding_loses_less_than_a_lattice():
    draw = np.random.default_rng(4)
    rows = 600
    columns = {
        "age": draw.choice([str(a) for a in range(6)], rows, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]).tolist(),
        "town": draw.choice(["N1", "N2", "S1"], rows, p=[0.6, 0.38, 0.02]).tolist(),
        "sex": draw.choice(["f", "m"], rows).tolist(),
    }
    loss = {
        algorithm: ds.Generalise(5, algorithm=algorithm).run(read_record_set(people(columns))).evidence.facts["losses"]
        for algorithm in ("lattice", "local")
    }
    assert loss["local"]["loss"] < loss["lattice"]["loss"] / 2


def test_codes_in_the_middle_of_a_tree_are_cut_out():
    # Only the middle child has enough records: the rest must be left behind together.
    tree = ds.Hierarchy.from_nested({"A": ["a"], "B": ["b"], "C": ["c"]}, total="all")
    table = pa.table({"x": ["a"] * 2 + ["b"] * 3 + ["c"] * 2})
    data = ds.Microdata(table, keys="x", hierarchies={"x": tree})
    shown = ds.protect(data, ds.Generalise(3, algorithm="local"), keep_order=True).public.records.shown()["x"]
    assert shown == ["all"] * 2 + ["b"] * 3 + ["all"] * 2


def test_pruning_looks_at_fewer_nodes_and_finds_the_same(monkeypatch):
    draw = np.random.default_rng(2)
    columns = {
        "age": draw.choice([str(a) for a in range(6)], 200).tolist(),
        "town": draw.choice(["N1", "N2", "S1"], 200).tolist(),
        "sex": draw.choice(["f", "m"], 200).tolist(),
    }
    records = read_record_set(people(columns))
    every = ds.Generalise(2).run(records).evidence
    monkeypatch.setattr(lattice, "EXHAUSTIVE", 1)
    some = ds.Generalise(2).run(records).evidence
    assert every.effort["generalisation"] == 9
    assert some.facts["levels"] == every.facts["levels"]
    assert some.facts["losses"] == every.facts["losses"]
    assert some.facts["table"] == []


def test_two_words_are_enough_for_very_many_combinations():
    draw = np.random.default_rng(2)
    rows, names = 300, [f"x{i}" for i in range(12)]
    table = pa.table({name: [f"{code}" for code in draw.integers(0, 150, rows)] for name in names})
    flat = {name: ds.Hierarchy.flat([str(i) for i in range(150)]) for name in names}
    method = ds.Generalise(20, outliers=0)
    data = ds.Microdata(table, keys=names, hierarchies=flat)
    outcome = method.run(read_record_set(data))
    assert outcome.evidence.facts["suppressed"] == 0
    assert ds.KAnonymity(20).evaluate(read_record_set(data).with_columns(outcome.changed)).unsafe.sum() == 0


def test_suppressed_records_are_a_class_that_keeps_the_rules():
    columns = {"age": ["0"] * 6 + ["1"] * 3 + ["4"], "town": ["N1"] * 10, "sex": ["f"] * 10}
    data = people(columns, keys=["age", "town", "sex"])
    strict = ds.protect(data, ds.Generalise(3, outliers=0.4), keep_order=True)
    blank = [value is None for value in strict.public.records.shown()["sex"]]
    # The one old record alone would be a class of one: the smallest other class joins it.
    assert blank in ([False] * 6 + [True] * 4, [False] * 10)
    exempt = ds.Generalise(rules=[ds.KAnonymity(3, missing="exempt")], outliers=0.1)
    release = ds.protect(data, exempt, keep_order=True)
    assert [value is None for value in release.public.records.shown()["sex"]] == [False] * 9 + [True]
    verdict = release.verify()
    assert verdict.holds
    assert any("records with an empty field: the rule does not judge them" in text for text in verdict.not_considered)


# ---- populations ---------------------------------------------------------------------------------------------------


@given(some_people(most=12), st.integers(2, 4))
@settings(max_examples=50, deadline=None)
def test_a_population_goes_up_with_the_file(columns, k):
    others = {
        name: columns[name] + columns[name][: len(columns[name]) // 2] + ["S1" if name == "town" else "0"]
        for name in KEYS
    }
    others["sex"] = ["f" if value == "0" else value for value in others["sex"]]
    everybody = pa.table({name: pa.array(values, pa.string()) for name, values in others.items()})
    method = ds.Generalise(rules=[ds.KMap(k, population=everybody)], outliers=0.2)
    try:
        release = ds.protect(people(columns), method, keep_order=True)
    except ProtectionError:
        return
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    levels = release.custodian.evidence[0].facts["levels"]
    units = [
        tuple(UP[n][v][up] for n, v, up in zip(KEYS, row, levels, strict=True))
        for row in zip(*(others[n] for n in KEYS), strict=True)
    ]
    shown = release.public.records.shown()
    for row in zip(*(shown[name] for name in KEYS), strict=True):
        assert sum(all(a is None or a == b for a, b in zip(row, unit, strict=True)) for unit in units) >= k


def test_chances_to_be_in_the_file_count_suppressed_records_too():
    columns = {"age": ["0"] * 4 + ["4"], "town": ["N1"] * 5, "sex": ["f"] * 5}
    everybody = pa.table({"age": ["0"] * 8 + ["4"], "town": ["N1"] * 9, "sex": ["f"] * 9})
    rule = ds.DeltaPresence(0, 0.6, population=everybody)
    release = ds.protect(people(columns), ds.Generalise(rules=[rule], outliers=0.2), keep_order=True)
    assert release.verify().holds
    # Emptying the one record adds 1/9 to everybody's chance: 4/8 + 1/9 is just above 0.6, so that keys go up instead.
    assert release.custodian.evidence[0].facts["suppressed"] == 0


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.Generalise(), "does not say until when"),
        (lambda: ds.Generalise(1), "k=1 is not allowed"),
        (lambda: ds.Generalise(3, outliers=2), "outliers=2 is not allowed"),
        (lambda: ds.Generalise(3, metric="size"), "metric"),
        (
            lambda: ds.Generalise(3, algorithm="local", metric="entropy"),
            "local recoding cuts where the loss falls most",
        ),
        (lambda: ds.Generalise(3, ordered=["age"]), 'ordered= is for algorithm="local"'),
        (lambda: ds.Generalise(rules=[ds.PPercent(10)]), "PPercent is no rule for records"),
        (lambda: ds.Generalise(rules=[{"kind": "l_divers"}]), "no rule for records 'l_divers'"),
    ],
)
def test_impossible_parameters_are_refused(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)


SOME = {"age": ["0", "0", "1", "1"], "town": ["N1"] * 4, "sex": ["f"] * 4, "ill": ["flu", "cold", "flu", "flu"]}


@pytest.mark.parametrize(
    ("method", "options", "error", "message"),
    [
        (ds.Generalise(2), {"hierarchies": {}}, NeedsError, "None of the keys 'age', 'town', 'sex' has a hierarchy"),
        (ds.Generalise(2), {"keys": ()}, NeedsError, "by which columns somebody may be recognised"),
        (ds.Generalise(5), {}, ProtectionError, "is to occur 5 times, in 4 records"),
        (
            ds.Generalise(2),
            {"hierarchies": {"age": AGE, "sex": ds.Hierarchy.flat(["m"])}},
            InputError,
            "'sex' has 1 code that its hierarchy does not have as base codes: 'f' (4 records)",
        ),
        (
            ds.Generalise(2, algorithm="local"),
            {"hierarchies": {"sex": ds.Hierarchy.flat(["m"])}},
            InputError,
            "'f' (4 records)",
        ),
        (ds.Generalise(2, keys=["age", "wealth"]), {}, ParameterError, "no column 'wealth'"),
        (ds.Generalise(2, keys=["age", "age"]), {}, ParameterError, "names a column twice"),
        (
            ds.Generalise(2, algorithm="local", keys=["age"], ordered=["sex"]),
            {},
            ParameterError,
            "no key 'sex' in ordered=",
        ),
        (ds.Generalise(2, algorithm="local", ordered=["sex"]), {}, InputError, "1 code of 'sex' is no number"),
        (
            ds.Generalise(rules=[ds.LDiversity(2, sensitive="sex")]),
            {},
            ParameterError,
            "'sex' is a key and the sensitive column of LDiversity at once",
        ),
        (
            ds.Generalise(rules=[ds.KAnonymity(2, keys=["age"])]),
            {},
            ParameterError,
            "A rule looks at 'age', and 'age', 'town', 'sex' are generalised",
        ),
        (ds.Generalise(rules=[ds.KAnonymity(2, size=2)]), {}, ParameterError, "KAnonymity with size="),
        (ds.Generalise(rules=[ds.KAnonymity(2, missing="any")]), {}, ParameterError, "KAnonymity with size="),
        (
            ds.Generalise(rules=[ds.LDiversity(3)]),
            {},
            ProtectionError,
            "The nearest (levels gone up: age 0, town 0, sex 0) leaves 4 records of 4 (100.00%) in classes that break",
        ),
        (
            ds.Generalise(rules=[ds.LDiversity(3)], algorithm="local"),
            {},
            ProtectionError,
            "do not hold even where all 4 records look the same",
        ),
        (
            ds.Generalise(
                rules=[
                    ds.KMap(2, population=pa.table(SOME).select(KEYS)),
                    ds.KMap(2, population=pa.table(SOME).select(KEYS).slice(0, 2)),
                ]
            ),
            {},
            ParameterError,
            "Two rules have different populations",
        ),
        (
            ds.Generalise(2, algorithm="local"),
            {"hierarchies": {"town": ds.Hierarchy.flat(["N1", "N2"], total=None)}},
            InputError,
            "The hierarchy of 'town' has no total",
        ),
    ],
)
def test_records_that_cannot_be_generalised_are_refused(method, options, error, message):
    with pytest.raises(error) as caught:
        method.run(read_record_set(people(SOME, **options)))
    assert message in str(caught.value)


def test_a_key_that_is_empty_throughout_is_refused():
    columns = {**SOME, "town": [None] * 4}
    with pytest.raises(InputError, match="Key 'town' is empty in every record"):
        ds.Generalise(2).run(read_record_set(people(columns)))


def test_a_star_may_not_be_a_code_of_a_key_without_a_hierarchy():
    columns = {**SOME, "sex": ["*", "f", "f", "*"]}
    with pytest.raises(InputError, match=r"Key 'sex' has no hierarchy, and '\*' is one of its codes"):
        ds.Generalise(2, algorithm="local").run(read_record_set(people(columns)))


def test_a_star_is_a_code_like_others_where_levels_go_up():
    """It stands for everything in local recoding only: in a lattice, a key without a hierarchy stays as it is."""
    columns = {**SOME, "sex": ["*", "f", "f", "*"]}
    release = ds.protect(people(columns), ds.Generalise(2, outliers=0.5))
    assert "*" in release.public.records.shown()["sex"]
    assert release.verify().holds


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(lattice, "MOST_NODES", 8)
    with pytest.raises(ParameterError, match="have 9 combinations of levels; at most 8 are looked at"):
        ds.Generalise(2).run(read_record_set(people(SOME)))


def test_gaps_and_a_population_do_not_go_together():
    columns = {**SOME, "town": [None, "N1", "N1", "N1"]}
    rule = ds.KMap(2, population=pa.table(SOME).select(KEYS))
    with pytest.raises(InputError, match="Key 'town' has empty fields or codes for unknown, and a rule looks at"):
        ds.Generalise(rules=[rule]).run(read_record_set(people(columns)))


def test_codes_of_a_population_that_no_hierarchy_has_are_refused():
    others = pa.table({**SOME, "town": ["N1", "N1", "N9", "N9"]}).select(KEYS)
    with pytest.raises(InputError, match="The population has 1 code of 'town' that its hierarchy does not have: 'N9'"):
        ds.Generalise(rules=[ds.KMap(2, population=others)]).run(read_record_set(people(SOME)))


def test_empty_fields_that_nobody_shares_must_be_few():
    columns = {**SOME, "age": [None, "0", "0", "0"]}
    with pytest.raises(ProtectionError, match="have empty fields that leave them in classes that break a rule"):
        ds.Generalise(2, algorithm="local", outliers=0).run(read_record_set(people(columns)))


def test_nothing_is_published_where_the_recount_disagrees(monkeypatch):
    monkeypatch.setattr(generalising, "suppressed_cells", lambda lattice_: np.zeros(len(lattice_.base.high), np.bool_))
    columns = {"age": ["0"] * 6 + ["1"] * 3 + ["4"], "town": ["N1"] * 10, "sex": ["f"] * 9 + ["m"]}
    with pytest.raises(ProtectionError, match="The rules do not hold after generalisation"):
        ds.Generalise(3, outliers=0.4).run(read_record_set(people(columns)))


def test_intervals_are_named_as_by_recode():
    assert interval_name("15", "29") == "15-29"
    assert interval_name("-3", "4") == "-3 to 4"
    assert interval_name("0.5", "0.5") == "0.5"


def test_a_key_without_a_hierarchy_stays_and_a_note_says_so():
    release = ds.protect(people(SOME), ds.Generalise(2))
    assert "Key 'sex' has no hierarchy and stays as it is." in release.custodian.log["notes"]


def test_the_method_is_the_same_from_plain_data():
    from discreet.methods.registry import method_from_record

    method = ds.Generalise(3, rules=[ds.LDiversity(2), ds.KMap(2, population=pa.table(SOME).select(KEYS))])
    assert method_from_record(method.record()).record() == method.record()


def test_a_recipe_may_name_the_file_of_a_population(tmp_path):
    from discreet.recipe.run import run_recipe

    recipe = """
version = 1
[data]
file = "people.csv"
keys = ["age"]
[hierarchies]
age = { digits = [1, 1] }
[records]
[[rules]]
kind = "k_map"
k = 2
population = "coarse.csv"
[[protect]]
method = "generalise"
outliers = 0
rules = [{ kind = "k_map", k = 2, population = "everybody.csv" }]
[output]
directory = "out"
report = false
"""
    path = tmp_path / "recipe.toml"
    path.write_text(recipe)
    (tmp_path / "people.csv").write_text("age\n21\n22\n31\n32\n")
    (tmp_path / "coarse.csv").write_text("age\n2\n2\n3\n3\n")
    (tmp_path / "everybody.csv").write_text("age\n21\n22\n31\n32\n")
    done = run_recipe(path)
    assert done.verdict.holds
    assert set(done.release.custodian.log["inputs"]) >= {"everybody.csv", "coarse.csv"}
    path.write_text(recipe.replace("everybody.csv", "../everybody.csv"))
    with pytest.raises(ParameterError, match="everybody"):
        run_recipe(path)


def test_a_recipe_may_generalise(tmp_path):
    recipe = """
version = 1
[data]
file = "people.csv"
keys = ["age", "sex"]
sensitive = ["ill"]
[hierarchies]
age = { digits = [1, 1] }
[records]
[[rules]]
kind = "l_diversity"
l = 2
[[protect]]
method = "generalise"
k = 2
outliers = 0
rules = [{ kind = "l_diversity", l = 2 }]
[output]
directory = "out"
report = false
"""
    path = tmp_path / "recipe.toml"
    path.write_text(recipe)
    (tmp_path / "people.csv").write_text("age,sex,ill\n21,f,flu\n22,f,cold\n31,m,flu\n32,m,cold\n")
    assert read_recipe(recipe).protect[0]["method"] == "generalise"
    from discreet.recipe.run import run_recipe

    done = run_recipe(path)
    assert done.verdict.holds
    assert (tmp_path / "out" / "public" / "records.csv").read_text().count("2,f") == 2


@pytest.mark.parametrize("algorithm", ["lattice", "local"])
def test_values_never_become_codes_for_unknown(algorithm):
    """Neither rules nor readers could tell them from gaps."""
    data = people(
        {"age": ["0", "1", "4", "5"], "town": ["N1"] * 4, "sex": ["f"] * 4}, missing_codes={"age": ["4-5", "0-1"]}
    )
    with pytest.raises(InputError, match="Values of key 'age' would become codes for unknown: '0-1', '4-5'"):
        ds.protect(data, ds.Generalise(2, algorithm=algorithm))
    fine = people({"age": ["0", "1", "4", "5", "9"] * 2, "town": ["N1"] * 10, "sex": ["f"] * 10})
    assert ds.protect(fine.with_(missing_codes={"age": ["9"]}), ds.Generalise(2, algorithm=algorithm)).verify().holds
