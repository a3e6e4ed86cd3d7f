"""Multiplicative noise as a method of ``ds.protect``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.verify import check_release

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
KIND = ds.Hierarchy.flat(["x", "y"])
KEY = ds.Key(bytes(range(32)))


def shipments(n: int = 300, weighted: bool = True) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "id": np.arange(n),
            "company": rng.integers(0, n // 4, n),
            "area": rng.choice(AREA.base_codes, n),
            "kind": rng.choice(KIND.base_codes, n),
            "value": np.rint(rng.lognormal(5, 1.5, n)).astype(np.int64),
            "tons": rng.integers(1, 50, n),
            "w": np.round(1 + rng.random(n) * 2 * weighted, 2),
            "known": np.round(1 + rng.random(n) * weighted, 2),
        }
    )


def spec(value: str | None = "value", **options: object) -> ds.TableSpec:
    return ds.TableSpec(by={"area": AREA, "kind": KIND}, value=value, **options)


def data(frame: pa.Table | None = None, weight: str | None = "w") -> ds.Microdata:
    return ds.Microdata(shipments() if frame is None else frame, contributor="company", weight=weight)


def protected(method: ds.MultiplicativeNoise, *specs: ds.TableSpec, **options: object) -> ds.Release:
    return ds.protect(data(**options), method, tables=specs or [spec()], key=KEY)


def test_tables_add_up_agree_and_are_done_as_stated():
    others = [spec(), ds.TableSpec(by={"kind": KIND}, value="value", name="kinds"), spec(None, name="counts")]
    release = protected(ds.MultiplicativeNoise("id"), *others)
    assert release.verify().holds
    assert "Done as stated" in release.summary()
    by_area, by_kind, counts = release.public.tables
    assert by_area.value[0] == by_kind.value[0]
    assert np.array_equal(counts.value, release.custodian.tables["counts"].value)
    assert np.any(release.custodian.published[0] != release.custodian.tables.tables[0].value)


def test_the_order_of_the_file_is_nothing():
    frame = shipments()
    one = protected(ds.MultiplicativeNoise("id"), frame=frame)
    two = protected(ds.MultiplicativeNoise("id"), frame=frame.take(np.arange(len(frame))[::-1].copy()))
    assert np.array_equal(one.custodian.published[0], two.custodian.published[0])
    other = ds.protect(data(), ds.MultiplicativeNoise("id", version=2), tables=[spec()], key=KEY)
    assert not np.array_equal(one.custodian.published[0], other.custodian.published[0])


def test_the_worked_example_of_the_card():
    """A: 100 (w 1), 300 (w 1.2); B: 50 (w 1): TA 510; sensitive for p = 20 (needs 20), not for p = 10."""
    frame = pa.table(
        {
            "id": [1, 2, 3],
            "company": ["A", "A", "B"],
            "area": ["N1"] * 3,
            "kind": ["x"] * 3,
            "value": [100, 300, 50],
            "w": [1.0, 1.2, 1.0],
        }
    )
    for p, sensitive in ((10, 0), (20, 4)):
        release = ds.protect(
            ds.Microdata(frame, contributor="company", weight="w"),
            ds.MultiplicativeNoise("id", p=p),
            tables=[
                ds.TableSpec(by={"area": ds.Hierarchy.flat(["N1"]), "kind": ds.Hierarchy.flat(["x"])}, value="value")
            ],
            key=KEY,
        )
        table = release.custodian.tables.tables[0]
        assert table.values[0] == 510
        parts = release.custodian.evidence[0].parts["altered"]
        assert (parts["first"][0], parts["second"][0]) == (400 * 10**table.decimals, 50 * 10**table.decimals)
        assert release.custodian.evidence[0].facts["sensitive"] == sensitive
        assert release.verify().holds


def test_rounding_protects_too():
    """TA 3,400,000, X1 3,000,000, X2 350,000, p = 10, unit 10**6: sensitive; without rounding too."""
    frame = pa.table(
        {"id": [1, 2, 3], "area": ["N1"] * 3, "kind": ["x"] * 3, "value": [3_000_000, 350_000, 50_000], "w": [1] * 3}
    )
    by = {"area": ds.Hierarchy.flat(["N1"], total=None)}
    for unit, needed in ((None, 250_000), (1_000_000, 150_000)):
        method = ds.MultiplicativeNoise("id", p=10, round_unit=unit)
        release = ds.protect(ds.Microdata(frame), method, tables=[ds.TableSpec(by=by, value="value")], key=KEY)
        table, parts = release.custodian.tables.tables[0], release.custodian.evidence[0].parts["altered"]
        assert method._needed(table, parts["first"], parts["second"])[0] == needed


def test_cells_of_one_company_move_at_least_as_far_as_the_rule_asks():
    release = protected(ds.MultiplicativeNoise("id", 1.1, 1.2, p=10), frame=shipments(16), weight=None)
    table = release.custodian.tables.tables[0]
    moved = np.abs(release.custodian.published[0] - table.value)
    alone = table.contributions["holding"].count == 1
    assert alone.any()
    assert np.all(10 * moved[alone] >= table.value[alone])
    assert release.verify().holds


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=6),
    st.sampled_from([(1.1, 1.2), (1.02, 1.9), (1.3, 1.35)]),
    st.integers(0, 2**32),
)
def test_no_value_of_one_company_is_too_small_to_move(records, zone, seed):
    """Rounding to the nearest unit left values below five where they were, and cells of one company as they are."""
    frame = pa.table(
        {
            "id": range(len(records)),
            "company": [who for who, _ in records],
            "area": ["N1"] * len(records),
            "value": [value for _, value in records],
        }
    )
    one = ds.Hierarchy.flat(["N1"])
    release = ds.protect(
        ds.Microdata(frame, contributor="company"),
        ds.MultiplicativeNoise("id", *zone, insecure_seed=seed),
        tables=[ds.TableSpec(by={"area": one}, value="value")],
    )
    table = release.custodian.tables.tables[0]
    true, shown = int(table.value[0]), int(release.custodian.published[0][0])
    assert release.verify().holds
    if len({who for who, value in records if value}) == 1:
        assert abs(shown - true) >= (Fraction(str(zone[0])) - 1) * true
        evidence = release.custodian.evidence[0]
        altered = {**evidence.parts["altered"], "value": table.value}
        still = replace(
            release.custodian, published=(table.value,), evidence=(replace(evidence, parts={"altered": altered}),)
        )
        refusals = check_release(still, release.public).refused
        assert any("single contributor moved too little" in str(one) for one in refusals)


@pytest.mark.parametrize("factors", ["record", "variable"])
def test_one_factor_for_all_variables_is_admitted(factors):
    """Whoever knows the tons of a single record divides its factor out of the value, unless they are drawn apart."""
    n = 30
    frame = pa.table(
        {
            "id": range(n),
            "area": [f"c{i}" for i in range(n)],
            "value": [10**6 + i for i in range(n)],
            "tons": [5000] * n,
        }
    )
    by = {"area": ds.Hierarchy.flat([f"c{i}" for i in range(n)])}
    release = ds.protect(
        ds.Microdata(frame),
        ds.MultiplicativeNoise("id", factors=factors),
        tables=[ds.TableSpec(by=by, value="value"), ds.TableSpec(by=by, value="tons")],
        key=KEY,
    )
    value, tons = (table.value[1:].astype(float) for table in release.public.tables)
    near = np.abs(value / tons * 5000 / (10**6 + np.arange(n)) - 1) < 0.001
    assert near.all() if factors == "record" else near.mean() < 0.2
    admitted = any("same factor" in text for text in release.custodian.evidence[0].claim.not_considered)
    assert admitted == (factors == "record")
    assert release.verify().holds
    if factors == "variable":
        evidence = release.custodian.evidence[0]
        lying = replace(evidence, method={**evidence.method, "factors": "record"})
        assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_balanced_directions_are_kept_for_each_variable_alone():
    release = protected(ds.MultiplicativeNoise("id", balance=["area"], factors="variable"), spec(), spec("tons"))
    assert release.verify().holds


def test_counts_alone_are_refused():
    """Noise leaves counts as they are: a release of nothing else would be the truth."""
    with pytest.raises(NeedsError, match="leaves counts as they are"):
        protected(ds.MultiplicativeNoise("id"), spec(None))


def test_known_weights_can_leave_a_cell_unprotected_and_the_release_says_so():
    frame = pa.table({"id": [1], "area": ["N1"], "value": [100], "w": [3.0], "known": [3.0]})
    by = {"area": ds.Hierarchy.flat(["N1"], total=None)}
    release = ds.protect(
        ds.Microdata(frame, weight="w"),
        ds.MultiplicativeNoise("id", 1.1, 1.2, p=10, known_weight="known"),
        tables=[ds.TableSpec(by=by, value="value")],
        key=KEY,
    )
    assert release.custodian.evidence[0].facts["unprotected"] == 1
    assert any("moved less" in note for note in release.custodian.log["notes"])
    assert release.verify().holds


def test_balanced_noise_moves_large_cells_less_and_companies_one_way():
    plain = protected(ds.MultiplicativeNoise("id"), spec(), spec("tons"))
    balanced = protected(ds.MultiplicativeNoise("id", balance=["area"]), spec(), spec("tons"))
    assert balanced.verify().holds
    table = plain.custodian.tables.tables[0]
    rows = [table.row(area=code) for code in AREA.base_codes]
    moved = [np.abs(r.custodian.published[0] - table.value)[rows].sum() for r in (plain, balanced)]
    assert moved[1] < moved[0]


def test_noisy_cells_are_flagged():
    release = protected(ds.MultiplicativeNoise("id", limit=0.01))
    assert release.custodian.evidence[0].facts["too_noisy"] > 0
    assert any("more than 0.01" in note for note in release.custodian.log["notes"])


@pytest.mark.parametrize("lie", ["value", "own", "a", "counted"])
def test_the_checker_refuses_what_was_not_done(lie):
    release = protected(ds.MultiplicativeNoise("id", p=10), weight=None)
    evidence = release.custodian.evidence[0]
    altered = dict(evidence.parts["altered"])
    if lie in altered:
        altered[lie] = altered[lie] * 3
        lying = replace(evidence, parts={"altered": altered})
    elif lie == "a":
        lying = replace(evidence, method={**evidence.method, "b": 1.001, "a": 1.0001})
    else:
        statement = evidence.claim.statement.replace("cells are sensitive", "cells could be sensitive")
        lying = replace(evidence, claim=replace(evidence.claim, statement=statement))
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_audits_take_factors_for_known():
    """A company alone in a cell is known to within the zone of the factors, and counts exactly."""
    tables = ds.tabulate(data(shipments(16), weight=None), specs=[spec(), spec(None, name="counts")])
    tables = tables.assess(ds.PPercent(10), ds.MinContributors(3))
    release = ds.protect(tables, ds.MultiplicativeNoise("id", 1.1, 1.2), key=KEY)
    audit = ds.audit(release)
    assert not audit.holds
    columns = audit.columns()
    names = ("cell", "value", "lower", "upper", "verdict")
    found = {name: rest for name, *rest in zip(*(columns[c] for c in names), strict=True)}
    assert all(low <= value <= high for value, low, high, _ in found.values())
    assert all(high <= 1.51 * low + 3 for value, low, high, _ in found.values())
    assert {verdict for name, (*_, verdict) in found.items() if name.startswith("counts")} == {"recoverable"}
    balanced = ds.audit(ds.protect(tables, ds.MultiplicativeNoise("id", balance=["area"]), key=KEY))
    assert "cancels" in balanced.not_audited
    assert not balanced.holds


def test_bad_input_is_refused():
    frame = shipments()
    place = frame.column_names.index("value")
    with pytest.raises(InputError, match="below zero"):
        protected(ds.MultiplicativeNoise("id"), frame=frame.set_column(place, "value", pa.array([-1] * len(frame))))
    with pytest.raises(InputError, match="identifier of another"):
        protected(ds.MultiplicativeNoise("company"), frame=frame)
    with pytest.raises(NeedsError, match="balance"):
        protected(ds.MultiplicativeNoise("id", balance=["size"]))
    tables = ds.tabulate(data(), specs=[spec(), spec("tons"), spec("known")])
    tied = ds.TableSet([t.with_(value=t.value * 0, decimals=0) for t in tables], ["value = tons + known"]).assess()
    with pytest.raises(NeedsError, match="would not hold any more"):
        ds.protect(tied, ds.MultiplicativeNoise("id"), key=KEY)
    ready = ds.Table.from_cells(pa.table({"kind": ["Total", "x", "y"], "value": [3, 1, 2]}), by={"kind": KIND}).assess()
    with pytest.raises(NeedsError, match="records it was made from"):
        ds.protect(ready, ds.MultiplicativeNoise("id"), key=KEY)


@pytest.mark.parametrize(
    "wrong",
    [{"a": 1.0}, {"b": 2.0}, {"a": 1.3}, {"p": 0}, {"round_unit": 5}, {"limit": 0}, {"factors": "all"}],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        ds.MultiplicativeNoise("id", **wrong)


def test_a_recipe_adds_noise(tmp_path):
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(shipments(), tmp_path / "shipments.csv")
    (tmp_path / "recipe.toml").write_text(
        """
        version = 1
        [data]
        file = "shipments.csv"
        contributor = "company"
        weight = "w"
        [[tables]]
        by = ["area", "kind"]
        value = "value"
        [[rules]]
        kind = "p_percent"
        p = 10
        [[protect]]
        method = "multiplicative_noise"
        identifier = "id"
        a = 1.1
        b = 1.2
        p = 10
        [output]
        directory = "out"
        report = true
        """
    )
    assert ds.run_recipe(tmp_path / "recipe.toml").verdict.holds


def test_weights_below_one_are_named_and_contributions_below_zero_cut():
    frame = pa.table({"id": [1, 2, 3], "area": ["N", "N", "S"], "sales": [100, 50, 70], "w": [0.05, 1.0, 2.0]})
    spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["N", "S"])}, value="sales")
    data = ds.Microdata(frame, weight="w")
    releases = [
        ds.protect(data, ds.MultiplicativeNoise("id", 1.5, 1.9, insecure_seed=seed), tables=[spec]) for seed in range(8)
    ]
    assert all("1 contribution has a weight below 1" in release.summary() for release in releases)
    assert {"0 were cut" in release.summary() for release in releases} == {True, False}
    assert all((release.public.tables[0].value >= 0).all() and release.verify().holds for release in releases)
    plain = ds.protect(ds.Microdata(frame), ds.MultiplicativeNoise("id", insecure_seed=1), tables=[spec])
    assert "weight below 1" not in plain.summary()


# ---- files of records ---------------------------------------------------------------------------------------


def file_of(frame: pa.Table | None = None, **roles: object) -> ds.Microdata:
    given = {"contributor": "company", "identifier": "id", "numeric": ["value", "tons"], **roles}
    return ds.Microdata(shipments(weighted=False) if frame is None else frame, **given)


def multiplied(method: ds.MultiplicativeNoise, **options: object) -> ds.Release:
    return ds.protect(file_of(**options), method, key=KEY)


def moves(release: ds.Release, name: str) -> np.ndarray:
    before, after = (r[name].to_numpy() for r in (release.custodian.original, release.custodian.released))
    return after - before


@pytest.mark.parametrize("factors", ["record", "variable"])
def test_values_of_records_move_as_the_factors_say(factors):
    release = multiplied(ds.MultiplicativeNoise("id", 1.1, 1.2, factors=factors))
    assert release.verify().holds
    assert release.public.records.altered == ("value", "tons")
    company = release.custodian.original["company"].to_numpy()
    signs = {}
    for name in ("value", "tons"):
        own, moved = release.custodian.original[name].to_numpy(), moves(release, name)
        assert np.all(10 * np.abs(moved) >= own)
        assert np.all(np.abs(moved) <= -(-own // 5))
        signs[name] = dict(zip(company[moved != 0].tolist(), np.sign(moved[moved != 0]).tolist(), strict=True))
        assert all(signs[name][who] == np.sign(m) for who, m in zip(company.tolist(), moved.tolist(), strict=True) if m)
    both = signs["value"].keys() & signs["tons"].keys()
    assert all(signs["value"][who] == signs["tons"][who] for who in both) == (factors == "record")


def test_records_and_tables_of_them_get_the_same_noise():
    release = multiplied(ds.MultiplicativeNoise("id"))
    again = ds.tabulate(ds.Microdata(release.custodian.released.columns), specs=[spec(), spec("tons")])
    tables = ds.protect(data(shipments(weighted=False), None), ds.MultiplicativeNoise("id"), tables=[spec()], key=KEY)
    assert np.array_equal(again.tables[0].value, tables.custodian.published[0])


def test_decimals_stay_what_they_were():
    frame = shipments(weighted=False)
    cents = pa.array([None if i % 9 == 0 else value / 100 for i, value in enumerate(frame["value"].to_pylist())])
    release = multiplied(ds.MultiplicativeNoise("id", columns=["value"]), frame=frame.set_column(4, "value", cents))
    assert release.verify().holds
    assert release.custodian.evidence[0].facts["decimals"] == [2]
    for number in release.custodian.released["value"].to_pylist():
        assert number is None or number == round(number, 2)


def test_members_of_a_household_move_together_where_there_is_no_company():
    frame = shipments(weighted=False)
    release = multiplied(ds.MultiplicativeNoise("id"), frame=frame, contributor=None, household="company")
    assert release.verify().holds
    assert "all records of a company moved in one direction" in release.custodian.evidence[0].claim.statement


@pytest.mark.parametrize(
    ("method", "roles", "error", "message"),
    [
        ({"p": 10}, {}, ParameterError, "p= judges cells of tables"),
        ({"limit": 0.1}, {}, ParameterError, "limit= judges cells of tables"),
        ({}, {"numeric": []}, NeedsError, "does not know which columns to multiply"),
        ({"columns": ["id"]}, {}, ParameterError, "Column 'id' is the identifier"),
        ({"columns": ["w"]}, {"weight": "w"}, ParameterError, "Column 'w' is the weight"),
        ({"columns": ["valux"]}, {}, InputError, "no column 'valux'"),
        ({"columns": ["kind"]}, {}, InputError, "holds string, not numbers"),
        ({"balance": ["kinds"]}, {}, InputError, "no column 'kinds'"),
    ],
)
def test_what_cannot_be_multiplied_is_said(method, roles, error, message):
    with pytest.raises(error, match=message):
        multiplied(ds.MultiplicativeNoise("id", **method), **roles)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1 / 3, "more than nine decimals"),
        (-5.0, "1 value below zero"),
        (1e16, "too large to be changed exactly with 0 decimals"),
    ],
)
def test_numbers_that_have_no_exact_unit_are_refused(value, message):
    frame = shipments(weighted=False)
    numbers = pa.array([value, *map(float, frame["value"].to_pylist()[1:])])
    with pytest.raises(InputError, match=message):
        multiplied(ds.MultiplicativeNoise("id"), frame=frame.set_column(4, "value", numbers))


def test_a_file_names_the_columns_that_are_numbers(tmp_path):
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(shipments(weighted=False), tmp_path / "shipments.csv")
    source = ds.Microdata(tmp_path / "shipments.csv", contributor="company", identifier="id", sensitive=["value"])
    release = ds.protect(source, ds.MultiplicativeNoise("id", columns=["value"]), key=KEY)
    assert release.custodian.original["value"].type == pa.int64()
    assert release.verify(source).holds


def test_a_method_for_tables_may_follow():
    steps = [ds.MultiplicativeNoise("id"), ds.Suppress()]
    release = ds.protect(file_of(), steps, tables=[spec()], rules=[ds.PPercent(10)], key=KEY)
    assert release.verify(file_of()).holds
    noisy = ds.protect(file_of(), ds.MultiplicativeNoise("id"), tables=[spec()], key=KEY)
    assert np.array_equal(release.custodian.tables.tables[0].value, noisy.custodian.published[0])


def test_tables_of_other_columns_are_refused():
    with pytest.raises(NeedsError, match="is of 'tons', and only 'value' shall be multiplied"):
        protected(ds.MultiplicativeNoise("id", columns=["value"]), spec("tons"))
