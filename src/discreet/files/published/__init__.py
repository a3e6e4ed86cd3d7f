"""Public tables in the formats that offices publish in. Every writer takes a ``PublicTable`` and nothing else of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from discreet.errors import OutputError, ParameterError, listed, missing_extra, unknown_name
from discreet.files.published.csv import write_csv
from discreet.files.published.heading import Heading
from discreet.files.published.jsonstat import write_jsonstat
from discreet.files.published.parquet import write_parquet
from discreet.files.published.px import write_px
from discreet.files.published.sdmx import write_sdmx_csv, write_sdmx_json
from discreet.files.published.stat import write_dta, write_sav
from discreet.files.published.xlsx import write_xlsx
from discreet.files.records import write_record_file
from discreet.model.public import PublicRelease, PublicTable
from discreet.stopping import uninterrupted, written

__all__ = ["FORMATS", "Heading", "check_formats", "write_public"]


class Format(NamedTuple):
    """How files of a format end, what writes them, and what must be installed for it (one of the packages of each)."""

    suffix: str
    write: Callable[[Path, PublicTable, Heading], None]
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()


STAT = (("stat", ("pyreadstat",)), ("frames", ("polars", "pandas")))
FORMATS = {
    "csv": Format(".csv", write_csv),
    "xlsx": Format(".xlsx", write_xlsx, (("xlsx", ("xlsxwriter",)),)),
    "jsonstat": Format(".jsonstat.json", write_jsonstat),
    "sdmx-csv": Format(".sdmx.csv", write_sdmx_csv),
    "sdmx-json": Format(".sdmx.json", write_sdmx_json),
    "px": Format(".px", write_px),
    "parquet": Format(".parquet", write_parquet),
    "sav": Format(".sav", write_sav, STAT),
    "dta": Format(".dta", write_dta, STAT),
}
"""Formats of publication by name."""


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """The formats to write, csv first and always: it is what the checker holds the others against.

    One whose package is not installed is refused here, before any work is done.
    """
    for name in names:
        if name not in FORMATS:
            raise ParameterError(unknown_name("format", name, FORMATS))
        for extra, packages in FORMATS[name].needs:
            if not any(find_spec(package) for package in packages):
                raise missing_extra(packages[0], extra, f"Writing {FORMATS[name].suffix} files")
    return tuple(dict.fromkeys(["csv", *names]))


def write_public(
    public: PublicRelease | PublicTable,
    path: str | Path,
    format: str | None = None,
    *,
    table: str | None = None,
    heading: Heading | None = None,
) -> Path:
    """Write a public table, or public records, in a format of publication.

    Parameters
    ----------
    public
        ``release.public``, or one table of it; a release as a whole is refused, so that nothing else can slip out.
    path
        The file.
    format
        ``"csv"``, ``"xlsx"``, ``"jsonstat"``, ``"sdmx-csv"``, ``"sdmx-json"``, ``"px"``, ``"parquet"``, ``"sav"`` or
        ``"dta"``; for records ``"csv"``, ``"parquet"``, ``"sav"``, ``"dta"``, ``"xlsx"`` or ``"asc"``, which writes a
        description and lists of codes beside its file. By default what the name of the file ends with.
    table
        Which table, where there are several.
    heading
        Agency, units, source and time that some formats state.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> release = ds.protect(table, ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(ds.write_public(release.public, f"{folder}/safe.px").read_text().splitlines()[-4])
    400 ".." 80 ".."
    """
    path = Path(path)
    if isinstance(public, PublicRelease) and public.records is not None:
        return write_record_file(public.records, path, format)
    if isinstance(public, PublicRelease):
        if table is None and len(public.tables) > 1:
            raise ParameterError(
                "The release has several tables.", hint=f"Say which: table={listed([t.name for t in public.tables])}."
            )
        chosen = public.tables[0] if table is None else public[table]
    elif isinstance(public, PublicTable):
        chosen = public
    else:
        raise ParameterError(
            f"Cannot publish a {type(public).__name__}.", hint="Give release.public: only that holds no secrets."
        )
    format = _format_of(path) if format is None else format
    kind = FORMATS[check_formats([format])[-1]]
    try:  # beside its place first, so that nothing is half written
        with tempfile.TemporaryDirectory(dir=path.parent) as beside:
            kind.write(Path(beside) / path.name, chosen, heading or Heading())
            with uninterrupted():
                (Path(beside) / path.name).replace(path)
                written(path)
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror or error}.", hint="Check the folder.") from None
    return path


def _format_of(path: Path) -> str:
    """The format that the name of a file ends with."""
    found = next((name for name, kind in reversed(FORMATS.items()) if path.name.endswith(kind.suffix)), None)
    if found is None:
        raise ParameterError(
            f"The name {path.name!r} does not say which format is meant.", hint=f"Give format={listed(FORMATS)}."
        )
    return found
