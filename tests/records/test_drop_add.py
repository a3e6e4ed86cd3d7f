"""Drop/add-up-to-q as a method of ``ds.protect``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.verify import check_release

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
SEX = ds.Hierarchy.flat(["m", "f"])
KEY = ds.Key(bytes(range(32)))


def people(n: int = 2000, equal: bool = False) -> pa.Table:
    rng = np.random.default_rng(2)
    weight = np.full(n, 2.0) if equal else np.round(np.exp(rng.normal(0, 0.7, n)) + 0.1, 3)
    replicates = {f"r{k}": np.round(weight * rng.choice([0.5, 1.5], n), 4) for k in range(8)}
    return pa.table(
        {
            "id": np.arange(n),
            "area": rng.choice(AREA.base_codes, n),
            "sex": rng.choice(SEX.base_codes, n),
            "income": rng.integers(1, 1000, n),
            "w": weight,
            **replicates,
        }
    )


def spec(**options: object) -> ds.TableSpec:
    return ds.TableSpec(by={"area": AREA, "sex": SEX}, **options)


def answer(
    method: ds.DropAdd, frame: pa.Table | None = None, weight: str | None = None, **options: object
) -> ds.Release:
    data = ds.Microdata(people() if frame is None else frame, weight=weight)
    return ds.protect(data, method, tables=[spec(**options)], key=KEY)


def finest(release: ds.Release) -> tuple[np.ndarray, np.ndarray]:
    table = release.custodian.tables.tables[0]
    rows = [table.row(area=a, sex=s) for a in AREA.base_codes for s in SEX.base_codes]
    return release.custodian.published[0][rows], table.value[rows]


def test_the_same_question_has_the_same_answer_in_any_order():
    frame = people()
    one = answer(ds.DropAdd("id"), frame)
    other = {
        "sex": ds.Hierarchy.flat(["f", "m"]),
        "area": ds.Hierarchy.from_nested({"X": ["S2", "N1"], "Y": ["N2", "S1"]}),
    }
    shuffled = ds.Microdata(frame.take(np.random.default_rng(1).permutation(len(frame))))
    two = ds.protect(shuffled, ds.DropAdd("id"), tables=[ds.TableSpec(by=other)], key=KEY)
    tables = [r.custodian.tables.tables[0] for r in (one, two)]
    for area in AREA.base_codes:
        for sex in SEX.base_codes:
            rows = [table.row(area=area, sex=sex) for table in tables]
            assert one.custodian.published[0][rows[0]] == two.custodian.published[0][rows[1]]


def test_a_universe_that_differs_by_one_record_has_other_noise_everywhere():
    frame = people(4000)
    one, two = (finest(answer(ds.DropAdd("id", rate=0.05), f)) for f in (frame, frame.slice(1)))
    changes = (one[0] - one[1]) - (two[0] - two[1])
    assert np.count_nonzero(changes) >= 6


def test_no_more_records_move_than_q():
    release = answer(ds.DropAdd("id", rate=0.01))
    published, true = finest(release)
    assert np.all(np.abs(published - true) <= -(-true // 100))
    assert np.any(published != true)
    assert release.verify().holds
    assert any("averages out" in text for text in release.verify().not_considered)


def test_weighted_counts_keep_the_total():
    release = answer(ds.DropAdd("id", rate=0.05), weight="w")
    assert release.verify().holds
    published, true = finest(release)
    assert np.any(published != true)
    table = release.custodian.tables.tables[0]
    assert abs(int(release.custodian.published[0][0]) - int(table.value[0])) <= len(people())


def test_weights_that_undo_the_noise_are_refused_and_admitted():
    """Equal weights, in all or in each cell, bring every estimate back to the truth."""
    with pytest.raises(ProtectionError, match="published as it is"):
        answer(ds.DropAdd("id", rate=0.05), people(equal=True), weight="w")
    frame = people()
    cell = np.unique(frame["area"].to_numpy(zero_copy_only=False), return_inverse=True)[1]
    cell = 2.0 + cell + 0.5 * (frame["sex"].to_numpy(zero_copy_only=False) == "m")
    place = frame.column_names.index("w")
    with pytest.raises(ProtectionError, match="published as it is"):
        answer(ds.DropAdd("id", rate=0.05), frame.set_column(place, "w", pa.array(cell)), weight="w")
    north = frame["area"].to_numpy(zero_copy_only=False) == "N1"
    cell[north] += np.arange(north.sum()) % 5
    release = answer(ds.DropAdd("id", rate=0.05), frame.set_column(place, "w", pa.array(cell)), weight="w")
    verdict = release.verify()
    assert verdict.holds
    assert any("undoes their noise" in text for text in verdict.not_considered)
    custodian = release.custodian
    as_it_is = replace(custodian, published=tuple(table.value for table in custodian.tables))
    refused = check_release(as_it_is, release.public).refused
    assert any("the weights undo the noise" in str(one) for one in refused)


def test_audits_say_what_q_leaves_open_and_what_nobody_has_worked_out():
    small = people(40)
    audit = ds.audit(ds.protect(ds.Microdata(small), ds.DropAdd("id"), tables=[spec()], key=KEY))
    assert audit.not_audited == ""
    assert "the rate 0.01" in audit.summary()
    weighted = ds.audit(answer(ds.DropAdd("id", rate=0.05), weight="w"))
    assert weighted.not_audited
    assert not weighted.holds


@pytest.mark.parametrize("q", [1, 3])
def test_the_total_of_a_subsample_is_known(q):
    table = ds.tabulate(ds.Microdata(people(40)), specs=[spec()]).assess(ds.MinFrequency(60))
    release = ds.protect(table, ds.DropAdd("id", subsample=q), key=KEY)
    audit = ds.audit(release)
    columns = audit.columns()
    assert (40, 40) in zip(columns["lower"], columns["upper"], strict=True)
    assert not audit.holds


REPLICATES = tuple(f"r{k}" for k in range(8))


def test_sums_have_confidence_intervals_from_replicate_weights(tmp_path):
    release = answer(ds.DropAdd("id", replicates=REPLICATES), weight="w", value="income")
    assert release.verify().holds
    error = release.custodian.evidence[0].parts["altered"]["error"]
    table = release.custodian.tables.tables[0]
    assert np.all(error[table.value > 0] > 0)
    assert np.all(error < table.value)
    shown = release.public.tables[0]
    columns = shown.columns()
    reach = 1.959964 * error / 10.0**table.decimals
    for name, sign in (("lower", -1), ("upper", 1)):
        ends = [float(end) - float(value) for end, value in zip(columns[name], columns["value"], strict=True)]
        assert ends == pytest.approx((sign * reach).tolist(), abs=10.0**-table.decimals)
    release.save(tmp_path / "out", formats=("csv", "xlsx", "jsonstat", "parquet", "px"))
    loaded = ds.load(tmp_path / "out")
    assert loaded.verify().holds
    assert loaded.public.tables[0].coverage == 0.95
    told = next((tmp_path / "out" / "public").glob("*.json*")).read_text(encoding="utf-8")
    assert "confidence interval of 95 %" in told


def test_confidence_intervals_hold_the_truth_as_often_as_they_say():
    """Samples drawn with half-sample replicates: the estimates of areas cover what they estimate."""
    rng = np.random.default_rng(7)
    held = []
    for _ in range(40):
        n = 1200
        half = rng.choice([0.0, 2.0], (n, 40))
        columns = {"id": np.arange(n), "area": rng.choice(AREA.base_codes, n), "sex": rng.choice(SEX.base_codes, n)}
        weight = np.full(n, 1.5)
        columns |= {"w": weight, **{f"r{k}": weight * half[:, k] for k in range(40)}}
        income = rng.lognormal(3, 0.5, n)
        columns["income"] = np.round(income, 1)
        data = ds.Microdata(pa.table(columns), weight="w")
        names = [f"r{k}" for k in range(40)]
        release = ds.protect(data, ds.DropAdd("id", replicates=names), tables=[spec(value="income")], key=KEY)
        table = release.public.tables[0]
        truth = 1.5 * n / 8 * np.exp(3 + 0.125) * 10.0**table.decimals
        source = release.custodian.tables.tables[0]
        rows = [source.row(area=a, sex=s) for a in AREA.base_codes for s in SEX.base_codes]
        held.append((table.lower[rows] <= truth) & (truth <= table.upper[rows]))
    assert 0.9 < float(np.mean(held)) < 0.99


@pytest.mark.parametrize("lie", ["wide", "missing", "coverage", "none asked for"])
def test_the_checker_refuses_other_intervals(lie):
    release = answer(ds.DropAdd("id", replicates=REPLICATES), weight="w", value="income")
    custodian, evidence = release.custodian, release.custodian.evidence[0]
    if lie == "wide":
        low, high = custodian.intervals[0]
        custodian = replace(custodian, intervals=((low, high + 10),))
    elif lie == "missing":
        custodian = replace(custodian, intervals=None)
    elif lie == "coverage":
        custodian = replace(custodian, evidence=(replace(evidence, method={**evidence.method, "coverage": 0.99}),))
    else:
        custodian = replace(custodian, evidence=(replace(evidence, method={**evidence.method, "replicates": []}),))
    assert not check_release(custodian, custodian.public()).holds


def test_intervals_that_no_method_vouches_for_are_refused():
    release = answer(ds.DropAdd("id"))
    value = release.custodian.published[0]
    custodian = replace(release.custodian, intervals=((value - 1, value + 1),))
    assert not check_release(custodian, custodian.public()).holds


def test_the_audit_does_not_take_a_confidence_interval_for_a_bound():
    release = answer(ds.DropAdd("id", replicates=REPLICATES), weight="w")
    found = ds.audit(release)
    assert found.not_audited or np.all(found.intervals.upper > found.intervals.value)


def test_drop_q_leaves_out_exactly_so_many():
    release = answer(ds.DropAdd("id", subsample=7))
    assert release.verify().holds
    assert int(release.custodian.published[0][0]) == len(people()) - 7


@pytest.mark.parametrize("lie", ["moved", "rate", "averaging", "subsample"])
def test_the_checker_refuses_what_was_not_done(lie):
    release = answer(ds.DropAdd("id", rate=0.05))
    evidence = release.custodian.evidence[0]
    if lie == "moved":
        altered = {**evidence.parts["altered"], "moved": evidence.parts["altered"]["moved"] * 30}
        lying = replace(evidence, parts={"altered": altered})
    elif lie == "averaging":
        lying = replace(evidence, claim=replace(evidence.claim, not_considered=evidence.claim.not_considered[:-1]))
    else:
        lying = replace(evidence, method={**evidence.method, lie: 0.001 if lie == "rate" else 3})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_what_it_cannot_do_is_said():
    frame = people()
    data = ds.Microdata(frame)
    with pytest.raises(NeedsError, match="one table at a time"):
        ds.protect(data, ds.DropAdd("id"), tables=[spec(), ds.TableSpec(by={"sex": SEX})], key=KEY)
    with pytest.raises(ProtectionError, match="refused"):
        answer(ds.DropAdd("id", min_cell=10_000))
    with pytest.raises(ParameterError, match="would drop all"):
        answer(ds.DropAdd("id", subsample=len(frame)))
    with pytest.raises(InputError, match="identifier of another"):
        answer(ds.DropAdd("income"))
    place = frame.column_names.index("w")
    with pytest.raises(InputError, match="'w'"):
        answer(ds.DropAdd("id"), frame.set_column(place, "w", pa.array(np.zeros(len(frame)))), weight="w")
    for wrong in ({"rate": 0.7}, {"rate": "much"}, {"subsample": 0}, {"scale": 1.0}):
        with pytest.raises(ParameterError):
            ds.DropAdd("id", **wrong)


def test_a_recipe_drops_and_adds(tmp_path):
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text(
        """
        version = 1
        [data]
        file = "people.csv"
        [[tables]]
        by = ["area", "sex"]
        [[protect]]
        method = "drop_add"
        identifier = "id"
        rate = 0.02
        [output]
        directory = "out"
        report = true
        """
    )
    assert ds.run_recipe(tmp_path / "recipe.toml").verdict.holds


def test_records_without_a_table_are_refused():
    frame = pa.table({"id": [1, 2, 3], "area": ["N", "N", "S"]})
    with pytest.raises(ParameterError, match="DropAdd changes records for the cells of one table"):
        ds.protect(ds.Microdata(frame, identifier="id"), ds.DropAdd("id"))
