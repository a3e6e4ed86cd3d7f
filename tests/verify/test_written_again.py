"""How the checker writes codes and names again, and in which words it says where a file differs."""

from __future__ import annotations

import io
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.verify.formats.flat import identifiers, sdmx_code
from discreet.verify.formats.notation import Digits, same_json
from discreet.verify.formats.parquet import _where
from discreet.verify.formats.px import LONGEST, _string
from discreet.verify.formats.shown import Different


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("a-b", "a-b"),
        ("a@b", "a@b"),
        ("-a", "$2D$a"),
        ("@a", "$40$a"),
        ("_1", "_1"),
        ("1", "1"),
        ("a b", "a$20$b"),
        ("é", "$E9$"),
        ("", "$$"),
    ],
)
def test_codes_as_sdmx_writes_them(code, written):
    assert sdmx_code(code) == written


def test_names_as_sdmx_writes_them():
    assert identifiers(["region", "é", "1st", "Region", "a b"], ["VALUE"]) == [
        "region",
        "V__",
        "V_1st",
        "Region_",
        "a_b",
    ]
    assert identifiers(["value"], ["VALUE"]) == ["value_"]


@pytest.mark.parametrize(
    ("expected", "found", "message"),
    [
        ({"a": [1, 2]}, '{"a":{"0":1}}', "the entry a is not what the published cells give"),
        ({"a": {"b": 1}}, '{"a":["b"]}', "the entry a is not what the published cells give"),
        ({"a": [1, 2]}, '{"a":"12"}', "the entry a is not what the published cells give"),
        ({"a": "12"}, '{"a":[1,2]}', "the entry a is not what the published cells give"),
        ({"a": "5"}, '{"a":5}', "the entry a is not what the published cells give"),
        ({"a": Digits("5")}, '{"a":"5"}', "the entry a is not what the published cells give"),
        ({"a": None}, '{"a":false}', "the entry a is not what the published cells give"),
        ({"a": [1, 2]}, '{"a":[1]}', "the list a has another length"),
        ({"a": [1, 2]}, '{"a":[1,3]}', "the entry a.1 is not what the published cells give"),
        ({"a": 1, "b": 2}, '{"a":1}', "the entry b is missing"),
        ({"a": 1}, '{"a":1,"b":2}', "the entry b is not one that the release has"),
        ({"a": 1, "b": 2}, '{"b":2,"a":1}', "the file is written in another way than releases are"),
        ({"a": 1}, '{"a":', "JSON"),
    ],
)
def test_where_a_json_file_differs(expected, found, message):
    with pytest.raises(Different, match=message):
        same_json(expected, f"{found}\n".encode())


def test_a_json_file_that_does_not_differ():
    same_json({"a": [1, Digits("5.0"), None, "é"], "b": {}}, '{"a":[1,5.0,null,"é"],"b":{}}\n'.encode())


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (pa.table({"a": ["1"]}), "columns or their types are not those of the release"),
        (pa.table({"a": pa.array([1], pa.int32())}), "columns or their types are not those of the release"),
        (pa.table({"a": [1], "b": [1]}), "the column 'b' is not one that the release has"),
        (pa.table({"a": [1, 1]}), "the file has 2 rows and not 1"),
        (pa.table({"a": [2]}), "column 'a' is not what the published cells give"),
        (pa.table({"a": [1]}).replace_schema_metadata({"who": "Ann"}), r"\(metadata\) is not what the release says"),
    ],
)
def test_where_a_parquet_file_differs(found, message):
    sink = io.BytesIO()
    pq.write_table(found, sink)

    assert re.search(message, _where(pa.table({"a": [1]}), sink.getvalue()))


def test_a_variable_of_one_code_is_written_again_as_it_was(tmp_path):
    """It has nothing to be summed over, which a PX file would say."""
    by = {"region": ds.Hierarchy.flat(["a", "b", "c"]), "only": ds.Hierarchy.flat(["x"], total=None)}
    people = pa.table({"region": ["a"] * 2 + ["b"] * 5 + ["c"] * 9, "only": ["x"] * 16})
    release = ds.protect(ds.tabulate(people, by=by, name="people").assess(ds.MinFrequency(3)), ds.Suppress())
    release.save(tmp_path / "out", formats=["csv", "px"])
    verdict = ds.check_folder(tmp_path / "out")
    assert verdict.holds, verdict
    said = (tmp_path / "out" / "public" / "people.px").read_text(encoding="utf-8")
    assert 'ELIMINATION("region")="Total"' in said
    assert 'ELIMINATION("only")' not in said


@pytest.mark.parametrize(
    ("text", "written"),
    [("", '""'), ('say "a"', "\"say 'a'\""), ("x" * LONGEST, f'"{"x" * LONGEST}"'), ("x" * (LONGEST + 1), None)],
)
def test_texts_as_px_writes_them(text, written):
    """Long ones go on in the next line."""
    assert _string(text) == (written or f'"{"x" * LONGEST}"\n"x"')
