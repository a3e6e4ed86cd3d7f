"""Files of others fail with an error of ours that names them, however they are damaged, and before memory runs out."""

from __future__ import annotations

import random
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet import keys
from discreet.errors import DiscreetError, InputError, ParameterError
from discreet.files.foreign import read_published
from discreet.files.frames import PART, file_columns, read_columns
from discreet.files.hrc import read_code_map, read_labels
from discreet.methods.registry import METHODS
from discreet.recipe.schema import read_recipe, recipe_text
from discreet.rules.base import REGISTRY
from tests.faults.making import RECIPE, recipe_in

ENDS = ("read", "refused")


def outcome(read: Callable[[], object]) -> str:
    """How reading ended; any other error is a fault."""
    try:
        read()
    except DiscreetError as error:
        return "refused" if error.message else "refused without a word"
    return "read"


# ---- codes of large files -------------------------------------------------------------------------------------


def large_csv(folder: Path) -> Path:
    """Records of more than one of the pieces that a csv file is read in, with other codes at the end than before."""
    rows = [f"{'NS'[i % 2]},{i % 90 + 1},{'A' * 30}\n" for i in range(40_000)] + ["W,7,B\n", "W,8,B\n"]
    path = folder / "records.csv"
    path.write_text("region,turnover,firm\n" + "".join(rows))
    assert path.stat().st_size > 2**20
    return path


def large_parquet(folder: Path) -> Path:
    """Records of more than one part that row groups are read in, each with codes of its own."""
    path = folder / "records.parquet"
    first = pa.table({"region": ["N", "S"] * (PART // 2), "turnover": [1] * PART})
    with pq.ParquetWriter(path, first.schema) as writer:
        for table in (first, pa.table({"region": ["S", "W"] * 500, "turnover": [1] * 1000})):
            writer.write_table(table, row_group_size=PART)
    return path


@pytest.mark.parametrize("large", [large_csv, large_parquet])
def test_a_large_file_needs_no_hierarchy_to_be_stated(tmp_path, large):
    recipe = recipe_in(tmp_path)
    path = large(tmp_path)
    text = RECIPE.replace("records.csv", path.name).replace('contributor = "firm"\n', "")
    recipe.write_text(text.replace('["activity", "region"]', '["region"]'))
    done = ds.run_recipe(recipe)
    assert done.release.public.tables[0].code_lists[0] == ("Total", "N", "S", "W")


# ---- recipes --------------------------------------------------------------------------------------------------


def test_a_recipe_that_is_not_text_is_refused_by_name(tmp_path):
    (tmp_path / "recipe.toml").write_bytes(RECIPE.encode() + b"# \xe4\n")
    with pytest.raises(InputError, match=r"'recipe.toml' is not UTF-8 text: byte \d+"):
        recipe_text(tmp_path / "recipe.toml")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(RECIPE) - 1), st.binary(max_size=6), st.integers(0, 30))
def test_a_damaged_recipe_is_read_or_refused(tmp_path_factory, at, put, cut):
    path = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    content = RECIPE.encode()
    path.write_bytes(content[:at] + put + content[at + cut :])
    assert outcome(lambda: read_recipe(recipe_text(path))) in ENDS


VALUES = [
    "0",
    "-1",
    "3",
    "0.5",
    "1e400",
    "nan",
    "inf",
    "true",
    "[]",
    "{}",
    "[[]]",
    '""',
    '"x"',
    "1979-05-27",
    "07:32:00",
    "[1,'a']",
    "{a=1}",
    "99999999999999999999",
    '"\\u0000"',
    '"Total"',
    "[true]",
    '["N","N"]',
    "{file=3}",
    "[{a=1}]",
    "[[1,2],[3]]",
    '"value"',
    "[nan]",
    '{a="b"}',
    "{a=[1]}",
]


def parameters(draw: random.Random, kinds: dict, tag: str) -> str:
    kind = draw.choice(sorted(kinds))
    chosen = [
        f"{field.name} = {draw.choice(VALUES)}\n" for field in fields(kinds[kind]) if field.init and draw.random() < 0.2
    ]
    return "".join([f'{tag} = "{kind}"\n', *chosen])


def test_parameters_of_any_kind_are_taken_or_refused_by_name():
    draw, ends = random.Random(1), Counter[str]()
    for _ in range(1500):
        if draw.random() < 0.5:
            text = RECIPE.replace('kind = "p_percent"\np = 10\n', parameters(draw, REGISTRY, "kind"))
        else:
            text = RECIPE.replace('method = "suppress"\n', parameters(draw, METHODS, "method"))
        ends[outcome(partial(read_recipe, text))] += 1
    assert min(ends[end] for end in ENDS) > 10


def test_a_method_without_a_parameter_that_it_needs_says_which():
    with pytest.raises(ParameterError, match="'round' needs base"):
        read_recipe(RECIPE.replace('"suppress"', '"round"'))
    with pytest.raises(ParameterError, match=r"threshold=\[\] is not allowed. Give a whole number"):
        read_recipe(RECIPE.replace('"suppress"', '"redistribute"\nthreshold = []'))


@pytest.mark.parametrize("name", ["\\u0000", "a" * 300, "a/" * 3000])
def test_a_path_that_cannot_be_is_refused_by_name(tmp_path, name):
    recipe = recipe_in(tmp_path)
    recipe.write_text(RECIPE.replace("records.csv", name))
    with pytest.raises(DiscreetError, match=r"cannot be a file|There is no file"):
        ds.run_recipe(recipe)


# ---- csv and xlsx ---------------------------------------------------------------------------------------------


def test_bare_carriage_returns_are_refused_by_name(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"region,x\rN,1\rS,2\r")
    for read in (lambda: file_columns(path), lambda: read_columns(path, ["region"])):
        with pytest.raises(InputError, match=r"'old.csv' ends lines with bare carriage returns"):
            read()


def test_a_first_line_without_end_is_refused_before_it_is_read_whole(tmp_path):
    path = tmp_path / "zeros.csv"
    with path.open("wb") as stream:
        stream.truncate(2**28)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"first line of 'zeros\.csv' is longer"):
            file_columns(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_as_csv_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("csv") / "any.csv"
    path.write_bytes(b"region,x\nN,1\n"[: len(content)] + content)
    readers = (
        lambda: read_columns(path, ["region", "x"], text=["region"]),
        lambda: read_published(path, ["region"], "x"),
        lambda: read_labels(path),
        lambda: read_code_map(path),
    )
    for read in readers:
        assert outcome(read) in ENDS


def test_a_small_workbook_with_a_giant_cell_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.xlsx"
    sheet = "xl/worksheets/sheet1.xml"
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "plain.xlsx")
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != sheet:
                new.writestr(name, old.read(name))
        with new.open(sheet, "w") as stream:
            stream.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')
            stream.write(b'<row r="1"><c r="A1" t="inlineStr"><is><t>')
            for _ in range(100):
                stream.write(b"a" * 2**20)
            stream.write(b"</t></is></c></row></sheetData></worksheet>")
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="longer than an xlsx cell"):
            read_published(path, ["region"], "x")
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


# ---- keys -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=32, max_size=32), st.integers(20, 130), st.sampled_from(["", " ", "\n", "g", ":", "'"]))
def test_no_error_shows_any_part_of_a_key(secret, length, ending):
    text = (secret.hex() * 3)[:length] + ending
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(keys.VARIABLE, text)
        try:
            keys.find_key(None, None)
        except InputError as error:
            said = f"{error} {error.details}"
            assert not any(text[i : i + 8] in said for i in range(length - 8))
        else:
            assert len(text.strip()) == 64
        if ending not in ("\n",):
            with pytest.raises(InputError) as refused:
                keys.find_key(text, None)
            assert not any(text[i : i + 8] in str(refused.value) for i in range(length - 8))


def test_a_key_file_is_a_file_of_its_owner_alone(tmp_path, monkeypatch):
    path = tmp_path / "key.txt"
    path.write_text("ab" * 32 + "\n")
    path.chmod(0o640)
    monkeypatch.setenv(keys.VARIABLE, str(path))
    with pytest.raises(InputError, match=r"may be read by others.*chmod 600"):
        keys.find_key(None, None)
    path.chmod(0o600)
    assert keys.find_key(None, None) == keys.Key.from_file(path)
    with pytest.raises(InputError, match="is not a file"):
        keys.Key.from_file(tmp_path)
    with pytest.raises(InputError, match=r"'none\.txt' does not exist"):
        keys.Key.from_file(tmp_path / "none.txt")
