"""Synthesis: what it keeps, what it does not release, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.records.synthesis.columns import holders_of

KEY = ds.Key(bytes(range(32)))
RULE = {"marital": {"age < 16": "single"}}


@cache
def table(rows: int = 1500) -> pa.Table:
    draw = np.random.default_rng(8)
    age = np.clip(draw.gamma(4, 11, rows), 0, 100).astype(int)
    education = np.array(["low", "middle", "high"])[np.clip(age // 25 + draw.integers(-1, 2, rows), 0, 2)]
    marital = np.where(age < 16, "single", draw.choice(["single", "married", "divorced"], rows, p=[0.3, 0.5, 0.2]))
    income = np.round(draw.lognormal(9 + (education == "high") * 0.7, 0.5, rows), 2)
    income = [
        None if gap else 0.0 if child else float(v)
        for v, gap, child in zip(income, age % 11 == 3, age < 16, strict=True)
    ]
    hours = np.where(draw.random(rows) < 0.1, -9, np.round(draw.normal(38, 6, rows))).astype(int)
    born = [
        dt.date(2020, 1, 1) - dt.timedelta(days=int(a) * 365 + int(d))
        for a, d in zip(age, draw.integers(0, 365, rows), strict=True)
    ]
    return pa.table(
        {
            "age": age,
            "sex": draw.choice(["m", "f"], rows),
            "education": education,
            "marital": marital,
            "income": pa.array(income, pa.float64()),
            "hours": hours,
            "born": born,
            "area": draw.choice(["n", "s", "w"], rows),
        }
    )


def people(**roles: object) -> ds.Microdata:
    return ds.Microdata(
        **{"source": table(), "missing_codes": {"hours": ["-9"]}, "numeric": ["income"], "sensitive": ["born"], **roles}
    )


@cache
def released() -> ds.Release:
    return ds.protect(people(), ds.Synthesise(rules=RULE), key=KEY)


def columns(release: ds.Release) -> dict[str, list]:
    return release.public.records.shown()


def test_all_columns_are_drawn_anew_and_the_checker_agrees():
    release = released()
    verdict = release.verify()
    assert verdict.holds, verdict
    assert release.public.records.altered == tuple(table().column_names)
    assert len(release.public.records) == table().num_rows
    claim = release.custodian.evidence[0].claim
    assert claim.statement.startswith("Done as stated: in 1,500 records")
    assert "safe" not in claim.statement
    assert any("asserted" in line or "drawn from the stated models" in line for line in verdict.asserted)


def test_values_that_few_records_have_are_not_released():
    """Incomes to the cent: none that is anybody's alone comes out, and zeros, which many share, do."""
    old = Counter(table()["income"].to_pylist())
    new = Counter(columns(released())["income"])
    assert not [value for value in new if value is not None and 0 < old[value] < 5]
    assert new[0.0] == pytest.approx(old[0.0], rel=0.2)


@pytest.mark.parametrize("name", ["income", "age", "born"])
def test_the_largest_and_smallest_values_are_cut_off(name):
    old = sorted(value for value in table()[name].to_pylist() if value is not None)
    new = [value for value in columns(released())[name] if value is not None]
    assert old[4] <= min(new)
    assert max(new) <= old[-5]


def test_rules_hold_and_gaps_and_unknown_codes_are_about_as_frequent():
    shown, old = columns(released()), table().to_pydict()
    assert {m for m, age in zip(shown["marital"], shown["age"], strict=True) if age < 16} == {"single"}
    for name, empty in (("income", None), ("hours", -9)):
        assert shown[name].count(empty) == pytest.approx(old[name].count(empty), rel=0.35)
    assert min(value for value in shown["hours"] if value != -9) > -9


def test_columns_depend_on_each_other_as_before():
    shown, old = columns(released()), table().to_pydict()
    for what in ("high", "low"):
        means = [
            np.mean([v for v, e in zip(some["income"], some["education"], strict=True) if e == what and v])
            for some in (shown, old)
        ]
        assert means[0] == pytest.approx(means[1], rel=0.12)
    years = [np.corrcoef(some["age"], [d.toordinal() for d in some["born"]])[0, 1] for some in (shown, old)]
    assert years[0] == pytest.approx(years[1], abs=0.02)


def test_rows_are_nobodys_where_all_columns_are_synthesised():
    """In the order of the file, columns before and after have nothing to do with each other."""
    release = ds.protect(people(), ds.Synthesise(), key=KEY, keep_order=True)
    shown = columns(release)
    assert abs(np.corrcoef(shown["age"], table()["age"].to_numpy())[0, 1]) < 0.08
    same = np.mean([a == b for a, b in zip(shown["area"], table()["area"].to_pylist(), strict=True)])
    assert same == pytest.approx(1 / 3, abs=0.05)


def test_the_order_of_rows_does_not_matter_and_the_key_does():
    shuffled = table().take(np.random.default_rng(1).permutation(table().num_rows))
    method = ds.Synthesise(rules=RULE, default="cart")
    one, other = (ds.protect(people().with_(source=rows), method, key=KEY) for rows in (table(), shuffled))
    assert columns(one) == columns(other)
    assert columns(ds.protect(people(), method, key=ds.Key(bytes(32)))) != columns(one)


@pytest.mark.parametrize("other", [{"copy": 1}, {"version": 2}, {"smoothing": "column"}, {"min_leaf": 6}])
def test_another_copy_or_method_has_draws_of_its_own(other):
    """Not one column is left as it was drawn before: two releases could else be linked row by row."""
    rows = read_record_set(people())
    kept = {}
    for given in ({}, other):
        changed = ds.Synthesise(["sex", "area", "hours"], given=[], **given).run(rows, KEY).changed
        kept[str(given)] = changed
    one, two = kept.values()
    for name, share in (("sex", 0.5), ("area", 1 / 3)):
        same = np.mean([a == b for a, b in zip(one[name].to_pylist(), two[name].to_pylist(), strict=True)])
        assert same == pytest.approx(share, abs=0.06)


def test_straight_line_models_keep_means_and_chances():
    method = ds.Synthesise(
        ["sex", "education", "income", "hours"],
        models={"sex": "logit", "education": "polytomous", "income": "normal_rank", "hours": "normal"},
        given=["age"],
    )
    release = ds.protect(people(), method, key=KEY, keep_order=True)
    assert release.verify().holds
    shown, old = columns(release), table().to_pydict()
    assert shown["age"] == old["age"]
    for young in (True, False):
        shares = [
            np.mean([e == "low" for e, a in zip(some["education"], some["age"], strict=True) if (a < 30) == young])
            for some in (shown, old)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=0.08)
    middle = [np.median([v for v in some["income"] if v]) for some in (shown, old)]
    assert middle[0] == pytest.approx(middle[1], rel=0.1)
    worked = [np.mean([v for v in some["hours"] if v != -9]) for some in (shown, old)]
    assert worked[0] == pytest.approx(worked[1], abs=1)


def test_sampled_columns_do_not_depend_on_others():
    release = ds.protect(people(), ds.Synthesise(["income", "education"], default="sample"), key=KEY)
    assert release.verify().holds
    shown = columns(release)
    highest = [
        np.mean([v for v, e in zip(shown["income"], shown["education"], strict=True) if e == what and v])
        for what in ("high", "low")
    ]
    assert highest[0] == pytest.approx(highest[1], rel=0.15)


def test_strata_are_models_of_their_own():
    draw = np.random.default_rng(2)
    area = np.repeat(["n", "s"], 300)
    data = pa.table(
        {
            "area": area,
            "job": np.where(area == "n", draw.choice(["a", "b"], 600), draw.choice(["c", "d"], 600)),
            "pay": pa.array([None if a == "n" and i % 5 == 0 else float(i) for i, a in enumerate(area)]),
        }
    )
    release = ds.protect(ds.Microdata(data, strata=["area"]), ds.Synthesise(default="sample"), key=KEY)
    assert release.verify().holds
    shown = columns(release)
    assert {(a, j) for a, j in zip(shown["area"], shown["job"], strict=True)} == {
        ("n", "a"),
        ("n", "b"),
        ("s", "c"),
        ("s", "d"),
    }
    assert None not in [p for p, a in zip(shown["pay"], shown["area"], strict=True) if a == "s"]
    named = ds.Synthesise(["job", "pay"], strata=["area"])
    assert ds.protect(ds.Microdata(data), named, key=KEY).verify().holds


@cache
def homes() -> ds.Microdata:
    draw = np.random.default_rng(4)
    size = draw.integers(1, 5, 250)
    home = np.repeat(np.arange(250), size)
    region, rent = draw.choice(["n", "s"], 250), np.round(draw.lognormal(6, 0.4, 250) + 100 * size, 1)
    data = pa.table(
        {
            "age": draw.integers(0, 90, len(home)),
            "home": home,
            "region": region[home],
            "rent": rent[home],
            "sex": draw.choice(["m", "f"], len(home)),
        }
    )
    return ds.Microdata(data, household="home")


def test_what_members_of_households_share_is_drawn_once_for_each():
    release = ds.protect(homes(), ds.Synthesise(order=["age"]), key=KEY)
    verdict = release.verify()
    assert verdict.holds, verdict
    facts = release.custodian.evidence[0].facts
    assert facts["households"] == ["region", "rent"]
    assert facts["columns"] == ["region", "rent", "age", "sex"]
    shown = columns(release)
    together: dict[int, set] = {}
    for home, region, rent in zip(shown["home"], shown["region"], shown["rent"], strict=True):
        together.setdefault(home, set()).add((region, rent))
    assert {len(values) for values in together.values()} == {1}
    sizes = Counter(Counter(shown["home"]).values())
    assert sizes == Counter(Counter(homes().source["home"].to_pylist()).values())
    rents = [
        np.mean([r for r, h in zip(shown["rent"], shown["home"], strict=True) if Counter(shown["home"])[h] == n])
        for n in (1,)
    ]
    assert rents[0] < np.mean(shown["rent"])


@cache
def large_homes() -> pa.Table:
    """90 households of two or five with an income each, the largest among those of five; rents are of adults."""
    draw = np.random.default_rng(1)
    home = np.concatenate([np.repeat(np.arange(50), 2), np.repeat(np.arange(50, 90), 5)])
    income = np.round(draw.lognormal(8, 1, 90), 2)
    income[60] = 9_999_999.37
    adult = np.arange(len(home)) != 7
    rent = [round(float(value) / 3, 2) if grown else None for value, grown in zip(income[home], adult, strict=True)]
    return pa.table({"home": home, "income": income[home], "rent": rent, "age": draw.integers(0, 80, len(home))})


def test_values_are_counted_once_for_each_company_whatever_is_empty():
    """By a loop over records: gaps, zeros beside them, codes for "unknown", records of no company."""
    draw = np.random.default_rng(7)
    home = [None if h == 0 else int(h) for h in draw.integers(0, 25, 300)]
    pay = [None if v < 3 else int(v) - 3 for v in draw.integers(0, 60, 300)]
    data = ds.Microdata(
        pa.table({"home": pa.array(home), "pay": pa.array(pay)}), contributor="home", missing_codes={"pay": ["9"]}
    )
    records = read_record_set(data)
    empty = np.array([value in (None, 9) for value in pay])
    numbers = np.array([value or 0 for value in pay])
    once = holders_of(records).once(numbers, empty)
    wanted = {(h, v) for h, v in zip(home, pay, strict=True) if h is not None and v not in (None, 9)}
    loose = [v for h, v in zip(home, pay, strict=True) if h is None and v not in (None, 9)]
    assert Counter(numbers[once].tolist()) == Counter([v for _, v in wanted] + loose)
    release = ds.protect(data, ds.Synthesise(["pay"]), key=KEY)
    assert release.verify().holds, release.verify().refused


@pytest.mark.parametrize("role", ["household", "contributor"])
def test_what_the_members_of_one_household_share_is_a_value_of_few(role):
    """Five records of one household, or company, are not five that have the same value."""
    data = ds.Microdata(large_homes(), numeric=["income", "rent"], **{role: "home"})
    release = ds.protect(data, ds.Synthesise(), key=KEY)
    shown = columns(release)
    for name in ("income", "rent"):
        assert not set(shown[name]) - {None} & set(large_homes()[name].to_pylist())
    assert max(shown["income"]) < 1_000_000
    claim = release.custodian.evidence[0].claim.statement
    assert f"No value of 'income', 'rent' is released that fewer than 5 {role}s have." in claim
    verdict = release.verify()
    assert verdict.holds, verdict.refused


def test_columns_that_follow_from_what_stays_are_refused_and_records_as_before_are_counted():
    """A tree by the column that tells it draws every value as it was."""
    code = np.random.default_rng(1).integers(0, 30, 600)
    table = pa.table({"town": [f"t{c}" for c in code], "ill": [f"i{c * 7 % 11}" for c in code]})
    data = ds.Microdata(table, keys=["town"], sensitive=["ill"])
    with pytest.raises(ProtectionError, match="No value of 'ill' changed: models by the columns that stay"):
        ds.protect(data, ds.Synthesise(["ill"]), key=KEY)
    towns = table.append_column("sex", pa.array(np.random.default_rng(2).choice(["m", "f"], 600)))
    release = ds.protect(data.with_(source=towns), ds.Synthesise(["ill", "sex"]), key=KEY, keep_order=True)
    same = int((np.array(columns(release)["sex"]) == np.array(towns["sex"])).sum())
    assert 200 < same < 400
    assert f"All of these are as before in {same} records." in release.custodian.evidence[0].claim.statement
    assert release.verify().holds


@pytest.mark.parametrize("model", ["normal", "cart"])
def test_numbers_that_columns_that_stay_tell_are_refused(model):
    """Each would be drawn a cent beside its own value, which no count of equal values sees."""
    pay = np.round(np.random.default_rng(4).uniform(1000, 9000, 1500), 2)
    data = ds.Microdata(pa.table({"pay": pay, "tax": np.round(pay / 4, 2)}), numeric=["pay", "tax"])
    with pytest.raises(ProtectionError, match="Values of 'tax' would stay nearly as they are"):
        ds.protect(data, ds.Synthesise(["tax"], models={"tax": model}), key=KEY)
    both = ds.protect(data, ds.Synthesise(models={"tax": model}), key=KEY)  # tax follows pay, which is nobody's
    assert both.verify().holds


def kingdom(kings=1, homes=False):
    """One or some kings with a pay that nobody else has."""
    rng = np.random.default_rng(2)
    pay = np.append(np.round(rng.lognormal(8, 1, 300 - kings), 2), [987_654.32] * kings)
    table = {"job": ["a"] * (300 - kings) + ["king"] * kings, "pay": pay, "rank": rng.choice(["x", "y"], 300)}
    table["rank"][300 - kings :] = "z"
    if homes:
        return ds.Microdata(pa.table({**table, "home": [*range(300 - kings), *[999] * kings]}), household="home")
    return ds.Microdata(pa.table(table), numeric=["pay"])


KING = {"pay": {"job == 'king'": 987_654.32}}


@pytest.mark.parametrize("kings", [1, 4])
@pytest.mark.parametrize("rules", [KING, {"rank": {"job == 'king'": "z"}}])
def test_rules_that_tell_what_few_have_are_refused_by_name(kings, rules):
    name = next(iter(rules))
    with pytest.raises(ProtectionError, match=f"gives '{name}' a value, and fewer than 5 records are under it") as said:
        ds.protect(kingdom(kings), ds.Synthesise([name], rules=rules), key=KEY)
    assert f"rules_of_few=['{name}']" in said.value.hint
    assert "987" not in str(said.value)
    assert ds.protect(kingdom(5), ds.Synthesise([name], rules=rules), key=KEY).verify().holds


def test_members_of_one_household_are_few():
    with pytest.raises(ProtectionError, match="fewer than 5 households are under it"):
        ds.protect(kingdom(6, homes=True), ds.Synthesise(["pay"], rules=KING), key=KEY)


def test_rules_about_nobody_and_rules_of_gaps_tell_nothing():
    data = kingdom(1)
    nobody = {"rank": {"job == 'emperor'": "z"}}
    assert ds.protect(data, ds.Synthesise(["rank"], rules=nobody), key=KEY).verify().holds
    table = data.source.set_column(2, "rank", pa.array([*["x", "y"] * 149, "x", None]))
    gaps = {"rank": {"job == 'king'": ""}}
    assert ds.protect(ds.Microdata(table, numeric=["pay"]), ds.Synthesise(["rank"], rules=gaps), key=KEY).verify().holds


def test_rules_of_few_may_be_allowed_and_the_claim_says_so():
    release = ds.protect(kingdom(), ds.Synthesise(["pay"], rules=KING, rules_of_few=["pay"]), key=KEY)
    assert max(columns(release)["pay"]) == 987_654.32
    claim = release.custodian.evidence[0].claim
    words = "No value of 'pay' is released that fewer than 5 records have, but for values of rules."
    assert words in claim.statement
    assert any("may give what fewer than 5 records have" in one for one in claim.not_considered)
    assert release.verify().holds
    with pytest.raises(ParameterError, match="There is no column 'job' in rules"):
        ds.Synthesise(rules=KING, rules_of_few=["job"])


@pytest.mark.parametrize("method", [{"strata": ["area"]}, {"rules": {"b": {"area == 'x'": "q"}}}])
def test_draws_belong_to_strata_and_to_what_rules_look_at(method):
    """What earlier steps changed makes other models, and the draws for them are others."""
    draw = np.random.default_rng(5)
    table = pa.table({"area": ["n", "s"] * 200, "b": draw.choice(["p", "q"], 400)})
    shown = []
    for steps in ((), (ds.Recode("area", map={"n": "e", "s": "w"}),)):
        made = ds.protect(
            ds.Microdata(table), *steps, ds.Synthesise(["b"], given=[], **method), key=KEY, keep_order=True
        )
        assert made.verify().holds
        shown.append(made.public.records.shown()["b"])
    same = np.mean(np.array(shown[0]) == np.array(shown[1]))
    assert same == pytest.approx(0.5, abs=0.1)


def test_numbers_of_few_values_that_many_share_are_codes_and_others_by_name():
    data = pa.table({"rooms": [1, 2, 3, 7] * 50, "code": list(range(40)) * 5, "pay": np.arange(200) * 1.5})
    release = ds.protect(ds.Microdata(data, numeric=["pay"]), ds.Synthesise(categories=["code"], min_leaf=6), key=KEY)
    assert release.verify().holds
    facts = release.custodian.evidence[0].facts
    assert [one["kind"] for one in facts["models"]] == ["codes", "codes", "numbers"]


def test_fifty_numbers_that_just_enough_records_share_are_codes_and_rules_may_name_nothing():
    data = pa.table(
        {"code": [i // 5 for i in range(250)], "x": pa.array([None if i < 25 else "a" for i in range(250)])}
    )
    release = ds.protect(ds.Microdata(data), ds.Synthesise(rules={"x": {"code < 5": None}}), key=KEY)
    assert release.verify().holds
    assert release.custodian.evidence[0].facts["models"][0]["kind"] == "codes"


def test_labelled_numbers_are_codes():
    data = pa.table({"job": [1, 2] * 50 + [3] * 3, "x": ["a"] * 103})
    labels = {"job": {"1": "one", "2": "two", "3": "three"}}
    release = ds.protect(ds.Microdata(data, value_labels=labels), ds.Synthesise(["job"]), key=KEY)
    assert release.verify().holds
    assert release.custodian.evidence[0].facts["models"][0]["kind"] == "codes"
    assert release.public.records.info["job"].value_labels["1"] == "one"


def test_fewer_odd_values_than_a_leaf_become_what_most_have():
    data = pa.table({"rooms": [1.0] * 60 + [2.5] * 60 + [9.5, 7.25], "x": ["a"] * 122})
    shown = columns(ds.protect(ds.Microdata(data), ds.Synthesise(["rooms"]), key=KEY))
    assert set(shown["rooms"]) == {1.0, 2.5}


def test_drawn_numbers_are_no_codes_for_unknown():
    data = pa.table({"x": [*range(90, 97)] * 2 + [*range(100, 140)] * 3 + [98] * 20, "y": ["a"] * 154})
    release = ds.protect(ds.Microdata(data, missing_codes={"x": ["98", "97"]}), ds.Synthesise(["x"]), key=KEY)
    assert release.verify().holds
    assert 97 not in columns(release)["x"]
    assert 5 < columns(release)["x"].count(98) < 40


def test_numbers_without_a_unit_are_drawn_with_seven_digits():
    values = np.random.default_rng(3).normal(size=400)
    release = ds.protect(ds.Microdata(pa.table({"x": values}), numeric=["x"]), ds.Synthesise(["x"]), key=KEY)
    assert release.verify().holds
    shown = columns(release)["x"]
    assert all(value == round(value, 6) for value in shown)
    assert np.std(shown) == pytest.approx(np.std(values), rel=0.15)


def test_proper_synthesis_and_recipes_and_replay(tmp_path):
    method = ds.Synthesise(
        ["sex", "income"], proper=True, copy=3, rules={"income": {"age < 16 and marital == 'single'": 0}}
    )
    part = people(source=table().filter(table()["income"].is_valid()))
    release = ds.protect(part, method, key=KEY)
    assert release.verify().holds
    from discreet.methods.registry import method_from_record

    assert method_from_record(method.record()) == method
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds


def test_a_recipe_synthesises(tmp_path):
    arrow_csv.write_csv(table().select(["age", "marital", "income", "area"]), tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text(
        'version = 1\n[data]\nfile = "people.csv"\nnumeric = ["income"]\nstrata = ["area"]\n[records]\n'
        '[[protect]]\nmethod = "synthesise"\nmodels = { income = "normal_rank" }\nmin_leaf = 4\n'
        'rules = { marital = { "age < 16" = "single" } }\n[output]\ndirectory = "out"\n'
    )
    run = ds.run_recipe(tmp_path / "recipe.toml")
    assert run.verdict.holds
    facts = run.release.custodian.evidence[0].facts
    assert [one["kind"] for one in facts["models"]] == ["numbers", "codes", "numbers"]
    assert facts["strata"] == ["area"]


# ---- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": {"sex": "normal"}}, "The model 'normal' does not fit column 'sex', which holds codes"),
        ({"models": {"income": "logit"}}, "The model 'logit' does not fit column 'income', which holds numbers"),
        ({"models": {"marital": "logit"}}, "'logit' is for two codes, and column 'marital' has 3"),
        ({"order": ["weight"]}, "no column 'weight' in the synthesised columns"),
        ({"columns": ["sex", "nobody"]}, "no column 'nobody'"),
        ({"given": ["nobody"]}, "no column 'nobody'"),
        ({"strata": ["nobody"]}, "no column 'nobody'"),
        ({"columns": ["marital", "age"], "rules": RULE}, "looks at 'age', which is drawn later"),
        ({"rules": {"marital": {"age == 'old'": "single"}}}, "compares a column of int64 with something else"),
        ({"rules": {"marital": {"nobody < 3": "single"}}}, "no column 'nobody'"),
        ({"rules": {"hours": {"age < 2": "none"}}}, "a value that a column of int64 cannot hold"),
    ],
)
def test_parameters_that_do_not_fit_the_records(given, message):
    with pytest.raises((ParameterError, InputError), match=message):
        ds.Synthesise(**given).run(read_record_set(people()), KEY)


def test_rules_that_contradict_the_records():
    with pytest.raises(InputError, match=r"The rule 'age < 30' of 'marital' does not hold for \d+ records of \d+"):
        ds.Synthesise(rules={"marital": {"age < 30": "single"}}).run(read_record_set(people()), KEY)
    data = pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50, "c": ["1", "2"] * 50})
    rules = {"c": {"a == 'x'": "1", "b == 'q'": "2"}}
    method = ds.Synthesise(["a", "b", "c"], rules=rules, default="sample")
    with pytest.raises(ProtectionError, match=r"of 'c' give .* different values"):
        method.run(read_record_set(ds.Microdata(data)), KEY)


def test_a_column_without_a_value_is_refused():
    data = ds.Microdata(pa.table({"x": pa.array([None] * 30, pa.float64()), "y": ["a", "b"] * 15}))
    with pytest.raises(InputError, match="Column 'x' has no value in any record"):
        ds.Synthesise().run(read_record_set(data), KEY)


def test_leaves_larger_than_the_records():
    data = ds.Microdata(pa.table({"y": ["a", "b"] * 3, "z": ["s"] * 4 + ["t"] * 2}))
    with pytest.raises(InputError, match="There are 6 records to make the model of column 'y' of, and min_leaf=7"):
        ds.Synthesise(["y"], min_leaf=7).run(read_record_set(data), KEY)
    with pytest.raises(
        InputError, match="There are 2 records to make the model of column 'y' of with z 't', and min_leaf=3"
    ):
        ds.Synthesise(["y"], strata=["z"], min_leaf=3).run(read_record_set(data), KEY)
    with pytest.raises(InputError, match="has 1,500 values, and min_leaf=800 needs at least 1602"):
        ds.Synthesise(["age"], min_leaf=800).run(read_record_set(people()), KEY)


def test_more_coefficients_than_records():
    data = pa.table({"x": [*range(20)], "y": [f"c{i}" for i in range(20)]})
    with pytest.raises(InputError, match="The model of column 'x' has 20 coefficients, and there are 20 records"):
        ds.Synthesise(["x"], models={"x": "normal"}, min_leaf=3).run(read_record_set(ds.Microdata(data)), KEY)


def test_text_of_too_many_codes_and_nothing_to_synthesise():
    names = pa.table({"name": [f"n{i}" for i in range(1100)] * 2})
    with pytest.raises(InputError, match="'name' has 1,100 codes, and at most 1,000"):
        ds.Synthesise().run(read_record_set(ds.Microdata(names)), KEY)
    with pytest.raises(NeedsError, match="no column to synthesise"):
        ds.Synthesise(given=["name"]).run(read_record_set(ds.Microdata(names)), KEY)
    with pytest.raises(ParameterError, match="is a household, and holds no values"):
        ds.Synthesise(["home"]).run(read_record_set(homes()), KEY)


def test_strata_and_rules_that_cut_households():
    with pytest.raises(ParameterError, match="Strata by 'sex' cut households"):
        ds.Synthesise(strata=["sex"]).run(read_record_set(homes()), KEY)
    with pytest.raises(ParameterError, match="the same for all members of a household, and the rule"):
        ds.Synthesise(["region", "rent"], rules={"region": {"age > 200": "n"}}).run(read_record_set(homes()), KEY)
