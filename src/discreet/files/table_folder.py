"""Releases of tables as folders: which files they have, and what stands in each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import OutputError, ParameterError, unknown_name
from discreet.files.celltext import code_text_columns, column_text, write_text_columns
from discreet.files.published import FORMATS, Heading, check_formats
from discreet.files.published.sdmx import csv_text, json_text, restricted_observations
from discreet.files.sealing import write_besides, write_evidence, write_json, write_sealed
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import LARGEST, NO_LOWER, NO_UPPER, Ints
from discreet.model.custodian import TableCustodian
from discreet.model.layout import FORMAT, cell_columns, table_description
from discreet.model.public import PublicRelease
from discreet.trust import SigningKey

RESTRICTED = {"sdmx-csv": lambda found, heading: csv_text(found, heading).encode(), "sdmx-json": json_text}
"""Formats of transmissions that carry confidentiality flags."""


def write_tables(
    folder: Path,
    public: PublicRelease,
    custodian: TableCustodian,
    extra: Mapping[str, str] | None = None,
    formats: Sequence[str] = ("csv",),
    restricted: Sequence[str] = (),
    heading: Heading | None = None,
    sign: SigningKey | None = None,
    *,
    replace: bool = False,
) -> str:
    """Write a release into ``folder`` and return its seal.

    Everything is written beside the folder first and put in its place in one step, so that a full disk, an
    interrupt or a crash leaves the old release as it was. A folder that is not a release is never replaced.

    Parameters
    ----------
    folder
        Where the release goes.
    public, custodian
        The two parts.
    extra
        Further text files (path inside the release to its text), for example a report.
    formats
        Formats of the public files, of :data:`~discreet.files.published.FORMATS`; csv is always among them.
    restricted
        Formats of transmissions with true values and confidentiality flags, in ``restricted/``.
    heading
        What some formats state besides the table.
    sign
        The office's key, which signs the list of files.
    """
    formats, heading = check_formats(formats), heading or Heading()
    for name in restricted:
        if name not in RESTRICTED:
            raise ParameterError(unknown_name("format of restricted files", name, RESTRICTED))
    extra = extra or {}

    def fill(staging: Path) -> None:
        _publish(staging, public, custodian, formats, heading)
        _transmit(staging, custodian, restricted, heading)
        _fill(staging, custodian, extra, heading)

    return write_sealed(folder, fill, custodian.key, sign, replace)


def _publish(
    staging: Path, public: PublicRelease, custodian: TableCustodian, formats: Sequence[str], heading: Heading
) -> None:
    """The public files: every table in every format."""
    names = file_names([table.name for table in custodian.whole])
    folder = staging / "public"
    folder.mkdir(mode=0o755)
    for shown in public.tables:
        for name in formats:
            path = folder / f"{names[shown.name]}{FORMATS[name].suffix}"
            if path.exists():
                raise OutputError(f"Two tables would be written to {path.name!r}.", hint="Rename one of the tables.")
            FORMATS[name].write(path, shown, heading)


def _transmit(staging: Path, custodian: TableCustodian, formats: Sequence[str], heading: Heading) -> None:
    """Files for partner offices that may see confidential values, with their flags."""
    if not formats:
        return
    folder = staging / "restricted"
    folder.mkdir(mode=0o700)
    names = file_names([table.name for table in custodian.whole])
    for number, table in enumerate(custodian.tables):
        found = restricted_observations(custodian, number)
        for name in formats:
            (folder / f"{names[table.name]}{FORMATS[name].suffix}").write_bytes(RESTRICTED[name](found, heading))


def _fill(staging: Path, custodian: TableCustodian, extra: Mapping[str, str], heading: Heading) -> None:
    closed = staging / "custodian"
    closed.mkdir(mode=0o700)
    names = file_names([table.name for table in custodian.whole])
    present = len(custodian.tables)
    for number, (table, status) in enumerate(zip(custodian.whole, custodian.whole_status, strict=True)):
        lower, upper = proven_interval(custodian, number)
        mine = custodian.published[number] if custodian.published is not None and number < present else None
        ends = custodian.intervals[number] if custodian.intervals is not None and number < present else None
        columns = cell_columns(table, status, lower, upper, mine, custodian.decimals, ends)
        codes = code_text_columns(table.codes, [h.codes for h in table.spec.hierarchies])
        write_text_columns(
            closed / f"{names[table.name]}.csv",
            [*table.variables, *(column.name for column in columns)],
            [*codes, *(column_text(column) for column in columns)],
        )
    altered = {} if custodian.published is None else {"published_decimals": custodian.decimals}
    description = {
        "format": FORMAT,
        "heading": vars(heading),
        "tables": [{"file": f"{names[t.name]}.csv", **table_description(t), **altered} for t in custodian.tables],
        "equations": [str(equation) for equation in custodian.tables.equations],
        "one_pattern": custodian.tables.one_pattern,
        "evidence": [write_evidence(closed, i, e) for i, e in enumerate(custodian.evidence)],
        "already_published": _already_description(custodian.already, names),
    }
    write_json(closed / "tables.json", description)
    write_besides(staging, custodian.log, custodian.key, extra)


def _already_description(already: AlreadyPublished, names: Mapping[str, str]) -> dict[str, Any]:
    """What was published before or elsewhere, as JSON-ready data; the cells of its tables lie in files of their own."""
    return {
        "tables": [
            {
                "file": f"{names[earlier.table.name]}.csv",
                "release": earlier.release,
                "original": earlier.original,
                **table_description(earlier.table),
            }
            for earlier in already.tables
        ],
        "equations": [str(equation) for equation in already.equations],
        "known": [{**vars(known), "rows": known.rows.tolist()} for known in already.known],
        "figures": [
            {
                "formula": figure.formula,
                "value": figure.value,
                "decimals": figure.decimals,
                "cells": [[table, list(codes)] for table, codes in figure.cells],
            }
            for figure in already.figures
        ],
        "set_apart": list(already.set_apart),
    }


def file_names(names: list[str]) -> dict[str, str]:
    """A file name for every table name: letters, digits, dot, dash and underscore; never two the same."""
    result: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._") or "table"
        plain = f"{plain}_" if plain in ("tables", "log", "manifest", "report", "key") else plain
        while plain.lower() in {used.lower() for used in result.values()}:
            plain += "_"
        result[name] = plain
    return result


def proven_interval(custodian: TableCustodian, number: int) -> tuple[Ints, Ints]:
    """What an attacker cannot rule out of each withheld cell, as far as the certificates show it.

    Published cells are known exactly; of a withheld cell an attacker knows at best the interval given here. Where
    values are altered and nothing is proved of a cell, it is what lies between the true and the published value.
    """
    table = custodian.whole.tables[number]
    lower, upper = table.value.copy(), table.value.copy()
    if custodian.published is not None and number < len(custodian.tables):
        shown, step = custodian.published[number], 10 ** (custodian.decimals - table.decimals)
        lower, upper = np.minimum(lower, shown // step), np.maximum(upper, -(-shown // step))
    for evidence in custodian.evidence:
        c = evidence.certificates
        mine = np.flatnonzero(c.entry_table == number)
        row, which = c.entry_row[mine], np.repeat(np.arange(len(c)), np.diff(c.start))[mine]
        unit = 10 ** (evidence.decimals - table.decimals)
        wide = c.amount.dtype == object or int(c.denominator.max(initial=1)) * unit > LARGEST
        kind: Any = object if wide else np.int64
        divisor = c.denominator[which].astype(kind) * unit
        most = np.minimum(np.abs(c.amount[mine].astype(kind)) // divisor, NO_UPPER).astype(np.int64)
        rises, falls = (np.asarray(way, np.bool_) | c.both[which] for way in (c.amount[mine] > 0, c.amount[mine] < 0))
        np.maximum.at(upper, row[rises], table.value[row[rises]] + most[rises])
        np.minimum.at(lower, row[falls], table.value[row[falls]] - most[falls])
    return np.maximum(lower, NO_LOWER + 1), np.minimum(upper, NO_UPPER - 1)
