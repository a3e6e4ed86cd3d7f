"""Cell keys as a method of ``ds.protect``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import discreet as ds
import discreet.tables.perturb.cell_key_method as method_module
from discreet.engine.record_keys import record_keys
from discreet.errors import InputError, NeedsError, OutputError, ParameterError
from discreet.model.public import in_rows_of
from discreet.verify import check_release

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
JOB = ds.Hierarchy.flat(["a", "b", "c"])
SECRET = bytes(range(32))


def people(n: int = 400, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "area": rng.choice(AREA.base_codes, n, p=[0.6, 0.3, 0.08, 0.02]),
            "job": rng.choice(JOB.base_codes, n),
            "income": np.rint(rng.lognormal(7, 1, n)).astype(np.int64) * (rng.random(n) < 0.8),
            "w": rng.integers(1, 4, n),
            "rkey": record_keys([f"p{i}" for i in range(n)], SECRET),
            "whole": record_keys([f"p{i}" for i in range(n)], SECRET, modulus=256),
        }
    )


def counts(frame: pa.Table | None = None, key: str | None = "rkey", **options: object) -> ds.Table:
    by = options.pop("by", {"area": AREA, "job": JOB})
    return ds.tabulate(people() if frame is None else frame, by=by, record_key=key, **options).assess()


def shown(release: ds.Release, **codes: str) -> int:
    table = release.custodian.tables.tables[0]
    return int(in_rows_of(table, release.public.tables[0]).value[table.row(**codes)])


def test_the_same_records_get_the_same_noise_in_any_table():
    frame = people()
    one = ds.protect(counts(frame), ds.CellKey())
    coast = {"job": JOB, "area": ds.Hierarchy.from_nested({"coast": ["N1", "S1"], "inland": ["N2", "S2"]})}
    two = ds.protect(counts(frame.take(np.arange(len(frame))[::-1].copy()), by=coast), ds.CellKey())
    for job in ("Total", "a", "b", "c"):
        for area in ("Total", "N1", "S2"):
            assert shown(one, area=area, job=job) == shown(two, area=area, job=job)


def test_no_small_count_is_published_and_changes_are_bounded():
    release = ds.protect(counts(), ds.CellKey(D=5, V=3, js=2))
    published, true = release.custodian.published[0], release.custodian.tables.tables[0].value
    assert not np.isin(published, (1, 2)).any()
    assert np.abs(published - true).max() <= 5
    assert np.any(published != true)
    assert "Done as stated" in release.summary()
    assert "safe" not in release.verify().proved[-2]


def test_made_keys_are_those_of_the_identifier_whatever_its_file():
    frame = people()
    given = ds.protect(counts(frame), ds.CellKey())
    made = ds.protect(counts(frame, None), ds.CellKey(identifier="id"), key=ds.Key(SECRET))
    assert np.array_equal(given.custodian.published[0], made.custodian.published[0])
    anew = ds.protect(counts(frame, None), ds.CellKey(identifier="id", version=2), key=ds.Key(SECRET))
    assert not np.array_equal(made.custodian.published[0], anew.custodian.published[0])


def test_a_universe_is_taken_after_keys_are_made():
    frame = people()
    one = ds.protect(counts(frame, where="job == 'a'"), ds.CellKey())
    made = ds.protect(counts(frame, None, where="job == 'a'"), ds.CellKey(identifier="id"), key=ds.Key(SECRET))
    assert np.array_equal(one.custodian.published[0], made.custodian.published[0])


def test_whole_keys_need_a_table_of_as_many_keys():
    with pytest.raises(ParameterError, match="whole cell keys"):
        ds.protect(counts(key="whole"), ds.CellKey())
    assert ds.protect(counts(key="whole"), ds.CellKey(modulus=256)).verify().holds


def test_ready_made_cells_bring_their_keys():
    table = counts()
    frame = table.to_frame().append_column("record_key", pa.array(table.key_sum / table.key_modulus))
    ready = ds.Table.from_cells(frame.drop(["status"]), by={"area": AREA, "job": JOB}, counts=True).assess()
    assert np.array_equal(
        ds.protect(ready, ds.CellKey()).custodian.published[0], ds.protect(table, ds.CellKey()).custodian.published[0]
    )


def test_records_with_value_zero_make_no_difference():
    frame = people()
    some = frame.filter(pc.greater(frame["income"], 0))
    by = {"area": AREA}
    tables = [ds.tabulate(f, by=by, value="income", record_key="rkey").assess() for f in (frame, some)]
    one, two = (ds.protect(table, ds.CellKey(magnitudes={"small": 0.1})).custodian.published[0] for table in tables)
    assert np.array_equal(one, two)


@pytest.mark.parametrize("compatible", ["argus", "cellkey"])
@pytest.mark.parametrize("options", [{"top": 3, "epsilon": [0.5, 0.2]}, {"magnifier": "sum"}, {"extra": 1.5}])
def test_magnitudes_are_rechecked(compatible, options):
    table = ds.tabulate(people(), by={"area": AREA, "job": JOB}, value="income", record_key="rkey")
    method = ds.CellKey(
        magnitudes={"small": 0.1, "large": 0.02, "flex_point": 3000, "compatible": compatible, **options}
    )
    release = ds.protect(table.assess(ds.PPercent(10)), method)
    assert release.verify().holds
    assert np.any(release.custodian.published[0] != table.value)


def test_parity_and_separation_are_rechecked():
    odd = ds.NoiseTable.maximum_entropy(5, 1, step=2, values=[1, 5])
    small = ds.NoiseTable.maximum_entropy(3, 1, step=2, values=[1, 3])
    table = ds.tabulate(people(), by={"area": AREA, "job": JOB}, value="income", record_key="rkey").assess()
    for noise in (ds.MagnitudeNoise(0.1, odd=odd), ds.MagnitudeNoise(0.1, separation=True, small_noise=small)):
        assert ds.protect(table, ds.CellKey(magnitudes=noise)).verify().holds


def test_means_are_those_of_what_is_published():
    data = ds.Microdata(people(), record_key="rkey")
    specs = [
        ds.TableSpec(by={"area": AREA}, value=value, name=name) for value, name in (("income", "sum"), (None, "n"))
    ]
    release = ds.protect(data, ds.CellKey(magnitudes={"small": 0.05}), tables=specs)
    found = release.public.means("sum", "n")
    total, count = (release.public[name].columns()["value"] for name in ("sum", "n"))
    assert found["mean"][0] == total[0] / count[0]
    with pytest.raises(ParameterError, match="same cells"):
        ds.protect(data, ds.CellKey(), tables=[specs[1], ds.TableSpec(by={"job": JOB})]).public.means(
            "n", "count_by_job"
        )


@pytest.mark.parametrize("additive", ["least_squares", "integer"])
def test_additivity_on_request_says_what_it_costs(additive):
    release = ds.protect(counts(), ds.CellKey(additive=additive))
    assert release.verify().holds
    evidence = release.custodian.evidence[0]
    assert f"({additive}), by at most {evidence.facts['moved_most']}" in evidence.claim.statement
    assert "additivity costs" in release.summary()
    lying = replace(evidence, facts={**evidence.facts, "moved_most": "0"})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_a_search_for_additive_values_that_stopped_early_is_said_to_have(monkeypatch):
    by_whole_units = method_module.by_whole_units
    assert "may be nearer" not in ds.protect(counts(), ds.CellKey(additive="integer")).summary()
    stopped = lambda system, noisy: by_whole_units(system, noisy)._replace(nearest=False)  # noqa: E731
    monkeypatch.setattr(method_module, "by_whole_units", stopped)
    release = ds.protect(counts(), ds.CellKey(additive="integer"))
    assert "others may be nearer" in release.summary()


def test_the_nearest_additive_table_in_whole_units_is_not_beaten():
    """Brute force over all tables of a row of three with its total."""
    frame = people(30)
    release = ds.protect(counts(frame, by={"job": JOB}), ds.CellKey(additive="integer"))
    plain = ds.protect(counts(frame, by={"job": JOB}), ds.CellKey()).custodian.published[0]
    found = release.custodian.published[0]
    around = [range(max(v - 8, 0), v + 9) for v in plain[1:].tolist()]
    best = min(
        abs(a + b + c - plain[0]) + abs(a - plain[1]) + abs(b - plain[2]) + abs(c - plain[3])
        for a in around[0]
        for b in around[1]
        for c in around[2]
    )
    assert np.abs(found - plain).sum() == best


@pytest.mark.parametrize(
    "spoil",
    [
        lambda noise: {"upper": [*noise["upper"], 7], "change": [*noise["change"], 0]},
        lambda noise: {"start": [1, *noise["start"][1:]]},
        lambda noise: {"upper": noise["upper"][::-1]},
        lambda noise: {"modulus": 0, "upper": [0] * len(noise["upper"])},
        lambda noise: {"step": 0},
    ],
)
def test_the_checker_refuses_what_is_no_noise_table(spoil):
    release = ds.protect(counts(), ds.CellKey())
    evidence = release.custodian.evidence[0]
    noise = evidence.facts["noise"]
    lying = replace(evidence, facts={**evidence.facts, "noise": {**noise, **spoil(noise)}})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


@pytest.mark.parametrize("what", ["cell_key", "noise", "count"])
def test_the_checker_refuses_other_keys_tables_and_counts(what):
    release = ds.protect(counts(), ds.CellKey())
    evidence = release.custodian.evidence[0]
    cells, facts = dict(evidence.parts["cells"]), dict(evidence.facts)
    if what == "cell_key":
        cells["key_sum"] = (cells["key_sum"] + 10**14) % 10**15
    elif what == "count":
        cells["contributors"] = cells["contributors"] + 1
    else:
        facts["noise"] = ds.NoiseTable.maximum_entropy(D=4, V=2).record()
    lying = replace(evidence, facts=facts, parts={"cells": cells})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds
    assert not check_release(replace(release.custodian, evidence=(replace(evidence, parts={}),)), release.public).holds


def test_a_recipe_runs_with_a_noise_file_and_made_keys(tmp_path):
    pq.write_table(people(), tmp_path / "people.parquet")
    ds.write_noise_table(ds.NoiseTable.maximum_entropy(D=5, V=3, js=2), tmp_path / "noise.csv", layout="ptable")
    (tmp_path / "secret.txt").write_text(SECRET.hex())
    (tmp_path / "secret.txt").chmod(0o600)
    (tmp_path / "recipe.toml").write_text(
        """
        version = 1
        [data]
        file = "people.parquet"
        [[tables]]
        name = "people"
        by = ["area", "job"]
        [[protect]]
        method = "cell_key"
        noise = "noise.csv"
        identifier = "id"
        key_file = "secret.txt"
        [output]
        directory = "out"
        report = true
        """
    )
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.verdict.holds
    flat = {"area": ds.Hierarchy.flat(sorted(AREA.base_codes)), "job": JOB}
    same = ds.protect(counts(by=flat), ds.CellKey())
    assert np.array_equal(done.release.custodian.published[0], same.custodian.published[0])
    assert SECRET.hex() not in "".join(p.read_text(errors="replace") for p in tmp_path.glob("out/custodian/*.json"))


def test_what_is_missing_is_said_with_how_to_supply_it():
    with pytest.raises(NeedsError, match=r"record keys.*Microdata\(record_key=\).*identifier"):
        ds.protect(counts(key=None), ds.CellKey())
    with pytest.raises(NeedsError, match="MagnitudeNoise"):
        ds.protect(counts(value="income"), ds.CellKey())
    ready = ds.Table.from_cells(pa.table({"job": ["Total", "a", "b", "c"], "value": [6, 1, 2, 3]}), by={"job": JOB})
    with pytest.raises(NeedsError, match="records"):
        ds.protect(ready.assess(), ds.CellKey(identifier="id", insecure_seed=1))


def test_bad_record_keys_are_refused():
    frame = people()
    place = frame.column_names.index("rkey")
    twice = frame.set_column(place, "rkey", pa.array([0.25] * len(frame)))
    with pytest.raises(InputError, match="occur more than once"):
        ds.protect(counts(twice), ds.CellKey())
    beyond = frame.set_column(place, "rkey", pa.array([1.5] * len(frame)))
    with pytest.raises(InputError, match="rkey"):
        counts(beyond)
    doubled = frame.set_column(0, "id", pa.array(["x"] * len(frame)))
    with pytest.raises(InputError, match="identifier of another record"):
        ds.protect(counts(doubled, None), ds.CellKey(identifier="id", insecure_seed=1))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"V": 1.5}, "V=1.5 is impossible"),
        ({"threshold": -1}, "threshold"),
        ({"modulus": 1}, "modulus"),
        ({"insecure_seed": 3}, "identifier"),
        ({"noise": 7}, "not a name"),
        ({"noise": {"values": [0]}}, "plain data"),
        ({"magnitudes": {"small": 0.1, "epsilon": [1]}}, "weights"),
        ({"magnitudes": {"small": 0.1, "separation": True}}, "small_noise"),
        ({"magnitudes": {"large": 0.1}}, "share"),
    ],
)
def test_impossible_parameters_are_refused_at_once(parameters, words):
    with pytest.raises(ParameterError, match=words):
        ds.CellKey(**parameters)


def test_a_noise_table_that_does_not_fit_counts_is_refused():
    with pytest.raises(ParameterError, match="whole changes"):
        ds.protect(counts(), ds.CellKey(noise=ds.NoiseTable.maximum_entropy(5, 1, step=2, values=[1, 5])))


def test_draws_from_a_seed_are_marked_and_not_written(tmp_path):
    release = ds.protect(counts(key=None), ds.CellKey(identifier="id", insecure_seed=1))
    assert any("seed" in text for text in release.verify().not_considered)
    with pytest.raises(OutputError, match="insecure_seed"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_differences_of_cells_have_no_records_of_their_own():
    balance = ds.Hierarchy.flat(JOB.base_codes).with_grouping("a-b", ["a"], minus=["b"])
    with pytest.raises(NeedsError, match="difference of others, and has no records"):
        ds.protect(counts(by={"area": AREA, "job": balance}), ds.CellKey())
    table = ds.tabulate(people(), by={"job": balance}, value="income").assess()
    with pytest.raises(NeedsError, match="difference of others, and no cap"):
        ds.protect(table, ds.MultiplicativeNoise("id", 1.1, 1.2, insecure_seed=1))
