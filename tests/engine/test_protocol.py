"""One protocol for all engines: methods ask the engine that the records name, and read nothing by themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.engine import outofcore
from discreet.engine.protocol import HOMES, engine_of
from discreet.errors import InputError, ParameterError
from discreet.files import frames

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
KIND = ds.Hierarchy.flat(["x", "y"])
KEY = ds.Key(bytes(range(32)))
ROWS = 400
FILES = ("memory", "duckdb")
"""Engines that read the files of others; that of columns reads its own folders, see test_columns."""


def firms(rows: int = ROWS) -> pa.Table:
    draw = np.random.default_rng(3)
    area = draw.choice(AREA.base_codes, rows)
    return pa.table(
        {
            "id": [f"firm {i:04}" for i in range(rows)],
            "holding": draw.integers(0, rows // 3, rows),
            "area": area,
            "part": [code[0] for code in area],
            "kind": draw.choice(KIND.base_codes, rows),
            "sales": draw.integers(0, 1000, rows),
            "rkey": draw.random(rows),
            "wkey": draw.integers(0, 256, rows),
            "w": np.round(draw.uniform(1, 3, rows), 2),
        }
    )


def spec(value: str | None = None, **options: object) -> ds.TableSpec:
    return ds.TableSpec(by={"area": AREA, "kind": KIND}, value=value, **options)


@pytest.fixture(params=["csv", "parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written(firms(), tmp_path / f"firms.{request.param}")


def written(frame: pa.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(frame, path)
    else:
        pa.parquet.write_table(frame, path, row_group_size=90)
    return path


def refuse_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reading a file into memory an error, wherever the function is known."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("The file was read into memory.")

    original = frames.read_columns
    for name, module in list(sys.modules.items()):
        if name.startswith("discreet") and getattr(module, "read_columns", None) is original:
            monkeypatch.setattr(module, "read_columns", read)


def test_an_unknown_engine_lists_what_there_is() -> None:
    with pytest.raises(
        ParameterError, match=r"There is no engine 'spark'\. Available: 'memory', 'duckdb', 'columns', 'remote'"
    ):
        ds.Microdata(firms(), engine="spark")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"There is no engine 'duck'.*Did you mean 'duckdb'"):
        ds.tabulate(firms(), by={"area": AREA}, engine="duck")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOMES)
def test_engines_are_known_by_name(name: str) -> None:
    assert engine_of(ds.Microdata(firms(), engine=name)).name == name  # type: ignore[arg-type]


def test_the_engine_is_a_field_of_the_records(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ds.tabulate(file, by={"area": AREA}, value="sales")
    data = ds.Microdata(file, engine="duckdb")
    refuse_reading(monkeypatch)
    table = ds.tabulate(data, by={"area": AREA}, value="sales")
    assert table.source.engine == "duckdb"
    assert np.array_equal(table.value, plain.value)
    assert ds.tabulate(file, by={"area": AREA}, engine="duckdb").source.engine == "duckdb"


def test_tables_that_one_engine_made_have_one_source(file: Path) -> None:
    data = ds.Microdata(file)
    one, two = (ds.tabulate(data, by={v: h}, engine="duckdb") for v, h in (("area", AREA), ("kind", KIND)))
    assert one.source is two.source


CELL_KEYS: dict[str, tuple[Callable[[], ds.CellKey], dict[str, object], ds.TableSpec]] = {
    "made": (lambda: ds.CellKey(identifier="id"), {}, spec()),
    "made for some": (lambda: ds.CellKey(identifier="id"), {}, spec(where="sales > 300")),
    "made whole": (lambda: ds.CellKey(identifier="id", modulus=256), {}, spec()),
    "made for holdings": (lambda: ds.CellKey(identifier="id"), {"contributor": "holding"}, spec(weight="w")),
    "given": (lambda: ds.CellKey(), {"record_key": "rkey"}, spec()),
    "given whole": (lambda: ds.CellKey(modulus=256), {"record_key": "wkey"}, spec()),
    "magnitudes": (lambda: ds.CellKey(magnitudes={"small": 0.1, "top": 2}), {"record_key": "rkey"}, spec("sales")),
    "magnitudes made": (
        lambda: ds.CellKey(magnitudes={"small": 0.1, "magnifier": "range"}, identifier="id"),
        {},
        spec("sales", weight="w"),
    ),
}


@pytest.mark.parametrize("case", CELL_KEYS)
def test_cell_keys_of_a_duckdb_table_do_not_load_the_file(
    case: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Identifiers come in batches, and sums are made in the database."""
    method, roles, question = CELL_KEYS[case]
    plain = ds.protect(ds.Microdata(file, **roles), method(), tables=[question], key=KEY)
    seen: list[int] = []
    identities = outofcore.identities_of

    def watched(values: pa.Array) -> np.ndarray:
        seen.append(len(values))
        return identities(values)

    monkeypatch.setattr(outofcore, "PART", 64)
    monkeypatch.setattr(outofcore, "SORTED_PARTS", 3)
    monkeypatch.setattr(outofcore, "identities_of", watched)
    refuse_reading(monkeypatch)
    made = ds.protect(ds.Microdata(file, engine="duckdb", **roles), method(), tables=[question], key=KEY)
    for name, column in plain.custodian.evidence[0].parts["cells"].items():
        assert np.array_equal(column, made.custodian.evidence[0].parts["cells"][name]), name
    assert np.array_equal(made.custodian.published[0], plain.custodian.published[0])
    assert made.verify().holds
    assert max(seen, default=0) < ROWS / 2 or method().identifier is None


METHODS: dict[str, tuple[Callable[[], ds.Method], dict[str, object], list[ds.TableSpec]]] = {
    "swap": (lambda: ds.Swap("area", "id", within="part", rate=0.3), {}, [spec(where="kind != 'z'"), spec("sales")]),
    "noise": (lambda: ds.MultiplicativeNoise("id"), {"contributor": "holding"}, [spec("sales", weight="w")]),
    "drop/add": (lambda: ds.DropAdd("id", rate=0.1), {}, [spec(where="sales > 20")]),
    "small counts": (
        lambda: ds.SmallCount(base=3),
        {},
        [ds.TableSpec(by={"area": AREA}), ds.TableSpec(by={"kind": KIND})],
    ),
}


@pytest.mark.parametrize("case", METHODS)
def test_methods_on_records_are_the_same_on_both_engines(
    case: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, roles, questions = METHODS[case]
    plain = ds.protect(ds.Microdata(file, **roles), method(), tables=questions, key=KEY)
    monkeypatch.setattr(outofcore, "PART", 64)
    made = ds.protect(ds.Microdata(file, engine="duckdb", **roles), method(), tables=questions, key=KEY)
    for one, two in zip(made.custodian.published, plain.custodian.published, strict=True):
        assert np.array_equal(one, two)
    assert made.verify(ds.Microdata(file, engine="duckdb", **roles)).holds


@pytest.mark.parametrize("engine", FILES)
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([None, *range(1, ROWS)], "1 record has no identifier"),
        ([7, 7, *range(1000, 1000 + ROWS - 2)], "1 record has the identifier of another record"),
    ],
)
def test_identifiers_are_refused_in_the_same_words(engine: str, ids: list, message: str, tmp_path: Path) -> None:
    """Those of the whole file, also outside the universe."""
    frame = firms().set_column(0, "id", pa.array(ids)).set_column(5, "sales", pa.array(range(ROWS)))
    data = ds.Microdata(written(frame, tmp_path / "firms.parquet"), engine=engine)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        ds.protect(data, ds.CellKey(identifier="id"), tables=[spec(where="sales > 10")], key=KEY)


@pytest.mark.parametrize("engine", FILES)
def test_a_map_is_made_by_both_engines(engine: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(9)
    points = pa.table({"x": draw.uniform(0, 9, 300), "y": draw.uniform(0, 9, 300)})
    data = ds.Microdata(written(points, tmp_path / "points.parquet"), engine=engine)  # type: ignore[arg-type]
    question = ds.TableSpec(by={"place": ds.HexGrid("x", "y", size=2)})
    assert ds.protect(data, ds.Redistribute(), tables=[question]).verify().holds
