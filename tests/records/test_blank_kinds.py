"""Local suppression in all its kinds: combinations, meanings of a gap, costs, strata, risk, integer programs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.measures.individual_risk import individual_risk
from discreet.records.blank_cells import BlankPrices, LargeEnough
from discreet.records.blank_families import family_blanked
from discreet.records.blank_programs import UNIT
from discreet.records.blank_strict import strictly_blanked
from discreet.records.blank_weakly import blanked_to_agree, blanked_to_be_exempt
from discreet.records.risk_limits import least_weights

KINDS = {
    "combinations": {"k": 3, "combinations": [["age"], {"keys": ["sex", "area"], "k": 5}]},
    "any": {"k": 3, "missing": "any"},
    "any-pairs": {"k": 3, "missing": "any", "size": 2},
    "exempt": {"k": 3, "missing": "exempt"},
    "exempt-pairs": {"k": 3, "missing": "exempt", "size": 2},
    "entropy": {"k": 3, "cost": "entropy", "importance": {"sex": 2}},
    "weighted": {"k": 3, "weight": "weight"},
    "weighted-pairs": {"k": 3, "size": 2, "weight": "w", "cost": "entropy"},
    "strata": {"k": 3, "strata": ["part"]},
    "strata-any": {"k": 3, "strata": ["part"], "missing": "any"},
    "optimal": {"k": 3, "algorithm": "optimal"},
    "risk": {"risk": 0.02},
    "risk-any": {"risk": 0.02, "missing": "any"},
    "risk-exempt": {"risk": 0.02, "missing": "exempt"},
    "risk-strata": {"risk": 0.02, "strata": ["part"], "weight": "w"},
}


def people(rows: int = 300, seed: int = 1, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": draw.integers(15, 70, rows),
            "sex": draw.choice(["f", "m"], rows),
            "area": pa.array([None if code == "?" else str(code) for code in draw.choice(list("abcd9?"), rows)]),
            "part": pa.array([None if code == "?" else str(code) for code in draw.choice(list("xy?"), rows)]),
            "w": np.round(draw.uniform(1, 50, rows), 2),
        }
    )
    given = {"keys": ["age", "sex", "area"], "weight": "w", "missing_codes": {"area": ["9"]}}
    return ds.Microdata(table, **{**given, **roles})


def agree(a: tuple, b: tuple) -> bool:
    return all(x == y or x is None or y is None for x, y in zip(a, b, strict=True))


def fewest(rows: list[tuple], missing: str) -> float:
    """The least number of records that share a combination, by looking at all pairs; gaps are ``None``."""
    if missing == "any":
        return min(sum(agree(row, other) for other in rows) for row in rows)
    if missing == "exempt":
        rows = [row for row in rows if None not in row]
    return min(Counter(rows).values(), default=np.inf)


def columns_of(release: ds.Release, names: list[str], missing: str) -> list[tuple]:
    shown = release.public.records.shown()
    unknown = {"area": {"9"}} if missing != "category" else {}
    return list(zip(*([None if v in unknown.get(name, ()) else v for v in shown[name]] for name in names), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_verified_saved_and_replayed(tmp_path, name):
    release = ds.protect(people(), ds.LocalSuppress(**KINDS[name]))
    verdict = release.verify()
    assert verdict.holds, verdict
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    again = ds.replay(ds.load(tmp_path / "out"))
    assert again.public.records.columns.equals(release.public.records.columns)
    facts = release.custodian.evidence[0].facts
    assert any(facts["blanks"])
    assert facts["least"] <= facts["cost"] + 1e-6


@pytest.mark.parametrize("name", [name for name, given in KINDS.items() if "k" in given])
def test_what_is_claimed_is_so_by_looking_at_all_pairs(name):
    given = KINDS[name]
    method = ds.LocalSuppress(**given)
    release = ds.protect(people(), method, keep_order=True)
    parts = people().source["part"].to_pylist() if method.strata else ["all"] * 300
    tables = [(tuple(t["keys"]), t["k"]) for t in method.combinations]
    sizes = [method.size or 3] if method.missing != "exempt" or method.size is None else range(1, method.size + 1)
    tables = tables or [(chosen, 3) for size in sizes for chosen in combinations(["age", "sex", "area"], size)]
    for chosen, k in tables:
        rows = columns_of(release, list(chosen), method.missing)
        for part in set(parts):
            mine = [row for row, own in zip(rows, parts, strict=True) if own == part]
            assert fewest(mine, method.missing) >= k, (chosen, part)


def test_claims_of_the_weaker_meanings_say_what_they_leave_open():
    for missing, words in (("any", "two records with nothing in them agree with everybody"), ("exempt", "not judge")):
        verdict = ds.protect(people(), ds.LocalSuppress(3, missing=missing)).verify()
        assert any(words in text for text in verdict.not_considered)


def test_codes_for_unknown_are_gaps_under_the_weaker_meanings_and_stay():
    for missing in ("any", "exempt"):
        release = ds.protect(people(), ds.LocalSuppress(3, missing=missing), keep_order=True)
        before, after = people().source["area"].to_pylist(), release.public.records.shown()["area"]
        assert all(new == "9" for old, new in zip(before, after, strict=True) if old == "9")


# ---- what it costs --------------------------------------------------------------------------------------------------


def test_entropy_keeps_rare_values_and_costs_minus_the_logarithm_of_their_shares():
    """Either column can be emptied; the values of the second are common, and say less."""
    table = pa.table({"a": ["1", "2", "3", "4"] * 2, "b": ["x", "x", "y", "y"] * 2})
    release = ds.protect(ds.Microdata(table, keys=["a", "b"]), ds.LocalSuppress(4, cost="entropy"), keep_order=True)
    facts = release.custodian.evidence[0].facts
    assert facts["cost"] == pytest.approx(8 * -log2(1 / 4))
    table = pa.table({"a": ["1", "1", "2", "2", "2", "2"], "b": ["x", "y", "x", "x", "x", "y"]})
    made = ds.protect(ds.Microdata(table, keys=["a", "b"]), ds.LocalSuppress(2, cost="entropy"))
    assert "bits" in made.custodian.evidence[0].claim.statement
    assert made.verify().holds


def test_a_field_costs_the_weight_of_its_record():
    """Two of three pairs must meet; those with small weights lose their field."""
    table = pa.table({"a": ["1", "2", "3", "4"], "b": ["x", "x", "y", "y"], "w": [1.0, 1.0, 100.0, 100.0]})
    data = ds.Microdata(table, keys=["a", "b"], weight="w")
    facts = ds.protect(data, ds.LocalSuppress(2, weight="w")).custodian.evidence[0].facts
    assert facts["cost"] == pytest.approx(202)
    by_role = ds.protect(data, ds.LocalSuppress(2, weight="weight")).custodian.evidence[0].facts
    assert by_role["cost"] == facts["cost"]


def test_ties_fall_where_they_make_the_fewest_others_rare():
    """The lone record loses a or b: without b, two records of y would be one too few; x is in enough records."""
    rows = [(1, 1)] + [(1, 2)] * 5 + [(2, 1)]
    codes = np.array(rows + [(3, 3)] * 3, np.int64)
    tables = [((0, 1), 2), ((0,), 2), ((1,), 2)]
    blank = blanked_to_be_exempt(codes, tables, BlankPrices.equal(codes, [1.0, 1.0]))
    assert blank[0].tolist() == [True, False]


# ---- oracles --------------------------------------------------------------------------------------------------------

SMALL = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=6)
FILES = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=5, max_size=25)


def cheapest(codes: np.ndarray, k: int, price: np.ndarray) -> float:
    shown = [np.array(bits, bool) for bits in product([True, False], repeat=codes.shape[1])]
    best = np.inf
    for choice in product(shown, repeat=len(codes)):
        after = np.where(np.array(choice), codes, 0)
        if min(Counter(map(tuple, after.tolist())).values()) >= k:
            best = min(best, float((price * ((after == 0) & (codes != 0))).sum()))
    return best


@settings(max_examples=40, deadline=None)
@given(SMALL, st.integers(2, 3), st.lists(st.sampled_from([1.0, 2.5, 7.0]), min_size=6, max_size=6))
def test_shares_of_records_never_add_up_to_more_than_the_cheapest_way(rows, k, weights):
    codes = np.array(rows, np.int64)
    weight = np.array(weights[: len(codes)])
    equal = BlankPrices.equal(codes, [1.0, 1.5])
    for prices, own in ((equal, np.ones(len(codes))), (BlankPrices(equal.codes, weight), weight)):
        made = strictly_blanked(codes, prices, LargeEnough.of(k))
        best = cheapest(codes, k, np.outer(own, [1.0, 1.5]))
        assert made.shares.sum() / UNIT <= best + 1e-6
        assert prices.cost(codes, made.blank) >= best - 1e-9


@settings(max_examples=25, deadline=None)
@given(SMALL, st.integers(2, 3))
@example([(0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 1)], 2)  # cheaper with a blank in a group that is large enough
def test_the_optimum_of_small_files_is_found_where_company_is_not_needed(rows, k):
    codes = np.array(rows, np.int64)
    prices = BlankPrices.equal(codes, [1.0, 1.0])
    made = strictly_blanked(codes, prices, LargeEnough.of(k), "optimal", 200)
    best = cheapest(codes, k, np.ones(codes.shape))
    large = [n for n in Counter(map(tuple, codes.tolist())).values() if n >= k]
    if not large:
        assert made.blank.sum() == pytest.approx(best)
    assert made.bound is None or made.bound <= made.blank.sum() + 1e-6


@settings(max_examples=40, deadline=None)
@given(FILES, st.integers(2, 3))
def test_of_pairs_no_blank_is_superfluous_and_none_is_rare(rows, k):
    codes = np.array(rows, np.int64)
    tables = [(chosen, k) for chosen in combinations(range(3), 2)]
    made = family_blanked(codes, tables, BlankPrices.equal(codes, [1.0] * 3))

    def good(after: np.ndarray) -> bool:
        return all(min(Counter(map(tuple, after[:, c].tolist())).values()) >= k for c, _ in tables)

    after = np.where(made.blank, 0, codes)
    assert good(after)
    whole = strictly_blanked(codes, BlankPrices.equal(codes, [1.0] * 3), LargeEnough.of(k))
    assert made.blank.sum() <= whole.blank.sum()


@settings(max_examples=60, deadline=None)
@given(FILES, st.integers(2, 3), st.sampled_from(["any", "exempt"]), st.integers(1, 3))
@example([(0, 0, 1), (0, 0, 3), (0, 1, 1), (0, 1, 1), (0, 2, 3)], 3, "any", 3)  # records with gaps agreed before
def test_the_weaker_meanings_hold_in_random_files(rows, k, missing, size):
    codes = np.array(rows, np.int64)
    sizes = range(1, size + 1) if missing == "exempt" else [size]
    tables = [(chosen, k) for n in sizes for chosen in combinations(range(3), n)]
    blank = {"any": blanked_to_agree, "exempt": blanked_to_be_exempt}[missing](
        codes, tables, BlankPrices.equal(codes, [1.0, 2.0, 1.0])
    )
    after = np.where(blank, 0, codes)
    for chosen, _ in tables:
        assert fewest([tuple(v or None for v in row) for row in after[:, chosen].tolist()], missing) >= k


# ---- risk -----------------------------------------------------------------------------------------------------------

GOLDEN = [
    (1, 0.1, 0.2558427881),
    (2, 0.1, 0.08268413465),
    (3, 0.1, 0.04636842948),
    (4, 0.1, 0.03188498932),
    (10, 0.1, 0.01097600626),
    (1, 0.004, 0.02217454184),
    (2, 0.008, 0.007750499887),
    (5, 0.004, 0.0009986719396),
    (1, 0.03, 0.1084502442),
    (2, 0.03, 0.02757370379),
    (3, 0.03, 0.01461112256),
    (1, 0.5, 0.6931471806),
    (2, 0.5, 0.3068528194),
    (3, 0.5, 0.1931471806),
    (400, 0.001, 0.000002506259367),
]


@pytest.mark.parametrize(("f", "p", "risk"), GOLDEN)
def test_the_risks_of_card_003_21(f, p, risk):
    assert individual_risk(f, f / p) == pytest.approx(risk, rel=1e-7)


def test_the_least_weights_are_those_at_the_limit():
    least = least_weights(0.05)
    assert len(least) == 20
    for records in range(1, 20):
        assert individual_risk(records, least[records]) <= 0.05 < individual_risk(records, least[records] * 0.999)
    assert (np.diff(least[1:]) < 0).all(), "more records need less weight, so that further ones never harm"


@pytest.mark.parametrize("missing", ["category", "any", "exempt"])
def test_only_records_at_risk_lose_fields_until_they_are_not(missing):
    data = people()
    release = ds.protect(data, ds.LocalSuppress(risk=0.02, missing=missing), keep_order=True)
    weights = data.source["w"].to_pylist()

    def risks(rows: list[tuple]) -> list[float]:
        alike = agree if missing == "any" else (lambda a, b: a == b)
        found = []
        for row in rows:
            same = [w for other, w in zip(rows, weights, strict=True) if alike(row, other)]
            found.append(0.0 if missing == "exempt" and None in row else individual_risk(len(same), sum(same)))
        return found

    keys = ["age", "sex", "area"]
    gap = {"9"} if missing != "category" else set()
    before = list(zip(*([None if v in gap else v for v in data.source[n].to_pylist()] for n in keys), strict=True))
    after = columns_of(release, keys, missing)
    assert max(risks(after)) <= 0.02 * (1 + 1e-9)
    unsafe = [risk > 0.02 for risk in risks(before)]
    touched = [a != b for a, b in zip(before, after, strict=True)]
    facts = release.custodian.evidence[0].facts
    assert facts["unsafe"] == sum(unsafe)
    assert facts["company"] == sum(t and not u for t, u in zip(touched, unsafe, strict=True))
    if missing == "any":
        assert facts["company"] == 0


# ---- what cannot be done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ParameterError, "takes either k= or risk="),
        ({"k": 3, "risk": 0.1}, ParameterError, "takes either k= or risk="),
        ({"risk": 0.1, "size": 2}, ParameterError, "risk= is of all keys at once"),
        ({"risk": 1.0}, ParameterError, "risk=1.0 is not allowed"),
        ({"k": 3, "missing": "all"}, ParameterError, "missing"),
        ({"k": 3, "algorithm": "optimal", "size": 2}, ParameterError, 'algorithm="optimal" is for k='),
        ({"k": 3, "combinations": [["age"]], "size": 2}, ParameterError, "combinations= stands in place of"),
        ({"k": 3, "strata": ["nowhere"]}, ParameterError, "no column 'nowhere'"),
        ({"k": 3, "weight": "nothing"}, ParameterError, "no column 'nothing'"),
        ({"k": 3, "weight": "sex"}, InputError, "Weight 'sex' holds string, not numbers"),
        ({"k": 301}, ProtectionError, "is to occur 301 times, in 300 records"),
        ({"k": 3, "strata": ["age"]}, ProtectionError, r"in \d records? of a stratum"),
    ],
)
def test_what_cannot_be_done_is_said(given, error, message):
    with pytest.raises(error, match=message):
        ds.protect(people(), ds.LocalSuppress(**given))


def test_weights_of_zero_or_below_one_are_refused():
    data = people()
    zero = data.with_(source=data.source.set_column(4, "w", pa.array([0.0] + [2.0] * 299)))
    with pytest.raises(InputError, match="1 record has no weight above 0 in 'w'"):
        ds.protect(zero, ds.LocalSuppress(3, weight="w"))
    small = data.with_(source=data.source.set_column(4, "w", pa.array([0.5] * 2 + [2.0] * 298)))
    with pytest.raises(ParameterError, match="2 records have a weight below 1 in 'w'"):
        ds.protect(small, ds.LocalSuppress(risk=0.1))


def test_a_risk_that_cannot_be_reached_is_said():
    with pytest.raises(ProtectionError, match="Even with empty keys, 9 records have a risk of"):
        ds.protect(people(9), ds.LocalSuppress(risk=0.001))


def test_risk_needs_weights():
    with pytest.raises(NeedsError, match="Individual risk needs the weights"):
        ds.protect(people(weight=None), ds.LocalSuppress(risk=0.1))


def test_twenty_keys_with_all_subsets_are_refused_before_any_work():
    names = [f"k{n}" for n in range(20)]
    data = ds.Microdata(pa.table({name: ["a", "b"] * 5 for name in names}), keys=names)
    with pytest.raises(ParameterError, match=r"20 keys have 15,504 combinations to protect.*at most 2,000"):
        ds.protect(data, ds.LocalSuppress(3, size=5))
    with pytest.raises(ParameterError, match="20 keys have 1,048,576 sets of columns to empty"):
        ds.protect(data, ds.LocalSuppress(3))


def test_keys_that_tell_nobody_apart_are_noted_and_stay():
    table = pa.table(
        {"sex": ["f"] * 6, "gone": pa.array([None] * 6, pa.string()), "age": ["1", "1", "2", "2", "3", "4"]}
    )
    data = ds.Microdata(table, keys=["sex", "gone", "age"])
    release = ds.protect(data, ds.LocalSuppress(2, cost="entropy"), rules=ds.KAnonymity(2), keep_order=True)
    assert "Key 'sex' has the same value in all records" in release.summary()
    assert "Key 'gone' is empty in all records" in release.summary()
    assert release.public.records.shown()["sex"] == ["f"] * 6
    assert release.verify().holds


def test_a_stratum_that_is_a_key_is_counted_and_never_emptied():
    release = ds.protect(people(strata=["sex"]), ds.LocalSuppress(3), rules=ds.KAnonymity(3))
    assert None not in release.public.records.shown()["sex"]
    assert "within 'sex'" in release.custodian.evidence[0].claim.statement
    assert release.verify().holds


def test_the_integer_program_states_its_bound_and_the_gap():
    release = ds.protect(people(120), ds.LocalSuppress(3, algorithm="optimal"))
    (said,) = release.custodian.evidence[0].findings
    assert "nothing costs less than" in said
    assert "the gap is" in said
    greedy = ds.protect(people(120), ds.LocalSuppress(3)).custodian.evidence[0].facts["cost"]
    assert release.custodian.evidence[0].facts["cost"] <= greedy


@pytest.mark.parametrize("name", ["combinations", "exempt-pairs", "risk"])
def test_a_recipe_does_the_same(tmp_path, name):
    import pyarrow.csv as csv

    csv.write_csv(people().source, tmp_path / "people.csv")
    asked = {
        "combinations": 'k = 3\ncombinations = [["age"], { keys = ["sex", "area"], k = 5 }]',
        "exempt-pairs": 'k = 3\nmissing = "exempt"\nsize = 2',
        "risk": "risk = 0.02",
    }[name]
    (tmp_path / "job.toml").write_text(
        f"""version = 1
[data]
file = "people.csv"
keys = ["age", "sex", "area"]
weight = "w"
[records]
name = "people"
[[protect]]
method = "local_suppress"
{asked}
[output]
directory = "out"
"""
    )
    assert ds.run_recipe(tmp_path / "job.toml").release.verify().holds
