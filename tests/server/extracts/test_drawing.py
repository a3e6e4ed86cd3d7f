"""The source of an edition is read by parts: the same folder comes out as where all of it is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.engine.record_batches import RecordBatches
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, ParameterError
from discreet.files import batches
from discreet.server.extracts import drawing
from tests.server.extracts.made import build, census

LEFT_OUT = {
    "density = 0.25": 'density = 0.25\ncollective = ["income > 40000"]',
    'identifier = ["person"]': 'identifier = ["person"]\nleave_out = ["income < 500"]',
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    table = census(tmp_path_factory.mktemp("drawing"), records=6_000)
    return table.take(pa.array(np.random.default_rng(1).permutation(len(table))))  # members of households lie apart


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[str, ...]]]:
    """Parts of 500 rows or so; how many rows of which columns were read each time."""
    monkeypatch.setattr(batches, "ROWS", 500)
    monkeypatch.setattr(batches, "BLOCK", 2**15)
    seen: list[tuple[int, tuple[str, ...]]] = []
    made = drawing.record_batches

    def watched(*arguments: Any) -> RecordBatches:
        records = made(*arguments)

        def pieces(names: Any) -> Any:
            for piece in records.pieces(names):
                seen.append((len(piece), tuple(piece.column_names)))
                yield piece

        return RecordBatches(pieces, records.leave_out)

    monkeypatch.setattr(drawing, "record_batches", watched)
    return seen


def written(folder: Path, table: pa.Table, kind: str) -> dict[str, str]:
    """The source as a file of a kind; how the plan names it."""
    if kind == "csv":
        pa.csv.write_csv(table, folder / "records.csv")
        return {"records.parquet": "records.csv"}
    pq.write_table(table, folder / "records.parquet", row_group_size=1_111)
    return {}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("more", [{}, LEFT_OUT], ids=["plain", "left out"])
def test_a_source_read_by_parts_gives_the_same_bytes_as_one_read_whole(
    source: pa.Table,
    tmp_path: Path,
    small_parts: list[tuple[int, tuple[str, ...]]],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    more: dict[str, str],
) -> None:
    change = written(tmp_path, source, kind) | more
    by_parts = contents(build(tmp_path, change, "parts").folder)
    rows = [many for many, _ in small_parts]
    assert sum(rows) == 2 * len(source)
    assert max(rows) < 1_000

    def whole(data: Any, _names: Any, numeric: Any = ()) -> RecordBatches:
        table = read_record_set(data, numeric).columns
        return RecordBatches(lambda asked: iter((table.select(asked),)))

    monkeypatch.setattr(drawing, "record_batches", whole)
    assert contents(build(tmp_path, change, "whole").folder) == by_parts


def test_the_first_reading_has_no_column_that_the_draw_does_not_look_at(
    source: pa.Table, tmp_path: Path, small_parts: list[tuple[int, tuple[str, ...]]]
) -> None:
    written(tmp_path, source.append_column("essay", pa.array(["long"] * len(source))), "parquet")
    build(tmp_path)
    first, second = small_parts[0][1], small_parts[-1][1]
    assert set(first) == {"household", "person", "region", "district", "area", "birth"}
    assert "income" in second
    assert not any("essay" in names for _, names in small_parts)


def changed(table: pa.Table, name: str, place: int, value: Any) -> pa.Table:
    values = table[name].to_pylist()
    values[place] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("name", "words"),
    [("household", "nothing in 'household'"), ("person", "nothing in 'person'"), ("district", "have no 'district'")],
)
def test_a_gap_in_any_part_is_refused(
    source: pa.Table, tmp_path: Path, small_parts: Any, kind: str, name: str, words: str
) -> None:
    change = written(tmp_path, changed(source, name, 4_321, None), kind)
    with pytest.raises(InputError, match=words):
        build(tmp_path, change)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_identifier_that_stands_in_two_parts_is_refused(
    source: pa.Table, tmp_path: Path, small_parts: Any, kind: str
) -> None:
    change = written(tmp_path, changed(source, "person", 5_999, source["person"][0].as_py()), kind)
    with pytest.raises(InputError, match="identifier of an earlier record"):
        build(tmp_path, change)


def test_a_household_of_which_one_part_lies_elsewhere_is_refused(
    source: pa.Table, tmp_path: Path, small_parts: Any
) -> None:
    homes = source["household"].to_pylist()
    last = max(place for place, home in enumerate(homes) if homes.count(home) > 1)
    other = next(place for place, code in enumerate(source["area"].to_pylist()) if code != source["area"][last].as_py())
    table = source
    for name in ("region", "district", "area"):
        table = changed(table, name, last, source[name][other].as_py())
    written(tmp_path, table, "parquet")
    with pytest.raises(InputError, match="different areas"):
        build(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({'identifier = ["person"]': 'identifier = ["person"]\nleave_out = ["age >= 0"]'}, "none is left"),
        ({"income = {": "salary = {", '"income"': '"salary"'}, "salary"),
        ({'household = "household"': 'household = "home"'}, "home"),
    ],
)
def test_plans_that_do_not_fit_the_source_are_refused(
    source: pa.Table, tmp_path: Path, small_parts: Any, change: dict[str, str], words: str
) -> None:
    written(tmp_path, source, "parquet")
    with pytest.raises((InputError, ParameterError), match=words):
        build(tmp_path, change)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_source_that_changes_between_the_readings_is_refused(
    source: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    change = written(tmp_path, source, kind)
    look = drawing.look_at_places

    def looked(*arguments: Any) -> Any:
        found = look(*arguments)
        written(tmp_path, source.take(pa.array(np.arange(len(source))[::-1])), kind)
        return found

    monkeypatch.setattr(drawing, "look_at_places", looked)
    with pytest.raises(InputError, match="changed while they were read"):
        build(tmp_path, change)
    assert not (tmp_path / "file").exists()


def test_a_source_that_was_cut_off_or_is_no_text_is_refused(source: pa.Table, tmp_path: Path) -> None:
    written(tmp_path, source, "parquet")
    path = tmp_path / "records.parquet"
    path.write_bytes(path.read_bytes()[:-5_000])
    with pytest.raises(InputError, match="not a Parquet file that can be read"):
        build(tmp_path)
    change = written(tmp_path, source, "csv")
    path = tmp_path / "records.csv"
    content = path.read_bytes()
    path.write_bytes(content[:-300] + content[-300:].replace(b'"M"', b'"\xff"').replace(b'"F"', b'"\xff"'))
    with pytest.raises(InputError, match="UTF-8"):
        build(tmp_path, change)
    path.write_bytes(content + b"1,2\n")
    with pytest.raises(InputError, match="not a regular csv file"):
        build(tmp_path, change)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "", "007"], pa.int64()),
        (["1"] * 9_000 + ["2.5"], pa.float64()),
        (["1", "1e3"], pa.float64()),
        (["9" * 20, "1"], pa.float64()),
        (["", ""], None),
        (["1"] * 9_000 + ["many"], None),
    ],
)
def test_numbers_of_a_csv_file_have_the_type_that_the_whole_file_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[str], wanted: Any
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 2**10)
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["x,y", *(f"{value},a" for value in values)]) + "\n", encoding="utf-8")
    found = batches.number_type(path, "x", ",")
    assert found == wanted
    if wanted is not None:
        assert pa.csv.read_csv(path, convert_options=batches.csv_options(["x"], {})).schema.field("x").type == wanted
