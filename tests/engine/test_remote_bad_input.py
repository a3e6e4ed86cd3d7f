"""What is wrong with records in a database is said in the words of memory, and without a secret or a value."""

from __future__ import annotations

import pickle
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine import remote_source
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError
from discreet.model.address import Address
from tests.engine.brute_force import assert_same_table
from tests.engine.remotes import loaded, postgres_server
from tests.server import postgres

ibis = pytest.importorskip("ibis", reason="ibis is not installed (discreet[engines])")

BY = {"c": ds.Hierarchy.from_nested({"A": ["a1", "a2"], "B": ["b1"]})}
SECRET = "tr0ub4dor"
KEY = ds.Key(bytes(range(32)))


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Postgres]:
    if postgres.missing():
        pytest.skip(postgres.missing())
    with postgres_server() as found:
        yield found


@pytest.fixture(scope="module")
def database(server: postgres.Postgres) -> Iterator[Any]:
    backend = ibis.postgres.connect(host=str(server.folder), user="postgres", database="business")
    yield backend
    backend.disconnect()


@pytest.fixture(params=["duckdb", "postgres"])
def backend(request: pytest.FixtureRequest) -> Any:
    return ibis.duckdb.connect() if request.param == "duckdb" else request.getfixturevalue("database")


def firms(**columns: Any) -> pa.Table:
    return pa.table({"c": ["a1", "a2", "b1"], "x": [1, 2, 3], "firm": ["p", "q", "r"], **columns})


def both(backend: Any, frame: pa.Table, by: Any = None, **options: Any) -> tuple[ds.Table, ds.Table]:
    roles = {"contributor": "firm", **options.pop("roles", {})}
    by = by or BY
    found = ds.tabulate(ds.Microdata(loaded(backend, frame), **roles), by=by, **options)
    return found, ds.tabulate(ds.Microdata(frame, **roles), by=by, **options)


def refusals(backend: Any, frame: pa.Table, by: Any = None, **options: Any) -> tuple[str, str]:
    """What the engine says, and what memory says, without the number of the first record, which only files have."""
    roles = {"contributor": "firm", **options.pop("roles", {})}
    said = []
    for source in (loaded(backend, frame), frame):
        with pytest.raises(DiscreetError) as caught:
            ds.tabulate(ds.Microdata(source, **roles), by=by or BY, **options)
        said.append(str(caught.value).replace(", first in record 1", "").replace(", first in record 2", ""))
    return said[0], said[1]


# ---- the same refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"x": pa.array([None, 2, 3], pa.int64())}, {"value": "x"}),
        ({"x": pa.array([nan, 2.5, 3.0])}, {"value": "x"}),
        ({"x": pa.array([inf, 2.5, 3.0])}, {"value": "x"}),
        ({"x": pa.array([None, 2.5, 3.0])}, {"value": "x"}),
        ({"x": pa.array([2**62 - 1, 2**62 - 1, 5])}, {"value": "x"}),
        ({"x": pa.array([-(2**62), 2**62 - 1, 5])}, {"value": "x"}),
        ({"x": pa.array([1e30, 2.0, 5.0])}, {"value": "x"}),
        ({"c": ["a1", "zz", "zz"]}, {"value": "x"}),
        ({"c": ["a1", "A", "b1"]}, {}),
        ({"c": ["a1", None, "b1"]}, {"value": "x"}),
        ({"c": ["a1", None, "b1"]}, {"roles": {"missing": {"c": "zz"}}}),
        ({"firm": ["p", None, "p"]}, {"value": "x"}),
        ({"firm": ["p", "p ", "q"]}, {"value": "x"}),
        ({"w": [1.0, 0.0, 2.0]}, {"weight": "w", "value": "x"}),
        ({"w": [1.5, None, 2.0]}, {"weight": "w", "value": "x"}),
        ({"w": [1, 2, 2**61]}, {"weight": "w", "value": "x"}),
        ({"ok": [0, 1, 2]}, {"value": "x", "roles": {"waiver": "ok"}}),
        ({"ask": [0, 1, 3]}, {"value": "x", "roles": {"request": "ask"}}),
        ({"ask": [0, None, 1]}, {"value": "x", "roles": {"request": "ask"}}),
        ({"k": [0.5, 1.0, 0.25]}, {"roles": {"record_key": "k"}}),
        ({"k": [5, -1, 3]}, {"roles": {"record_key": "k"}}),
        ({"k": [5, 2**31, 3]}, {"roles": {"record_key": "k"}}),
        ({"k": pa.array([5, None, 3])}, {"roles": {"record_key": "k"}}),
        ({"k": pa.array([0.5, None, 0.1])}, {"roles": {"record_key": "k"}}),
        ({}, {"where": "x > 99"}),
        ({}, {"where": "x == 'one'"}),
        ({}, {"where": "c > 3"}),
        ({}, {"roles": {"missing": {"nowhere": "a1"}}}),
    ],
)
def test_refusals_are_those_of_memory(backend: Any, columns: dict[str, Any], options: dict[str, Any]) -> None:
    roles = options.get("roles", {})
    found, memory = refusals(backend, firms(**columns), **{**options, "roles": roles})
    assert found == memory


def test_text_where_numbers_are_needed(backend: Any) -> None:
    found, memory = refusals(backend, firms(x=["1", "two", "3"]), value="x")
    assert found.startswith("Column 'x' holds text where numbers are needed")
    assert memory.startswith("Column 'x' holds text where numbers are needed")


def test_an_empty_table(backend: Any) -> None:
    with pytest.raises(InputError, match="The data have no records"):
        ds.tabulate(ds.Microdata(loaded(backend, firms().slice(0, 0))), by=BY, holders=False)


# ---- the same cells from odd columns -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    ["c > 'Z'", "c <= 'a1'", "c != 'a1'", "c not in ['a1']", "y > 1", "y != 1", "y not in [1]", "y is null",
     "y is not null", "ok == 1", "x >= 2.5", "day is not null"],
)  # fmt: skip
def test_filters_mean_the_same(backend: Any, where: str) -> None:
    """Text is compared by its characters, whatever order the engine sorts it in, and NaN is no large number."""
    frame = pa.table(
        {
            "c": ["a1", "Z9", "a2", "b1", None],
            "x": [1, 2, 3, 4, 5],
            "y": [1.0, nan, None, 2.5, 1.0],
            "ok": [True, None, True, False, True],
            "day": pa.array([date(2024, 1, 1), None, date(2024, 1, 2), None, date(2025, 1, 1)]),
            "firm": ["p", "q", "r", "p", "p"],
        }
    )
    by = {"c": ds.Hierarchy.flat(["a1", "a2", "b1", "Z9", "?"])}
    one, other = both(backend, frame, by=by, value="x", where=where, roles={"missing": {"c": "?"}})
    assert_same_table(one, other)


def test_text_is_compared_by_its_characters_where_the_engine_has_another_order(database: Any) -> None:
    table = loaded(database, firms(c=["a1", "B1", "b1"]))
    with database.con.cursor() as cursor:
        cursor.execute('ALTER TABLE records ALTER COLUMN c TYPE text COLLATE "en-x-icu"')
        assert cursor.execute("SELECT count(*) FROM records WHERE c > 'a9'").fetchone() == (2,)
    by = {"c": ds.Hierarchy.flat(["a1", "B1", "b1"])}
    found = ds.tabulate(ds.Microdata(table, contributor="firm"), by=by, value="x", where="c > 'a9'")
    assert found.values.tolist() == [3.0, 3.0]


def test_names_keep_their_case(backend: Any) -> None:
    frame = firms(Code=["a1", "a1", "a2"], X=[10, 20, 30])
    one, other = both(backend, frame.drop(["c", "x"]), by={"Code": BY["c"]}, value="X")
    assert_same_table(one, other)
    with pytest.raises(InputError, match=r"There is no column 'x' in the table 'records'.*Did you mean 'X'"):
        ds.tabulate(ds.Microdata(loaded(backend, frame.drop(["c", "x"]))), by={"Code": BY["c"]}, value="x")


def test_recodes_and_gaps_are_put_together(backend: Any) -> None:
    frame = firms(c=["old", None, "a2"], firm=["p", "p", "q"])
    roles = {"recode": {"c": {"old": "a2"}}, "missing": {"c": "a2"}}
    one, other = both(backend, frame, value="x", roles=roles)
    assert_same_table(one, other)
    assert one.contributions["holding"].count.tolist() == [2, 2, 2]


@pytest.mark.parametrize("codes", [[1, 2, 3], [1.0, 2.0, 3.0], [True, False, True], [date(2024, 5, 1)] * 3])
def test_codes_of_any_type(backend: Any, codes: list[Any]) -> None:
    frame = firms(c=codes)
    by = {"c": ds.Hierarchy.flat(["1", "2", "3", "True", "False", "2024-05-01"])}
    one, other = both(backend, frame, by=by, value="x")
    assert_same_table(one, other)


def test_codes_that_occur_are_found_in_the_engine(backend: Any) -> None:
    one, other = both(backend, firms(), by=["c"], value="x")
    assert one.spec.by["c"].codes == other.spec.by["c"].codes == ("Total", "a1", "a2", "b1")
    assert_same_table(one, other)


def test_times_are_refused_because_zones_differ(backend: Any) -> None:
    if backend.name == "postgres":
        backend.raw_sql("DROP TABLE IF EXISTS times; CREATE TABLE times AS SELECT now() AS c, 1 AS x").close()
        table = backend.table("times")
    else:
        table = backend.create_table("times", pa.table({"c": [datetime(2024, 1, 1)], "x": [1]}), overwrite=True)
    for question in ({"by": BY}, {"by": {"x": ds.Hierarchy.flat(["1"])}, "where": "c is not null"}):
        with pytest.raises(InputError, match="holds times, which read differently in other time zones"):
            ds.tabulate(ds.Microdata(table), **question)


def test_decimal_numbers_are_exact_where_floats_are_not(backend: Any) -> None:
    amounts = [Decimal("90071992547409.93"), Decimal("0.01"), Decimal("0.01")]
    if backend.name == "postgres":
        backend.raw_sql(
            "DROP TABLE IF EXISTS money; CREATE TABLE money (c text, x numeric(20, 2), firm text); INSERT INTO money "
            "VALUES ('a1', 90071992547409.93, 'p'), ('a1', 0.01, 'p'), ('b1', 0.01, 'q')"
        ).close()
        table = backend.table("money")
    else:
        frame = pa.table(
            {"c": ["a1", "a1", "b1"], "x": pa.array(amounts, pa.decimal128(20, 2)), "firm": ["p", "p", "q"]}
        )
        table = backend.create_table("money", frame, overwrite=True)
    found = ds.tabulate(ds.Microdata(table, contributor="firm"), by=BY, value="x")
    assert found.decimals == 2
    assert found.value.tolist() == [9007199254740995, 9007199254740994, 9007199254740994, 1, 1]


def test_records_without_names_need_a_number(backend: Any) -> None:
    table = loaded(backend, firms(number=[0, 1, 2]))
    with pytest.raises(NeedsError, match=r"Records of a database have no order"):
        ds.tabulate(ds.Microdata(table), by=BY, value="x")
    named = ds.tabulate(ds.Microdata(table, identifier="number"), by=BY, value="x")
    assert_same_table(named, ds.tabulate(firms(), by=BY, value="x"))
    assert ds.tabulate(ds.Microdata(table), by=BY, value="x", holders=False).holders is None


# ---- record keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modulus", [None, 256])
def test_cell_keys_made_of_identifiers_are_those_of_memory(backend: Any, modulus: int | None) -> None:
    draw = np.random.default_rng(5)
    frame = pa.table({"c": draw.choice(BY["c"].base_codes, 300), "id": [f"id {i}" for i in range(300)]})
    method = ds.CellKey(identifier="id", **({} if modulus is None else {"modulus": modulus}))
    spec = ds.TableSpec(by=BY)
    one = ds.protect(ds.Microdata(loaded(backend, frame)), method, tables=[spec], key=KEY)
    other = ds.protect(ds.Microdata(frame), method, tables=[spec], key=KEY)
    for name, column in other.custodian.evidence[0].parts["cells"].items():
        np.testing.assert_array_equal(column, one.custodian.evidence[0].parts["cells"][name], err_msg=name)
    assert one.verify().holds


@pytest.mark.parametrize("whole", [True, False])
def test_given_record_keys_are_looked_at_in_the_engine(backend: Any, whole: bool) -> None:
    draw = np.random.default_rng(6)
    keys = draw.integers(0, 64, 3000) if whole else draw.random(3000)
    frame = pa.table({"c": draw.choice(BY["c"].base_codes, 3000), "k": keys})
    method = ds.CellKey(modulus=64) if whole else ds.CellKey()
    published = [
        ds.protect(ds.Microdata(source, record_key="k"), method, tables=[ds.TableSpec(by=BY)], key=KEY)
        for source in (loaded(backend, frame), frame)
    ]
    np.testing.assert_array_equal(*(one.custodian.published[0] for one in published))
    bad = frame.set_column(1, "k", pa.array(np.where(keys > 5, 7, 1) if whole else np.floor(keys * 10) / 10))
    for source in (loaded(backend, bad), bad):
        with pytest.raises(InputError, match="not spread evenly" if whole else "occur more than once"):
            ds.protect(ds.Microdata(source, record_key="k"), method, tables=[ds.TableSpec(by=BY)], key=KEY)


def test_tables_of_the_same_variables_are_asked_for_together(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several values, shadows and costs by the same variables are one grouping of the records."""
    asked: list[str] = []
    fetch = remote_source.RemoteTable.fetch

    def watched(self: Any, stage: str, expression: Any) -> pa.Table:
        asked.append(stage)
        return fetch(self, stage, expression)

    monkeypatch.setattr(remote_source.RemoteTable, "fetch", watched)
    frame = firms(y=[0.5, 0.25, 4.0], k=[3, 4, 5])
    specs = [
        ds.TableSpec(by=BY, value="x", name="one"),
        ds.TableSpec(by=BY, value="y", cost="x", name="two"),
        ds.TableSpec(by=BY, name="three"),
    ]
    found, memory = (
        ds.tabulate(ds.Microdata(source, contributor="firm", record_key="k"), specs=specs)
        for source in (loaded(backend, frame), frame)
    )
    assert asked.count("sums") == 1
    for one, other in zip(found.tables, memory.tables, strict=True):
        assert_same_table(one, other)


# ---- what leaves the engine ----------------------------------------------------------------------------------


def test_only_cells_leave_the_engine(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer has more rows than the table has cells, however many records there are."""
    rows: list[int] = []
    fetch = remote_source.RemoteTable.fetch

    def watched(self: Any, stage: str, expression: Any) -> pa.Table:
        found = fetch(self, stage, expression)
        rows.append(found.num_rows)
        return found

    monkeypatch.setattr(remote_source.RemoteTable, "fetch", watched)
    draw = np.random.default_rng(8)
    frame = pa.table(
        {
            "c": draw.choice(BY["c"].base_codes, 2000),
            "x": draw.integers(0, 99, 2000),
            "firm": draw.integers(0, 400, 2000),
        }
    )
    one, other = both(backend, frame, value="x")
    assert_same_table(one, other)
    assert max(rows) <= len(one)


@pytest.mark.parametrize(
    ("what", "question", "roles", "options"),
    [
        ("sums", {"value": "x"}, {}, {}),
        ("sums", {"value": "x"}, {}, {"subsample": 5}),
        ("weighted tables", {"weight": "w"}, {"weight": "w"}, {}),
        ("replicate weights", {}, {}, {"replicates": ("w", "x")}),
        ("sums and weighted tables", {"value": "x", "weight": "w"}, {"weight": "w"}, {}),
    ],
)
def test_dropping_and_adding_of_weights_says_that_records_stay(
    backend: Any, what: str, question: dict[str, Any], roles: dict[str, Any], options: dict[str, Any]
) -> None:
    frame = pa.table({"c": ["a1", "a2", "b1"] * 20, "id": range(60), "x": range(60), "w": [1.5, 2.0, 2.5, 3.0] * 15})
    data = ds.Microdata(loaded(backend, frame), identifier="id", **roles)
    method, spec = ds.DropAdd("id", **options), ds.TableSpec(by=BY, holders=False, **question)
    with pytest.raises(NeedsError, match=f"DropAdd of {what} adjusts weights of single records") as caught:
        ds.protect(data, method, tables=[spec], key=KEY)
    assert "data.on('memory')" in str(caught.value)
    one, other = (
        ds.protect(source, method, tables=[spec], key=KEY)
        for source in (data.on("memory"), ds.Microdata(frame, identifier="id", **roles))
    )
    np.testing.assert_array_equal(one.custodian.published[0], other.custodian.published[0])


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("options", [{"rate": 0.2}, {"rate": "1/9", "rounding": "above"}, {"subsample": 57}])
def test_records_dropped_and_added_in_an_engine_are_those_of_memory(
    backend: Any, options: dict[str, Any], text: bool
) -> None:
    """The numbers of a cell's records are added up where they lie, modulo 2**64."""
    draw = np.random.default_rng(7)
    frame = pa.table(
        {
            "c": draw.choice(BY["c"].base_codes, 900),
            "d": draw.choice(["p", "q"], 900),
            "stays": draw.integers(0, 2, 900),
            "id": [f"id {i}" for i in range(900)] if text else range(900),
        }
    )
    spec = ds.TableSpec(by={**BY, "d": ds.Hierarchy.flat(["p", "q"])}, where="stays == 1")
    one, other = (
        ds.protect(ds.Microdata(source), ds.DropAdd("id", **options), tables=[spec], key=KEY)
        for source in (loaded(backend, frame), frame)
    )
    np.testing.assert_array_equal(one.custodian.published[0], other.custodian.published[0])
    for name, column in other.custodian.evidence[0].parts["altered"].items():
        np.testing.assert_array_equal(one.custodian.evidence[0].parts["altered"][name], column, err_msg=name)
    assert np.any(one.custodian.evidence[0].parts["altered"]["moved"])
    assert one.verify().holds


# ---- addresses -----------------------------------------------------------------------------------------------


def test_an_address_opens_its_table(server: postgres.Postgres, database: Any) -> None:
    loaded(database, firms(), "firms")
    url = server.url("business").replace("/business", "/business/firms")
    data = ds.Microdata(url, contributor="firm")
    assert data.engine == "remote"
    assert_same_table(ds.tabulate(data, by=BY, value="x"), both(database, firms(), value="x")[1])
    assert ds.tabulate(data.on("memory"), by=BY).values.tolist() == [3.0, 2.0, 1.0, 1.0, 1.0, 1.0][: len(BY["c"])]
    with database.con.cursor() as cursor:
        cursor.execute(
            "CREATE SCHEMA IF NOT EXISTS other; DROP TABLE IF EXISTS other.f; CREATE TABLE other.f AS TABLE firms"
        )
    within = ds.Microdata(url.replace("/business/firms", "/business/other/f"))
    assert ds.tabulate(within, by=BY).values[0] == 3


def test_a_table_that_is_missing_is_named_without_the_address(server: postgres.Postgres, database: Any) -> None:
    loaded(database, firms(), "firms")
    url = server.url("business", SECRET).replace("/business", "/business/firmz")
    with pytest.raises(InputError, match=r"There is no table 'firmz' in the postgres database.*'firms'") as caught:
        ds.tabulate(ds.Microdata(url), by=BY)
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_a_duckdb_file_is_opened_by_its_address(tmp_path: Path) -> None:
    backend = ibis.duckdb.connect(tmp_path / "firms.duckdb")
    backend.create_table("firms", firms())
    backend.disconnect()
    data = ds.Microdata(f"duckdb://{tmp_path}/firms.duckdb/firms", contributor="firm")
    assert ds.tabulate(data, by=BY, value="x").values[0] == 6
    with pytest.raises(InputError, match=r"There is no table 'firm' in the duckdb database\. Did you mean 'firms'"):
        ds.tabulate(ds.Microdata(f"duckdb://{tmp_path}/firms.duckdb/firm"), by=BY)


def seen(error: BaseException) -> str:
    """What a log shows that writes down the variables of all frames of the package and its drivers."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(
        f"{name}={value}" for frame in shown.stack if frame.filename != __file__ for name, value in frame.locals.items()
    )


@pytest.mark.parametrize("url", [f"postgres://ann:{SECRET}@h/d/t", f"postgres://h/d/t?user=ann&password={SECRET}"])
def test_no_copy_of_an_address_holds_its_secret(url: str) -> None:
    data = ds.Microdata(url, contributor="firm")
    again = pickle.loads(pickle.dumps(data))
    assert SECRET.encode() not in pickle.dumps(data)
    assert SECRET not in repr(asdict(data)) + repr(vars(data.source)) + repr(data.source.settings())
    assert data.source.settings()["password"] == SECRET
    assert again.source.name == "t"
    assert "password" not in again.source.settings()


def test_a_release_holds_no_address(server: postgres.Postgres, database: Any, tmp_path: Path) -> None:
    loaded(database, firms(c=["a1", "a2", "b1"]), "firms")
    url = f"postgres://postgres:{SECRET}@/business/firms?host={server.folder}"
    table = ds.tabulate(ds.Microdata(url, contributor="firm"), by=BY, value="x").assess(ds.MinContributors(2))
    release = ds.protect(table, ds.Suppress())
    release.save(tmp_path / "out")
    written = b"".join(file.read_bytes() for file in sorted((tmp_path / "out").rglob("*")) if file.is_file())
    assert SECRET.encode() not in written + pickle.dumps(release) + repr(release.custodian).encode()
    assert str(server.folder).encode() not in written


def test_a_wrong_password_is_not_repeated(server: postgres.Postgres) -> None:
    server.sql("DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 'right'")
    rules = Path(server.data) / "pg_hba.conf"
    plain = rules.read_text()
    try:
        rules.write_text("local all ann scram-sha-256\n" + plain)
        server.sql("SELECT pg_reload_conf()")
        url = f"postgres://ann:{SECRET}@/business/firms?host={server.folder}"
        with pytest.raises(InputError, match="refused the name or the password") as caught:
            ds.tabulate(ds.Microdata(url), by=BY)
    finally:
        rules.write_text(plain)
        server.sql("SELECT pg_reload_conf()")
    said = repr(caught.value) + str(caught.value) + str(caught.value.details) + repr(ds.Microdata(url))
    assert SECRET not in said
    assert SECRET not in seen(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_nobody_answers() -> None:
    with pytest.raises(InputError, match="there was no connection"):
        ds.tabulate(ds.Microdata(f"postgres://ann:{SECRET}@127.0.0.1:1/business/firms"), by=BY)


@pytest.mark.parametrize(
    "url",
    ["oracle://h/d/t", "postgres://h/only", f"postgres://u:{SECRET}@h:many/d/t", "postgres:///d//t", "duckdb:///t"],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ds.Microdata(url)
    assert SECRET not in str(caught.value)


def test_an_address_shows_its_table_only() -> None:
    address = Address.parse(f"postgres://ann:{SECRET}@host.example/business/sales/firms")
    shown = repr(address) + str(address) + repr(ds.Microdata(f"postgres://ann:{SECRET}@host.example/business/firms"))
    assert SECRET not in shown
    assert "host.example" not in shown
    assert address.name == "sales.firms"


def test_a_connection_that_is_lost_makes_no_table(server: postgres.Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ibis.postgres.connect(host=str(server.folder), user="postgres", database="business")
    table = loaded(backend, firms(), "lost")
    number = backend.con.info.backend_pid
    fetch = remote_source.RemoteTable.fetch

    def cut(self: Any, stage: str, expression: Any) -> pa.Table:
        if stage == "contributors":
            server.sql(f"SELECT pg_terminate_backend({number}, 5000)")
        return fetch(self, stage, expression)

    monkeypatch.setattr(remote_source.RemoteTable, "fetch", cut)
    with pytest.raises(InputError, match=r"The connection to postgres was lost.*nothing was made"):
        ds.tabulate(ds.Microdata(table, contributor="firm"), by=BY, value="x")


def test_records_that_change_meanwhile_make_no_table(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of one state and contributors of another would contradict each other."""
    table = loaded(backend, firms(), "changing")
    fetch = remote_source.RemoteTable.fetch

    def changed(self: Any, stage: str, expression: Any) -> pa.Table:
        found = fetch(self, stage, expression)
        if stage == "sums":
            self.backend.con.execute("INSERT INTO changing VALUES ('a1', 9, 'z')")
        return found

    monkeypatch.setattr(remote_source.RemoteTable, "fetch", changed)
    with pytest.raises(InputError, match=r"met 4 records of table 'changing' with their codes, and has 3"):
        ds.tabulate(ds.Microdata(table, contributor="firm"), by=BY, value="x")


def test_values_stay_out_of_errors_of_the_engine(database: Any) -> None:
    """An error of a view shows the value that it stumbled over."""
    database.raw_sql(
        "DROP VIEW IF EXISTS odd; DROP TABLE IF EXISTS raw; CREATE TABLE raw AS SELECT 'a1' AS c, 'secret 77' AS y; "
        "CREATE VIEW odd AS SELECT c, y::int AS x FROM raw"
    ).close()
    with pytest.raises(InputError, match="postgres could not finish") as caught:
        ds.tabulate(ds.Microdata(database.table("odd")), by=BY, value="x", holders=False)
    assert "secret" not in str(caught.value) + str(caught.value.details)


def test_without_ibis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(NeedsError, match=r"discreet\[engines\]"):
        ds.tabulate(ds.Microdata("postgres://h/d/t"), by=BY)


def test_without_a_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NeedsError, match=r"discreet\[engines\]"):
        ds.tabulate(ds.Microdata("postgres://h/d/t"), by=BY)


def test_engines_without_exact_decimals_are_refused() -> None:
    lite = ibis.sqlite.connect()
    with pytest.raises(NeedsError, match=r"Tables of sqlite would not be exact: it has no decimal numbers"):
        ds.tabulate(ds.Microdata(lite.create_table("firms", firms())), by=BY, value="x")


def test_text_that_duckdb_compares_loosely_is_refused() -> None:
    """Codes 'a1' and 'A1' would be one, and so would two contributors."""
    duck = ibis.duckdb.connect()
    duck.raw_sql("CREATE TABLE loose (c VARCHAR COLLATE NOCASE, x BIGINT, firm VARCHAR)")
    duck.raw_sql("INSERT INTO loose VALUES ('a1', 1, 'p'), ('A1', 2, 'q')")
    with pytest.raises(NeedsError, match=r"duckdb compares column 'c' of table 'loose' loosely"):
        ds.tabulate(ds.Microdata(duck.table("loose"), contributor="firm"), by=BY, value="x")
    duck = ibis.duckdb.connect()
    duck.raw_sql("SET default_collation = 'NOCASE'")
    with pytest.raises(NeedsError, match=r"loosely, or not as text \(NOCASE\)"):
        ds.tabulate(ds.Microdata(duck.create_table("firms", firms()), contributor="firm"), by=BY, value="x")


def test_text_that_postgres_compares_loosely_is_refused(database: Any) -> None:
    database.raw_sql(
        "CREATE COLLATION IF NOT EXISTS anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        "DROP TABLE IF EXISTS loose; CREATE TABLE loose (c text, x bigint, firm text COLLATE anycase); "
        "INSERT INTO loose VALUES ('a1', 1, 'p'), ('a1', 2, 'P')"
    ).close()
    with pytest.raises(NeedsError, match=r"compares column 'firm' of table 'loose' loosely"):
        ds.tabulate(ds.Microdata(database.table("loose"), contributor="firm"), by=BY, value="x")


def test_lists_of_words_are_refused_where_they_are_asked_for(database: Any) -> None:
    database.raw_sql(
        "DROP TABLE IF EXISTS words; DROP TYPE IF EXISTS word; CREATE TYPE word AS ENUM ('a1', 'a2'); "
        "CREATE TABLE words (c word, d text); INSERT INTO words VALUES ('a1', 'a1')"
    ).close()
    data = ds.Microdata(database.table("words"))
    with pytest.raises(NeedsError, match=r"not as text \(word\)"):
        ds.tabulate(data, by=BY)
    assert ds.tabulate(data, by={"d": BY["c"]}).values[0] == 1


def test_zero_and_minus_zero_are_one_code(backend: Any) -> None:
    """Engines join one with the other: a contributor of the one would count as one of both."""
    frame = pa.table({"c": [0.0, -0.0, 1.0], "d": ["p", "q", "p"], "x": [1, 2, 3], "firm": ["p", "q", "r"]})
    by = {"c": ds.Hierarchy.flat(["0", "1"]), "d": ds.Hierarchy.flat(["p", "q"])}
    one, other = both(backend, frame, by=by, value="x")
    assert_same_table(one, other)
    assert one.contributions["holding"].count[0] == 3
    with pytest.raises(InputError, match="no numbers"):
        ds.tabulate(ds.Microdata(loaded(backend, frame.set_column(0, "c", [[nan, 1.0, 0.0]]))), by=by)


def test_numbers_too_small_for_products_are_looked_at(backend: Any) -> None:
    one, other = both(backend, firms(x=[5e-324, 1e-300, 1.0]), value="x")
    assert_same_table(one, other)


def test_single_precision_numbers_are_shown_with_the_same_decimals() -> None:
    frame = firms(x=pa.array([0.1, 0.5, 3.0], pa.float32()))
    one, other = both(ibis.duckdb.connect(), frame, value="x")
    assert_same_table(one, other)


def test_record_keys_are_no_decimals(backend: Any) -> None:
    frame = pa.table({"c": ["a1"], "k": pa.array([Decimal("0.25")], pa.decimal128(4, 2))})
    tables = [frame] if backend.name == "postgres" else [frame, backend.create_table("keys", frame, overwrite=True)]
    for table in tables:
        with pytest.raises(InputError, match="must be fractions in"):
            ds.tabulate(ds.Microdata(table, record_key="k"), by=BY, holders=False)


def test_frames_are_not_for_this_engine() -> None:
    with pytest.raises(ParameterError, match="engine='remote' makes tables where records lie"):
        ds.tabulate(firms(), by=BY, engine="remote")
    with pytest.raises(NeedsError, match="belongs to no engine"):
        ds.tabulate(ds.Microdata(ibis.table({"c": "string"}, name="t")), by=BY)


def test_lazy_frames_of_polars_are_read_column_by_column() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.from_arrow(firms()).lazy()
    assert_same_table(ds.tabulate(lazy, by=BY, value="x"), ds.tabulate(firms(), by=BY, value="x"))


# ---- what one number tells of several columns -----------------------------------------------------------------


VALUES = {"fine": [5, 0, 9], "below zero": [5, -2, 9], "empty": [5, None, 9], "large": [2**62, 2**62, 2**62]}
KEYS = {"fine": [7, 0, 2**31 - 1], "below zero": [7, -1, 9], "empty": [7, None, 9], "large": [7, 2**31, 9]}


@pytest.mark.parametrize(
    ("keys", "kind"),
    [*((keys, pa.int64()) for keys in KEYS), *((keys, pa.int32()) for keys in KEYS if keys != "large")],
    ids=str,
)
@pytest.mark.parametrize("values", VALUES)
def test_signs_gaps_and_sizes_of_values_and_keys_are_told_apart(
    backend: Any, values: str, keys: str, kind: pa.DataType
) -> None:
    """Their signs are asked for together; what is wrong, and with which of them, is said as memory says it."""
    frame = firms().set_column(1, "x", pa.array(VALUES[values], pa.int64()))
    frame = frame.append_column("k", pa.array(KEYS[keys], kind))
    asked = {"value": "x", "holders": False, "roles": {"contributor": None, "record_key": "k"}}
    if values in ("empty", "large") or keys != "fine":
        found, memory = refusals(backend, frame, **asked)
        assert found == memory
    else:
        assert_same_table(*both(backend, frame, **asked))
