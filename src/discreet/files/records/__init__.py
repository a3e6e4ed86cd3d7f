"""Public records in the formats that offices publish in. Every writer takes ``PublicRecords`` and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from discreet.errors import OutputError, ParameterError, listed, missing_extra, unknown_name
from discreet.files.records.argus import write_asc
from discreet.files.records.csv import write_csv
from discreet.files.records.parquet import write_parquet
from discreet.files.records.stat import write_dta, write_sav
from discreet.files.records.xlsx import write_xlsx
from discreet.model.records import PublicRecords
from discreet.stopping import uninterrupted, written


class RecordFormat(NamedTuple):
    """How files of a format end, what writes them, and what must be installed for it (one of the packages of each)."""

    suffix: str
    write: Callable[[Path, PublicRecords], None]
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()


STAT = (("stat", ("pyreadstat",)), ("frames", ("polars", "pandas")))
RECORD_FORMATS = {
    "csv": RecordFormat(".csv", write_csv),
    "parquet": RecordFormat(".parquet", write_parquet),
    "sav": RecordFormat(".sav", write_sav, STAT),
    "dta": RecordFormat(".dta", write_dta, STAT),
    "xlsx": RecordFormat(".xlsx", write_xlsx, (("xlsx", ("xlsxwriter",)),)),
    "asc": RecordFormat(".asc", write_asc),
}
"""Formats of public files of records by name; ``asc`` writes a description and lists of codes beside its file."""


def check_record_formats(names: Sequence[str]) -> tuple[str, ...]:
    """The formats to write, csv first and always; one whose package is not installed is refused before any work."""
    for name in names:
        if name not in RECORD_FORMATS:
            raise ParameterError(unknown_name("format", name, RECORD_FORMATS, "those of records"))
        for extra, packages in RECORD_FORMATS[name].needs:
            if not any(find_spec(package) for package in packages):
                raise missing_extra(packages[0], extra, f"Writing {RECORD_FORMATS[name].suffix} files")
    return tuple(dict.fromkeys(["csv", *names]))


def write_record_file(records: PublicRecords, path: Path, format: str | None = None) -> Path:
    """Write public records in a format, by default the one that the name of the file ends with."""
    if format is None:
        format = next((name for name, kind in RECORD_FORMATS.items() if path.name.endswith(kind.suffix)), None)
        if format is None:
            raise ParameterError(
                f"The name {path.name!r} does not say which format is meant.",
                hint=f"Give format={listed(RECORD_FORMATS)}.",
            )
    kind = RECORD_FORMATS[check_record_formats([format])[-1]]
    try:  # beside its place first, so that nothing is half written
        with tempfile.TemporaryDirectory(dir=path.parent) as beside:
            kind.write(Path(beside) / path.name, records)
            with uninterrupted():
                for file in sorted(Path(beside).iterdir()):
                    file.replace(path.with_name(file.name))
                    written(path.with_name(file.name))
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror or error}.", hint="Check the folder.") from None
    return path
