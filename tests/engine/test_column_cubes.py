"""Cubes: tables that are sums of their cells are those that the records give, to the last bit."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine import column_cubes
from discreet.engine.column_cubes import cube_variables, cubes_of
from discreet.engine.column_files import open_columns, write_columns
from discreet.engine.columns import ENGINE
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.server import worker
from tests.server.census import Asker, made

ROWS = 4_000
BY = {
    "area": ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]}),
    "kind": ds.Hierarchy.flat(["x", "y", "z"]),
    "size": ds.Hierarchy.flat([str(number) for number in range(7)]),
    "form": ds.Hierarchy.flat(["p", "q"]),
}


@pytest.fixture(params=[True, False], ids=["keys", "no keys"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Microdata:
    draw = np.random.default_rng(2)
    columns: dict[str, Any] = {name: draw.choice(one.base_codes, ROWS) for name, one in BY.items()}
    keys = {"record_key": "rkey"} if request.param else {}
    source = Microdata(pa.table({**columns, "rkey": draw.integers(0, 256, ROWS)}), **keys)
    write_columns(source, tmp_path / "columns", variables=BY, geography="area")
    return Microdata(tmp_path / "columns", engine="columns", **keys)


def table(data: Microdata, *names: str, **more: Any) -> dict[str, Any]:
    found = ds.tabulate(data, specs=[TableSpec(by={name: BY[name] for name in names}, holders=False, **more)]).tables[0]
    return {
        "codes": found.codes.tolist(),
        "value": found.value.tolist(),
        "keys": None if found.key_sum is None else found.key_sum.tolist(),
    }


def cubed(data: Microdata, *names: str) -> bool:
    spec = TableSpec(by={name: BY[name] for name in names}, holders=False)
    return ENGINE.opened(data, [spec], None).make_cube(names)


def test_tables_by_variables_of_a_cube_are_those_of_the_records(data: Microdata, monkeypatch) -> None:
    asked = [some for many in (1, 2, 3) for some in combinations(["kind", "form", "size"], many)]
    asked += [some[::-1] for some in asked]
    plain = {some: table(data, *some) for some in asked}
    assert cubed(data, "kind", "size", "form")
    counts = []
    whole = column_cubes.Cube.counters
    monkeypatch.setattr(column_cubes.Cube, "counters", lambda *given: counts.append(1) or whole(*given))
    assert {some: table(data, *some) for some in asked} == plain
    assert len(counts) == len(asked)


def test_codes_that_become_others_do_so_in_a_cube_too(data: Microdata) -> None:
    recoded = data.with_(recode={"size": {str(number): "0" for number in (4, 5, 6)}})
    before = table(recoded, "size", "kind")
    assert cubed(data, "kind", "size")
    assert table(recoded, "size", "kind") == before


def test_other_universes_and_variables_are_counted_of_the_records(data: Microdata, monkeypatch) -> None:
    where = ds.TableSpec(by={"kind": BY["kind"]}, where="size == '3'").where
    before = [table(data, "kind", "form", where=where), table(data, "area", "kind")]
    assert cubed(data, "kind", "size", "form")
    monkeypatch.setattr(column_cubes.Cube, "counters", None)  # nobody may ask
    assert [table(data, "kind", "form", where=where), table(data, "area", "kind")] == before


def test_a_cube_of_nearly_as_many_cells_as_records_is_not_kept(data: Microdata, monkeypatch) -> None:
    monkeypatch.setattr(column_cubes, "PER_CELL", ROWS)
    assert not cubed(data, "kind", "size")
    assert cubes_of(open_columns(data.source)) == []


def test_most_tables_are_in_a_cube_and_no_cube_is_too_large() -> None:
    sizes = {"sex": 2, "age": 101, "ethnic": 20, "health": 5, "tenure": 6, "job": 90, "trade": 88, "home": 15}
    records = 10_000_000
    cubes = cube_variables(sizes, 3, 200_000, records)
    assert 0 < len(cubes) <= column_cubes.MOST_CUBES
    asked = [set(some) for some in combinations(sizes, 3) if not {"age", "job", "trade"} <= set(some)]
    assert sum(any(some <= set(cube) for cube in cubes) for some in asked) >= 0.75 * len(asked)
    for cube in cubes:
        assert np.prod([sizes[name] for name in cube]) <= min(records // column_cubes.PER_CELL, column_cubes.MOST_CELLS)
    assert cube_variables(sizes, 3, 200_000, column_cubes.LEAST_RECORDS - 1) == []


def test_a_server_with_cubes_gives_the_same_answers(tmp_path: Path, monkeypatch) -> None:
    census = made(tmp_path, records=6_000, areas=10)
    questions = [("sex",), ("sex", "marital"), ("age_group:1", "sex"), ("labour:1", "education", "sex")]
    before = [Asker(census)(*question) for question in questions]
    columns = open_columns(census.data.source)
    assert cubes_of(columns) == []
    monkeypatch.setattr(column_cubes, "LEAST_RECORDS", 1_000)
    monkeypatch.setattr(column_cubes, "PER_CELL", 2)
    assert all(work() for work in worker.cubes_to_make(census))
    assert cubes_of(columns)
    assert [Asker(census)(*question) for question in questions] == before
