"""Folders of columns give the tables that the engine in memory gives of the records that they were written from."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine import column_counts, column_staging, column_universe, columns, sources
from discreet.engine.column_files import open_columns, write_columns
from discreet.engine.encode import read_records
from discreet.engine.magnifiers import magnifiers_of
from discreet.engine.protocol import open_records
from discreet.engine.record_keys import MadeKeys
from discreet.errors import InputError, NeedsError, OutputError, ParameterError
from discreet.model.condition import Condition, parse_conditions
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from tests.engine.brute_force import assert_same_table
from tests.engine.strategies import Case, cases

some = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]}, labels={"N1": "Harbour"})
KIND = ds.Hierarchy.flat(["x", "y"])
KEY = ds.Key(bytes(range(32)))
ROWS = 300


def people() -> pa.Table:
    draw = np.random.default_rng(7)
    return pa.table(
        {
            "id": [f"p{i}" for i in range(ROWS)],
            "area": draw.choice(AREA.base_codes, ROWS),
            "kind": draw.choice(KIND.base_codes, ROWS),
            "age": draw.integers(0, 99, ROWS),
            "pay": draw.integers(0, 9999, ROWS) / 100,
            "wkey": draw.integers(0, 256, ROWS),
            "rkey": draw.random(ROWS),
            "debt": draw.integers(-3, 4, ROWS) * 10**12,
        }
    )


def written(folder: Path, data: Any = None, **options: Any) -> Path:
    data = data if isinstance(data, Microdata) else Microdata(people() if data is None else data)
    path = folder / "columns"
    write_columns(data, path, **{"variables": {"area": AREA, "kind": KIND}, "geography": "area", **options})
    return path


def same_tables(source: Microdata, folder: Microdata, spec: TableSpec, weight: str | None = None) -> None:
    said, plain = answer(lambda: read_records(source, [spec], weight).table(spec))
    with open_records(folder, [spec], weight) as records:
        assert said == answer(lambda: records.table(spec))[0]
        if plain is not None:
            assert_same_table(records.table(spec), plain)


def answer(ask: Callable[[], Table]) -> tuple[str, Table | None]:
    """A table, or what is said instead."""
    try:
        return "", ask()
    except InputError as error:
        return str(error), None


@some
@given(cases(), st.sampled_from(["frame", "csv", "parquet"]), st.booleans(), st.booleans(), st.integers(1, 9))
def test_tables_are_those_of_the_engine_in_memory(
    case: Case, source: str, areas: bool, foreseen: bool, block: int
) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_universe, "BLOCK", 8 * block)
        patch.setattr(columns, "LARGE_PART", 8 * block)
        patch.setattr(column_counts, "COUNTED", block)
        patch.setattr(column_staging, "PIECE", 8)
        given: Any = case.frame
        if source != "frame":
            given = Path(name) / f"records.{source}"
            if source == "csv":
                pa.csv.write_csv(case.frame, given)
            else:
                pa.parquet.write_table(case.frame, given, row_group_size=7)
        data = case.microdata(given)
        path = Path(name) / "columns"
        write_columns(
            data,
            path,
            variables=case.spec.by,
            numbers=["x", "y", "stays"],
            weight=case.weight,
            geography=next(iter(case.spec.by)) if areas else None,
            universes={"some": case.spec.where} if foreseen else {},
        )
        open_columns(path, "hashes")
        same_tables(data, data.with_(source=path, engine="columns"), case.spec, case.weight)


@some
@given(cases(), st.data())
def test_one_area_and_coarser_codes_are_those_of_the_engine_in_memory(case: Case, data: st.DataObject) -> None:
    variable, hierarchy = next(iter(case.spec.by.items()))
    chosen = data.draw(st.lists(st.sampled_from(hierarchy.base_codes), min_size=1, unique=True))
    code = data.draw(st.sampled_from(hierarchy.base_codes))
    recode = {variable: dict.fromkeys(data.draw(st.lists(st.sampled_from(hierarchy.base_codes))), code)}
    where = (*case.spec.where, Condition(variable, "in", tuple(chosen)))
    if not any(r[variable] in chosen and (not case.spec.where or r["stays"] == 1) for r in case.records):
        return
    spec = case.spec.with_(where=where)
    source = case.microdata(case.frame).with_(recode=recode)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "columns"
        write_columns(
            source.with_(recode={}),
            path,
            variables=case.spec.by,
            numbers=["x", "y", "stays"],
            weight=case.weight,
            geography=variable,
        )
        same_tables(source, source.with_(source=path, engine="columns"), spec, case.weight)


NUMBERS: dict[str, Callable[[], pa.Array]] = {
    "thirds": lambda: pa.array(np.arange(6) / 3),
    "noise of floating-point sums": lambda: pa.array([0.1 + 0.2, 1.0, 2.5, 0.1, 0.2, 0.3]),
    "decimals that some universes do not need": lambda: pa.array([1.0, 2.0, 3.0, 0.25, 0.5, 7.0]),
    "decimal type": lambda: pa.array(["1.10", "2.00", "3.50", "4.00", "5.25", "6.00"]).cast(pa.decimal128(12, 2)),
    "decimals beyond floating point": lambda: pa.array([f"9007199254740{k}.01" for k in range(91, 97)]).cast(
        pa.decimal128(20, 2)
    ),
    "flags": lambda: pa.array([True, False, True, True, False, False]),
    "below zero": lambda: pa.array([-1, 2, -3, 4, -5, 6], pa.int8()),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_any_kind_are_summed_alike(name: str, weighted: bool, tmp_path: Path) -> None:
    frame = pa.table(
        {
            "area": ["S1", "N1", "N1", "S2", "N2", "N1"],
            "x": NUMBERS[name](),
            "w": [1.5, 2.0, 3.0, 1.25, 2.0, 1 / 3],
        }
    )
    data = Microdata(frame, weight="w" if weighted else None)
    write_columns(data, tmp_path / "c", variables={"area": AREA}, numbers=["x"], weight=data.weight, geography="area")
    folder = data.with_(source=tmp_path / "c", engine="columns")
    for where in ((), "area == 'N1'", "area != 'N1'", "x > 0"):
        same_tables(data, folder, TableSpec(by={"area": AREA}, value="x", where=where), data.weight)


@pytest.mark.parametrize("counters", [columns.MOST_COUNTERS, 0])
@pytest.mark.parametrize(
    "where",
    [
        (),
        "area == 'N2'",
        ["area in ['N2', 'S2']", "age >= 18"],
        "kind == 'x'",
        "kind != 'x'",
        ["kind is not null", "pay <= 50.5"],
    ],
)
@pytest.mark.parametrize("key", ["wkey", "rkey", None])
@pytest.mark.parametrize("value", [None, "pay", "debt"])
def test_counts_sums_and_key_sums_do_not_depend_on_how_they_are_made(
    value: str | None, key: str | None, where: Any, counters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "MOST_COUNTERS", counters)
    monkeypatch.setattr(columns, "MOST_SUMS", counters)
    data = Microdata(people(), record_key=key)
    path = written(tmp_path, data, numbers=["age", "pay", "debt"], universes={"adults": parse_conditions("age >= 18")})
    spec = TableSpec(by={"kind": KIND, "area": AREA}, where=where, value=value)
    same_tables(data, data.with_(source=path, engine="columns"), spec)


@pytest.mark.parametrize("most", [2**19, 3])
@pytest.mark.parametrize("where", [None, "kind == 'x'", "area == 'N1'"])
@pytest.mark.parametrize("top", [1, 2, 5])
@pytest.mark.parametrize("zeros", [True, False])
def test_what_noise_for_magnitudes_needs_is_the_same(
    zeros: bool, top: int, where: Any, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "MOST_SUMS", most)
    data = Microdata(people(), record_key="wkey")
    path = written(tmp_path, data, numbers=["age", "pay", "debt"])
    for value in ("pay", "debt"):
        spec = TableSpec(by={"kind": KIND, "area": AREA}, where=where, value=value)
        found = []
        for source in (data, data.with_(source=path, engine="columns")):
            with open_records(source, [spec], None) as records:
                made = magnifiers_of(records, spec, top, zeros=zeros)
                found.append({name: column.tolist() for name, column in made._asdict().items()})
        assert found[0] == found[1]
        assert max(found[0]["contributors"]) > 10


@pytest.mark.parametrize("modulus", [None, 256])
def test_made_keys_are_those_of_the_method(modulus: int | None, tmp_path: Path) -> None:
    data = Microdata(people())
    path = written(tmp_path, data, keys=MadeKeys("id", KEY.secret, 1, modulus))
    method = ds.CellKey(identifier="id", modulus=modulus)
    spec = TableSpec(by={"area": AREA, "kind": KIND})
    plain = ds.protect(data, method, tables=[spec], key=KEY)
    folder = Microdata(path, engine="columns")
    made = ds.protect(folder, method, tables=[spec], key=KEY)
    assert np.array_equal(made.custodian.published[0], plain.custodian.published[0])
    named = ds.protect(folder.with_(record_key="(record key)"), ds.CellKey(modulus=modulus), tables=[spec])
    assert np.array_equal(named.custodian.published[0], plain.custodian.published[0])
    assert named.verify().holds
    for other in (ds.Key(bytes(32)), KEY):
        wrong = method if other is not KEY else ds.CellKey(identifier="id", modulus=modulus, version=2)
        with pytest.raises(NeedsError, match="have no record keys of this identifier, key, version and modulus"):
            ds.protect(folder, wrong, tables=[spec], key=other)


def test_record_keys_of_a_folder_are_tested_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    tested = sources.check_record_keys
    monkeypatch.setattr(sources, "check_record_keys", lambda keys, reach: (seen.append(len(keys)), tested(keys, reach)))
    data = Microdata(people(), record_key="wkey")
    folder = data.with_(source=written(tmp_path, data), engine="columns")
    spec = TableSpec(by={"area": AREA})
    one, two = (ds.protect(folder, ds.CellKey(modulus=256), tables=[spec]) for _ in range(2))
    assert seen == [ROWS]
    plain = ds.protect(data, ds.CellKey(modulus=256), tables=[spec])
    assert seen == [ROWS, ROWS]
    for made in (one, two):
        assert np.array_equal(made.custodian.published[0], plain.custodian.published[0])


def test_record_keys_that_are_no_chance_are_refused_each_time(tmp_path: Path) -> None:
    frame = people().set_column(5, "wkey", pa.array([3] * ROWS))
    data = Microdata(frame, record_key="wkey")
    folder = data.with_(source=written(tmp_path, data), engine="columns")
    for _ in range(2):
        with pytest.raises(InputError, match=r"The record keys|record keys are not spread"):
            ds.protect(folder, ds.CellKey(modulus=256), tables=[TableSpec(by={"area": AREA})])


def test_methods_on_records_find_them_in_the_order_of_the_source(tmp_path: Path) -> None:
    data = Microdata(people())
    path = written(tmp_path, data, numbers=["age"])
    specs = [TableSpec(by={"area": AREA}), TableSpec(by={"kind": KIND})]
    plain = ds.protect(data, ds.SmallCount(base=3), tables=specs, key=KEY)
    made = ds.protect(Microdata(path, engine="columns"), ds.SmallCount(base=3), tables=specs, key=KEY)
    for one, two in zip(made.custodian.published, plain.custodian.published, strict=True):
        assert np.array_equal(one, two)


def test_a_variable_that_is_only_named_has_the_codes_that_occur(tmp_path: Path) -> None:
    folder = Microdata(written(tmp_path), engine="columns")
    assert ds.tabulate(folder, by=["kind"]).values.tolist()[0] == ROWS
    with pytest.raises(InputError, match="There is no column 'kin' in"):
        ds.tabulate(folder, by=["kin"])


# ---- what is refused ----------------------------------------------------------------------------------------


def test_a_folder_is_written_once(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(OutputError, match="'columns' exists, and columns never change"):
        written(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {path.name}
    assert all(not file.stat().st_mode & 0o222 for file in path.iterdir())


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"kind": ["z"] * ROWS}, {}, "'z'"),
        ({"kind": [None] + ["x"] * (ROWS - 1)}, {}, "Variable 'kind' is empty in 1 record"),
        ({"pay": [None] * ROWS}, {"numbers": ["pay"]}, "In column 'pay' 300 values are empty"),
        ({"pay": [float("inf")] * ROWS}, {"numbers": ["pay"]}, "are not finite"),
        ({"pay": [0.0] + [1.0] * (ROWS - 1)}, {"weight": "pay"}, "1 value is not positive, first in record 1"),
        ({"id": ["same"] * ROWS}, {"keys": MadeKeys("id", bytes(32), 1, 256)}, "the identifier of another record"),
        ({"id": [None] * ROWS}, {"keys": MadeKeys("id", bytes(32), 1, 256)}, "have no identifier"),
        ({}, {"numbers": ["wage"]}, "There is no column 'wage'"),
        ({}, {"universes": {"a": parse_conditions("age == 'old'")}}, "does not fit column 'age'"),
    ],
)
def test_records_are_refused_as_in_memory_and_nothing_is_left(
    change: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame = people()
    for name, values in change.items():
        frame = frame.set_column(frame.column_names.index(name), name, pa.array(values))
    with pytest.raises((InputError, ParameterError), match=message):
        written(tmp_path, frame, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("role", "values", "message"),
    [
        ("contributor", [None] + ["a"] * (ROWS - 1), "Contributor column 'role' is empty in 1 record"),
        ("contributor", ["a", "a "] * (ROWS // 2), "two contributors that look the same"),
        ("record_key", [1.5] * ROWS, "must be fractions"),
        ("record_key", [-1] * ROWS, "must lie in 0"),
        ("record_key", ["a"] * ROWS, "holds text where numbers are needed"),
    ],
)
def test_roles_are_refused_as_in_memory(role: str, values: list[Any], message: str, tmp_path: Path) -> None:
    data = Microdata(people().append_column("role", pa.array(values)), **{role: "role"})
    with pytest.raises(InputError, match=message):
        written(tmp_path, data)
    assert not list(tmp_path.iterdir())


QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unknown variable": ({}, {"by": {"age": KIND}}, "There is no column 'age'"),
    "unknown value": ({}, {"value": "age"}, "There is no column 'age'"),
    "unknown filter": ({}, {"where": "age > 3"}, "There is no column 'age'"),
    "unknown key": ({"record_key": "wkey"}, {}, "There is no column 'wkey'"),
    "no record": ({}, {"where": "area == 'Q'"}, "No record meets the filter \"area == 'Q'\""),
    "a number for text": ({}, {"where": "kind > 3"}, "does not fit column 'kind', which holds text"),
    "code that is not known": ({}, {"by": {"kind": ds.Hierarchy.flat(["x"])}}, "'y'"),
    "code above others": ({"recode": {"area": {"N1": "North"}}}, {"by": {"area": AREA}}, "'North'"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_that_columns_cannot_answer(question: str, tmp_path: Path) -> None:
    roles, asked, message = QUESTIONS[question]
    folder = Microdata(written(tmp_path), engine="columns", **roles)
    with pytest.raises((InputError, ParameterError), match=message):
        ds.tabulate(folder, **{"by": {"kind": KIND}, **asked})


def test_codes_that_no_record_of_the_universe_has_are_no_mistake(tmp_path: Path) -> None:
    data = Microdata(people())
    path = written(tmp_path, data)
    spec = TableSpec(by={"area": ds.Hierarchy.flat(["N1", "S2"])}, where="area in ['S2', 'N1']")
    same_tables(data, data.with_(source=path, engine="columns"), spec)


def test_a_filter_on_codes_that_were_changed_is_refused_unless_it_was_foreseen(tmp_path: Path) -> None:
    data = Microdata(people(), recode={"kind": {"y": "x"}})
    path = written(tmp_path, data, universes={"y": parse_conditions("kind == 'y'")})
    folder = Microdata(path, engine="columns")
    table = ds.tabulate(folder, by={"kind": KIND}, where="kind == 'y'")
    assert table.values[0] == people()["kind"].to_pylist().count("y")
    with pytest.raises(InputError, match="Codes of 'kind' were changed"):
        ds.tabulate(folder, by={"kind": KIND}, where="kind == 'x'")


def test_frames_and_other_folders_are_no_columns(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="these data are in memory already"):
        ds.tabulate(people(), by={"kind": KIND}, engine="columns")
    with pytest.raises(InputError, match="is not a folder of columns"):
        ds.tabulate(tmp_path, by={"kind": KIND}, engine="columns")


# ---- damage -------------------------------------------------------------------------------------------------


def changed(path: Path, name: str, content: bytes) -> None:
    path.chmod(0o750)
    (path / name).chmod(0o640)
    (path / name).write_bytes(content)


@pytest.mark.parametrize("file", ["code-0.bin", "code-1.bin", "keys.bin", "places.bin", "areas.bin", "mask-0.bin"])
def test_changed_files_are_found_by_their_hashes(file: str, tmp_path: Path) -> None:
    path = written(tmp_path, Microdata(people(), record_key="wkey"), universes={"old": parse_conditions("age > 60")})
    whole = (path / file).read_bytes()
    changed(path, file, whole[:-1] + bytes([whole[-1] ^ 1]))
    open_columns(path)
    with pytest.raises(InputError, match=f"'{file}' of the columns 'columns' has been changed"):
        open_columns(path, "hashes")
    changed(path, file, whole[:-1])
    (path / "manifest.json").touch()
    with pytest.raises(InputError, match=f"'{file}' of the columns 'columns' is missing or incomplete"):
        open_columns(path)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("code-0.bin", bytes([255]) * ROWS),
        ("code-0.bin", bytes([3, 0]) * (ROWS // 2)),
        ("keys.bin", bytes([255]) * ROWS),
        ("places.bin", bytes(4 * ROWS)),
        ("areas.bin", bytes(8 * 5)),
    ],
)
def test_numbers_outside_of_their_codes_are_never_counted(file: str, content: bytes, tmp_path: Path) -> None:
    frame = people().set_column(5, "wkey", pa.array(np.arange(ROWS) % 100))
    path = written(tmp_path, Microdata(frame, record_key="wkey"), numbers=["pay"])
    changed(path, file, content)
    data = Microdata(path, engine="columns", record_key="wkey")
    with pytest.raises(InputError, match="does not fit its manifest"):
        ds.tabulate(data, by={"area": AREA}, value="pay", where="area in ['N1', 'S1']")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"records": 300', b'"records": 0'),
        (b'"records": 300', b'"records": 301'),
        (b'"code-0.bin"', b'"../code.bin"'),
        (b'"kind": "u1"', b'"kind": "f8"'),
        (b'"variable": "area"', b'"variable": "where"'),
        (b'"weight": null', b'"weight": "w"'),
        (b'"weight": null', b'"weight": null, "more": 1'),
        (b"discreet columns 1", b"discreet columns 9"),
        (b"{", b""),
    ],
)
def test_foreign_manifests_give_errors_of_ours(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = written(tmp_path)
    text = (path / "manifest.json").read_bytes()
    assert old in text
    changed(path, "manifest.json", text.replace(old, new))
    with pytest.raises(InputError, match="columns"):
        open_columns(path)


def test_another_folder_in_the_same_place_is_opened_anew(tmp_path: Path) -> None:
    path = written(tmp_path)
    ds.tabulate(Microdata(path, engine="columns"), by={"kind": KIND})
    path.rename(tmp_path / "old")
    written(tmp_path, people().slice(0, 100))
    assert ds.tabulate(Microdata(path, engine="columns"), by={"kind": KIND}).values[0] == 100


def test_the_manifest_keeps_hierarchies_and_words(tmp_path: Path) -> None:
    from discreet.engine.column_folder import hierarchy_of

    kept = hierarchy_of(open_columns(written(tmp_path)).manifest.codes["area"].hierarchy)
    assert (kept.codes, kept.groupings, kept.total, dict(kept.labels)) == (
        AREA.codes,
        AREA.groupings,
        AREA.total,
        dict(AREA.labels),
    )
