"""Public records in the formats that offices publish in. Every writer takes ``PublicRecords`` and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from discreet.errors import ParameterError, missing_extra, unknown_name
from discreet.files.records.csv import write_csv
from discreet.files.records.parquet import write_parquet
from discreet.model.records import PublicRecords


class RecordFormat(NamedTuple):
    """How files of a format end, what writes them, and what must be installed for it (one of the packages of each)."""

    suffix: str
    write: Callable[[Path, PublicRecords], None]
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()


RECORD_FORMATS = {
    "csv": RecordFormat(".csv", write_csv),
    "parquet": RecordFormat(".parquet", write_parquet),
}
"""Formats of public files of records by name."""


def check_record_formats(names: Sequence[str]) -> tuple[str, ...]:
    """The formats to write, csv first and always; one whose package is not installed is refused before any work."""
    for name in names:
        if name not in RECORD_FORMATS:
            raise ParameterError(unknown_name("format", name, RECORD_FORMATS, "those of records"))
        for extra, packages in RECORD_FORMATS[name].needs:
            if not any(find_spec(package) for package in packages):
                raise missing_extra(packages[0], extra, f"Writing {RECORD_FORMATS[name].suffix} files")
    return tuple(dict.fromkeys(["csv", *names]))
