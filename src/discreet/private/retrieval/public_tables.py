"""Published tables as records for private retrieval. Only ``public/`` is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, listed

MARK = "\x1f"
"""Stands between the fields of a record."""
FIELDS = ("value", "lower", "upper", "status")


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its code columns, and what stands in its cells.

    Parameters
    ----------
    name
        Its name.
    variables
        Its code columns.
    fields
        What a cell has: ``value``, ends of an interval if any, ``status``.
    columns
        Texts, column by column.
    """

    name: str
    variables: tuple[str, ...]
    fields: tuple[str, ...]
    columns: dict[str, list[str]]

    def cells(self) -> Iterator[tuple[bytes, bytes]]:
        """The key of every cell, and its record."""
        codes = zip(*(self.columns[name] for name in self.variables), strict=True)
        texts = zip(*(self.columns[name] for name in self.fields), strict=True)
        for code, text in zip(codes, texts, strict=True):
            yield key_of(self.name, code), MARK.join(text).encode()


def key_of(table: str, codes: Sequence[str]) -> bytes:
    """What a cell is looked up by: table and codes, in the order of the table's variables.

    Examples
    --------
    >>> key_of("turnover", ["food", "East"])
    b'["turnover","food","East"]'
    """
    return json.dumps([table, *codes], ensure_ascii=False, separators=(",", ":")).encode()


def public_folder(folder: str | Path) -> Path:
    """The public part of a saved release, given as the release or as that part itself."""
    given = Path(folder)
    inner = given / "public"
    found = inner if inner.is_dir() else given
    if not found.is_dir():
        raise InputError(f"There is no folder {given.name!r}.", hint="Give a saved release, or its folder 'public'.")
    if found.name != "public":
        raise InputError(
            f"The folder {given.name!r} is no saved release and not its public part.",
            hint="Give a saved release, or its folder 'public'.",
        )
    return found


def read_public_tables(folder: str | Path) -> list[PublishedTable]:
    """All tables of the public part of a release.

    Raises
    ------
    InputError
        When there is none, or a file is no public table.
    """
    files = sorted(path for path in public_folder(folder).iterdir() if path.suffix == ".csv")
    if not files:
        raise InputError("There is no public table (csv).", hint="Save a release of tables first.")
    return [_read(path) for path in files]


def _read(path: Path) -> PublishedTable:
    import pyarrow as pa
    from pyarrow import csv

    try:
        with path.open("rb") as stream:
            names = next(_rows(stream.readline().decode("utf-8-sig")))
        types = dict.fromkeys(names, pa.string())
        options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        table: Any = csv.read_csv(path, convert_options=options)
    except (pa.ArrowInvalid, UnicodeDecodeError, StopIteration):
        raise InputError(f"The file {path.name!r} cannot be read as csv.", hint="Save the release again.") from None
    fields = tuple(name for name in FIELDS if name in names)
    variables = tuple(name for name in names if name not in FIELDS)
    if not {"value", "status"} <= set(fields) or not variables or len(set(names)) < len(names):
        raise InputError(
            f"The file {path.name!r} is no public table: it has the columns {listed(names)}.",
            hint="Private retrieval serves tables; they have code columns, 'value' and 'status'.",
        )
    columns = {name: table.column(name).to_pylist() for name in names}
    if any("\0" in text or MARK in text for column in columns.values() for text in column):
        raise InputError(f"The file {path.name!r} has control characters.", hint="Save the release again.")
    return PublishedTable(path.stem, variables, fields, columns)


def _rows(line: str) -> Iterator[list[str]]:
    import csv

    return csv.reader([line])
