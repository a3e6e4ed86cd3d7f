"""Records that a party brings, and transcripts of what it was told, as files."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from discreet.errors import InputError
from discreet.files.new_file import new_file
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Message, Transcript

LINE_BYTES = 2**31


def read_party_records(file: Path, text_columns: Sequence[str] = ()) -> dict[str, Any]:
    """Columns of a csv or Parquet file; those named stay text, so that leading zeros are kept.

    Raises
    ------
    InputError
        When it is not there, of another kind, or cannot be read.
    """
    if not file.is_file():
        raise InputError(f"There is no file {file.name!r}.", hint="Give the file of your records.")
    try:
        if file.suffix == ".parquet":
            table = parquet.read_table(file)
        elif file.suffix == ".csv":
            table = _read_csv(file, text_columns)
        else:
            raise InputError(f"{file.name!r} is neither csv nor Parquet.", hint="Save the records as one of them.")
    except pa.ArrowException:
        raise InputError(f"The file {file.name!r} cannot be read.", hint="Save it again as csv or Parquet.") from None
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _read_csv(file: Path, text_columns: Sequence[str]) -> pa.Table:
    """A csv file; columns of whole numbers of which some begin with a zero stay text."""

    def read(names: Sequence[str]) -> pa.Table:
        options = arrow_csv.ConvertOptions(column_types={name: pa.string() for name in names})
        return arrow_csv.read_csv(file, convert_options=options)

    table = read(text_columns)
    whole = [one.name for one in table.schema if pa.types.is_integer(one.type)]
    if not whole:
        return table
    plain = read(whole)
    padded = [name for name in whole if compute.any(compute.match_substring_regex(plain[name], r"^\s*0\d")).as_py()]
    return read([*text_columns, *padded]) if padded else table


def write_rows(file: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write rows to a new csv or Parquet file, which only its owner may read."""
    table = pa.table({name: [row[name] for row in rows] for name in columns})
    with new_file(file) as stream:
        if file.suffix == ".parquet":
            parquet.write_table(table, stream)
        else:
            arrow_csv.write_csv(table, stream)


def require_new(file: Path | None, *endings: str) -> None:
    """Refuse a file to be written that is there, or of another kind, before a run begins."""
    if file is None:
        return
    if file.exists():
        raise InputError(f"The file {file.name!r} exists.", hint="Choose another name, or remove it.")
    if endings and file.suffix not in endings:
        raise InputError(f"{file.name!r} has none of the endings {', '.join(endings)}.", hint="Use one of them.")
    if not file.resolve().parent.is_dir():
        raise InputError(f"The folder of {file.name!r} is not there.", hint="Make it first.")


def save_transcript(record: Transcript, file: Path) -> None:
    """Write a transcript for auditors: one message a line, with its length and digest.

    What a party was told may show its own part of a sum: only its owner may read the file.
    """
    with new_file(file) as stream:
        for one in record.messages:
            line = {
                "from": one.sender,
                "to": one.receiver,
                "what": one.what,
                "bytes": len(one.body),
                "sha256": hashlib.sha256(one.body).hexdigest(),
                "body": base64.b64encode(one.body).decode(),
            }
            stream.write(json.dumps(line).encode() + b"\n")


def load_transcript(file: Path) -> Transcript:
    """Read a transcript, and see that no message of it was changed."""
    found = Transcript()
    with file.open("rb") as stream:
        for line in stream:
            one = json.loads(line)
            body = base64.b64decode(one["body"])
            if len(body) != one["bytes"] or hashlib.sha256(body).hexdigest() != one["sha256"]:
                raise ProtocolError("tampered", "A message of the transcript was changed.")
            found.messages.append(Message(one["from"], one["to"], one["what"], body))
    return found
