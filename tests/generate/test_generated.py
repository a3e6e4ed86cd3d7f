"""What is written can be read back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.errors import InputError
from discreet.generate import Generated, business_survey, census_population


def read_hrc(file: Path) -> dict[str, str]:
    parents: dict[str, str] = {}
    path = ["Total"]
    for line in file.read_text(encoding="utf-8").splitlines():
        code = line.lstrip("@")
        depth = len(line) - len(code)
        assert depth < len(path)
        parents[code] = path[depth]
        path[depth + 1 :] = [code]
    return parents


@pytest.fixture(scope="module", params=[business_survey, census_population])
def generated(request) -> Generated:
    return request.param(300)


def test_hrc_files_hold_the_trees(generated, tmp_path):
    written = generated.write(tmp_path / "new" / "folder")
    assert [file.name for file in written] == [
        "records.parquet",
        *(f"{name}.hrc" for name in generated.parents),
    ]
    for name, parents in generated.parents.items():
        assert read_hrc(tmp_path / "new" / "folder" / f"{name}.hrc") == parents


def test_parquet_returns_the_same_records(generated, tmp_path):
    file = generated.write(tmp_path)[0]
    assert pa.parquet.read_table(file).to_pydict() == generated.records.to_pydict()


def test_csv_returns_the_same_records(generated, tmp_path):
    file = generated.write(tmp_path, format="csv")[0]
    types = {
        field.name: pa.string() if pa.types.is_dictionary(field.type) else field.type
        for field in generated.records.schema
    }
    read = pa.csv.read_csv(file, convert_options=pa.csv.ConvertOptions(column_types=types))
    assert read.to_pydict() == generated.records.to_pydict()


def test_an_unknown_format_is_refused_before_anything_is_written(generated, tmp_path):
    with pytest.raises(InputError, match="There is no format 'xml'"):
        generated.write(tmp_path / "none", format="xml")
    assert not (tmp_path / "none").exists()


def test_repr_is_short_and_says_what_is_there(generated):
    assert repr(generated).startswith("Generated(300 records; base codes: ")
    assert len(repr(generated)) < 200


def test_code_columns_are_dictionary_encoded(generated):
    for name in generated.parents:
        assert pa.types.is_dictionary(generated.records.schema.field(name).type)
