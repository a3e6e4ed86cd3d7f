"""Labelled files of records for tests, and what must survive of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.files import statistical_child as child
from discreet.model.records import RecordSet, code_text, stands_for_unknown

KINDS = ("codes", "padded", "amount", "word", "day", "moment", "counted")
SEX = {1.0: "male", 2.0: "female", 9.0: "not said"}


def write_survey(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    """An SPSS file with every kind of variable; ``changed`` is the column that is recoded later."""
    frame = pl.DataFrame(
        {
            "sex": [row["codes"] for row in rows],
            "place": [row["padded"] for row in rows],
            "income": [row["amount"] for row in rows],
            "job": [row["word"] for row in rows],
            "born": [row["day"] for row in rows],
            "asked": [row["moment"] for row in rows],
            "children": [row["counted"] for row in rows],
            "changed": [row["codes"] for row in rows],
        },
        schema=dict.fromkeys(["sex", "place", "income"], pl.Float64)
        | {"job": pl.String}
        | dict.fromkeys(["born", "asked", "children", "changed"], pl.Float64),
    )
    settings: dict[str, Any] = {
        "column_labels": {"sex": "Sex of the person", "job": "Beruf, wörtlich", "income": "Income in €"},
        "variable_value_labels": {
            "sex": SEX,
            "changed": SEX,
            "place": {7.0: "Aa", 12.0: "Bé"},
            "job": {"x": "no answer", "cook": "Köchin, Koch"},
            "income": {-1.0: "refused"},
        },
        "missing_ranges": {
            "sex": [9.0],
            "changed": [9.0],
            "place": [{"lo": 90.0, "hi": 99.0}, 7.0],
            "job": ["x"],
            "income": [-1.0],
        },
        "variable_format": {
            "sex": "F1.0",
            "place": "N3",
            "income": "F9.2",
            "born": "EDATE10",
            "asked": "DATETIME20",
            "children": "F2.0",
            "changed": "F1.0",
        },
    }
    pyreadstat.write_sav(frame, str(path), **{**settings, **options})
    return path


def survey_rows(count: int = 30) -> list[dict[str, Any]]:
    """Rows with gaps and codes for "unknown" in every kind of variable."""
    seconds = 86_400.0
    return [
        {
            "codes": [1.0, 2.0, 9.0, None][i % 4],
            "padded": [7.0, 12.0, 95.0, 345.0, None][i % 5],
            "amount": [-1.0, 12.25, 1000.0, None, 0.1][i % 5],
            "word": ["x", "cook", "smith", "=1+1", None][i % 5],
            "day": None if i % 7 == 0 else (150_000 + i % 3) * seconds,
            "moment": None if i % 6 == 0 else 150_000 * seconds + 61.0 * (i % 4),
            "counted": [0.0, 1.0, 2.0, None][i % 4],
        }
        for i in range(count)
    ]


def read_sav(path: Path) -> ds.Microdata:
    """The survey with roles: two keys, one that is changed, and the rest without."""
    return ds.Microdata(path, keys=["sex", "place", "changed"], sensitive=["job"], numeric=["income"])


def released(data: ds.Microdata, folder: Path, formats: list[str]) -> Path:
    """A release of the records in their order, with one column recoded; the folder of its public files."""
    release = ds.protect(
        data.with_(keys=(), sensitive=(*data.keys, *data.sensitive)),
        ds.Recode("changed", map={"1": "one", "2": "two"}),
        keep_order=True,
    )
    release.save(folder, formats=formats)
    verdict = ds.check_folder(folder)
    assert verdict.holds, verdict
    return folder / "public"


def read_back(public: Path, kind: str) -> RecordSet:
    """Public records in one format, read as records again."""
    if kind == "asc":
        read = ds.read_argus(public / "records.asc", public / "records.rda", records=True)
        return read_record_set(read.microdata.with_(numeric=["income"]))
    roles = {"sensitive": ["sex", "place", "job", "changed"], "numeric": ["income"]}
    return read_record_set(ds.Microdata(public / f"records.{kind}", **roles))


def in_process(path: Path, request: Mapping[str, Any]) -> dict[Any, Any]:
    """What the process that reads files of statistical packages answers, without starting one each time."""
    if "wanted" not in request:
        return {b"about": json.dumps(child.metadata(path))}
    read = child.record_columns if request.get("records") else child.columns
    return {"table": read(path, request["wanted"], request["codes"])}


def codes(records: RecordSet, name: str) -> list[str | None]:
    """A column as codes, whatever its type."""
    return [None if value is None else code_text(value) for value in records[name].to_pylist()]


def unknown(records: RecordSet, name: str) -> set[str]:
    """Which codes of a column stand for "unknown"."""
    ranges = records.about(name).missing
    found = {value for value in records[name].unique().to_pylist() if value is not None}
    return {code_text(value) for value in found if stands_for_unknown(value, ranges)}
