"""Records that come part by part, or out of an engine, give the releases of the same records in one frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, NeedsError
from discreet.verify import check_folder

ibis = pytest.importorskip("ibis", reason="ibis is not installed (discreet[engines])")

KEY = ds.Key(bytes(range(32)))
ROLES: dict[str, Any] = {"identifier": "id", "strata": "area", "keys": ["age", "sex"], "numeric": ["x", "y", "z", "w"]}
STEPS = [
    ds.Recode("age", intervals=[30, 60]),
    ds.Pram({"sex": "E(0.8)"}),
    ds.RankSwap(["x"], share=0.1),
    ds.Microaggregate(["w"], k=3),
    ds.AddNoise(["z"], how="independent"),
    ds.MultiplicativeNoise(columns=["y"], identifier="id", a=1.1, b=1.2),
]


def frame(records: int = 240) -> pa.Table:
    draw = np.random.default_rng(8)
    columns = {
        "id": [f"p{i}" for i in range(records)],
        "area": draw.choice(list("abcd"), records),
        "age": draw.integers(0, 99, records).astype(np.int32),
        "sex": draw.choice(["f", "m"], records),
        "x": draw.lognormal(3, 1, records).round(2),
        "y": draw.integers(10, 5000, records),
        "z": draw.normal(50, 9, records).round(1),
        "w": draw.integers(0, 400, records),
    }
    return pa.table({**columns, "sex": pa.array(columns["sex"]).dictionary_encode()})


def written(folder: Path, table: pa.Table, ends: list[int]) -> Path:
    """A folder of Parquet parts that end at these rows, with what programs leave beside them."""
    folder.mkdir()
    for number, (first, last) in enumerate(zip([0, *ends], [*ends, len(table)], strict=True)):
        pq.write_table(table.slice(first, last - first), folder / f"part-{number:05}.snappy.parquet", row_group_size=37)
    (folder / "_SUCCESS").touch()
    return folder


def released(source: Any, steps: Any = None, **roles: Any) -> Any:
    return ds.protect(ds.Microdata(source, **(roles or ROLES)), steps or STEPS, key=KEY)


def assert_same(one: Any, other: Any) -> None:
    """The same records in the same public order, and the same evidence and claims of every step."""
    assert one.public.records.columns.equals(other.public.records.columns)
    assert one.custodian.log["protect"] == other.custodian.log["protect"]
    for mine, theirs in zip(one.custodian.steps, other.custodian.steps, strict=True):
        assert mine.changed.equals(theirs.changed)
        assert mine.evidence.claim == theirs.evidence.claim
        assert mine.evidence.facts == theirs.evidence.facts
        for name, column in mine.evidence.parts.get("records", {}).items():
            np.testing.assert_array_equal(column, theirs.evidence.parts["records"][name])


@pytest.mark.parametrize("ends", [[], [1], [60, 120, 180], [0, 0, 239], list(range(8, 240, 8))], ids=str)
def test_a_folder_of_parts_gives_the_release_of_one_frame(ends: list[int], tmp_path: Path) -> None:
    table = frame()
    parts = released(written(tmp_path / "parts", table, ends))
    assert_same(released(table), parts)


@pytest.mark.parametrize("seed", range(3))
def test_the_public_rows_do_not_depend_on_the_order_of_records_or_parts(seed: int, tmp_path: Path) -> None:
    table = frame()
    draw = np.random.default_rng(seed)
    mixed = table.take(draw.permutation(len(table)))
    ends = sorted(draw.integers(0, len(table), 5).tolist())
    parts = released(written(tmp_path / "parts", mixed, ends))
    assert released(table).public.records.columns.equals(parts.public.records.columns)
    parts.save(tmp_path / "out", formats=["parquet"])
    assert check_folder(tmp_path / "out").holds
    assert pq.read_table(tmp_path / "out" / "public" / "records.parquet").num_rows == len(table)


def test_parts_by_strata_worked_on_by_several_jobs_give_the_same(tmp_path: Path) -> None:
    import joblib

    table = frame()
    folder = tmp_path / "parts"
    folder.mkdir()
    for area in "dbca":
        mine = np.flatnonzero(np.array(table["area"].to_pylist()) == area)
        pq.write_table(table.take(mine), folder / f"{'dbca'.index(area)}.parquet")
    with joblib.parallel_config(backend="threading"):
        parts = ds.protect(ds.Microdata(folder, **ROLES), STEPS, key=KEY, jobs=2)
    assert released(table).public.records.columns.equals(parts.public.records.columns)
    assert parts.verify().holds


def test_records_that_are_alike_and_have_no_identifier_give_the_same_rows_in_all_parts(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    table = pa.table({"area": draw.choice(["n", "s"], 90), "sex": draw.choice(["f", "m"], 90)})
    steps = [ds.Pram({"sex": "2E(0.8)"})]
    one = released(table, steps, keys=["area", "sex"])
    other = written(tmp_path / "parts", table.take(draw.permutation(90)), [20, 50])
    assert one.public.records.columns.equals(released(other, steps, keys=["area", "sex"]).public.records.columns)


def test_records_of_an_engine_give_the_release_of_one_frame_when_they_may_leave() -> None:
    table = frame()
    there = ibis.duckdb.connect().create_table("people", table)
    data = ds.Microdata(there, **ROLES)
    with pytest.raises(NeedsError, match=r"leaves records where they are.*data.on\('memory'\)"):
        ds.protect(data, STEPS, key=KEY)
    release = ds.protect(data.on("memory"), STEPS, key=KEY)
    assert released(table).public.records.columns.equals(release.public.records.columns)
    assert release.verify().holds


def test_nothing_is_left_of_records_that_were_laid_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(aside))
    release = released(written(tmp_path / "parts", frame(), [100]))
    assert list(aside.iterdir()) == []
    assert len(release.custodian.original) == 240


# ---- what is refused ----------------------------------------------------------------------------------------


def plain() -> pa.Table:
    return pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (pa.table({"a": [1], "c": ["x"]}), "other columns than the first one: 'b', 'c'"),
        (pa.table({"a": [1.5], "b": ["x"]}), "Column 'a' holds double in the part '1.parquet', and int64"),
        (pa.table({"a": ["1"], "b": ["x"]}), "Column 'a' holds string"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(second: pa.Table, message: str, tmp_path: Path) -> None:
    for number, table in enumerate((plain(), second)):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(InputError, match=message):
        ds.protect(ds.Microdata(tmp_path), ds.Recode("b", map={"x": "y"}))


def test_a_part_that_was_cut_off_is_refused_by_name(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(plain(), tmp_path / f"{number}.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"part '1\.parquet'"):
        ds.protect(ds.Microdata(tmp_path), ds.Recode("b", map={"x": "y"}))


@pytest.mark.parametrize("left", ["nothing", "no records", "a csv", "a folder"])
def test_a_folder_without_parts_is_refused(left: str, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    if left == "no records":
        pq.write_table(plain().slice(0, 0), folder / "0.parquet")
    elif left == "a csv":
        (folder / "records.csv").write_text("a,b\n1,x\n")
    elif left == "a folder":
        (folder / "area=n").mkdir()
    with pytest.raises(InputError, match="records"):
        ds.protect(ds.Microdata(folder), ds.Recode("b", map={"x": "y"}))


# ---- counts in the engine -----------------------------------------------------------------------------------

RULES = [
    ds.KAnonymity(3),
    ds.KAnonymity(3, size=2),
    ds.KAnonymity(4, missing="any"),
    ds.KAnonymity(4, missing="exempt", size=2),
    ds.KAnonymity(30, keys=["area"]),
    ds.KAnonymity(3, combinations=[["age"], {"keys": ["area", "sex"], "k": 9}]),
]


def keyed(records: int = 300) -> pa.Table:
    draw = np.random.default_rng(3)
    age = pa.array(draw.integers(0, 12, records).astype(float), mask=draw.random(records) < 0.1)
    codes = {name: draw.choice(list("abcd"), records, p=[0.5, 0.3, 0.17, 0.03]) for name in ("area", "sex")}
    return pa.table({"age": age, **codes, "name": [f"canary {i}" for i in range(records)]})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.record()))
def test_combinations_counted_in_the_engine_are_those_of_memory(rule: Any) -> None:
    table = keyed()
    there = ibis.duckdb.connect().create_table("people", table)
    roles = {"keys": ["sex", "age", "area"], "missing_codes": {"area": ["d"]}, "identifier": "name"}
    here = ds.Microdata(table, **roles).assess(rule).assessment
    assert ds.Microdata(there, **roles).assess(rule).assessment == here
    assert here is not None
    assert any(here.unsafe)


def test_only_combinations_and_their_numbers_leave_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engine.remote_source import RemoteTable

    fetched: list[pa.Table] = []
    fetch = RemoteTable.fetch

    def watched(self: RemoteTable, stage: str, expression: Any) -> pa.Table:
        fetched.append(fetch(self, stage, expression))
        return fetched[-1]

    monkeypatch.setattr(RemoteTable, "fetch", watched)
    there = ibis.duckdb.connect().create_table("people", keyed())
    ds.Microdata(there, keys=["area", "sex"], identifier="name").assess(ds.KAnonymity(3))
    assert [table.column_names for table in fetched] == [["area", "sex", "discreet_records"]]
    assert len(fetched[0]) <= 16


@pytest.mark.parametrize(
    ("rule", "roles", "message"),
    [
        (ds.LDiversity(2, sensitive="sex"), {"keys": ["area"]}, "LDiversity needs single records"),
        (ds.KAnonymity(3, weight="w"), {"keys": ["area"], "weight": "w"}, "KAnonymity.weight=. needs single records"),
        (ds.KAnonymity(3, household="w"), {"keys": ["area"], "household": "w"}, "household=. needs single records"),
        (ds.KAnonymity(3), {}, "no keys"),
        (ds.KAnonymity(3), {"keys": ["other"]}, "other"),
        (ds.KAnonymity(3, keys=["other"]), {}, "other"),
        (ds.KAnonymity(3), {"keys": ["area"], "leave_out": 'sex == "a"'}, "leave_out="),
    ],
)
def test_what_counts_do_not_say_is_refused_by_name(rule: Any, roles: dict[str, Any], message: str) -> None:
    there = ibis.duckdb.connect().create_table("people", keyed().append_column("w", [np.ones(300)]))
    with pytest.raises(DiscreetError, match=message):
        ds.Microdata(there, **roles).assess(rule)
