"""Reading SPSS, Stata and SAS files in a process of its own: one question on the way in, an Arrow stream out."""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from string import ascii_letters
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat"}
LETTERED = (".dta", ".sas7bdat")
"""Files whose missing numbers may have a letter: ``.a`` to ``.z``."""
MEASURES = ("nominal", "ordinal", "scale")
"""Levels of measurement that SPSS knows."""
ZERO_PADDED = re.compile(r"(?:N|Z|%0)(\d+)")
"""Formats that show numbers with leading zeros: N3 of SPSS, Z3. of SAS, %03.0f of Stata."""
DURATION = re.compile("D?TIME[0-9]|%tc[HhMmSs]")
WIDEST = 40
"""Leading zeros of a code are at most so many."""
ROOM, ROOM_FOR_A_BYTE = 4 * 2**30, 500
"""Memory that reading may take, and more for every byte of the file; damaged files may ask for any amount."""


def main() -> None:
    """Answer one question; what cannot be read ends the process with an error."""
    import pyarrow as pa

    question = json.load(sys.stdin)
    path = Path(question["path"])
    most = ROOM + ROOM_FOR_A_BYTE * path.stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if "wanted" in question:
        whole = record_columns if question.get("records") else columns
        table = whole(path, question["wanted"], question["codes"])
    else:
        table = pa.table({}).replace_schema_metadata({"about": json.dumps(metadata(path))})
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def metadata(path: Path) -> dict[str, Any]:
    """What a file says of its variables."""
    _, about = _read(path, metadataonly=True, user_missing=True)
    formats = {name: kind for name, kind in about.original_variable_types.items() if kind}
    missing: dict[str, list[tuple[Any, Any]]] = {}
    for variable, ranges in about.missing_ranges.items():
        missing[variable] = [(_finite(part["lo"]), _finite(part["hi"])) for part in ranges]
    letters: Sequence[str] = ()
    if path.suffix.lower() in LETTERED:
        letters = [*ascii_letters, "_"]
        numeric = [name for name, kind in about.readstat_variable_types.items() if kind != "string"]
        missing.update({name: [(f".{letter}", f".{letter}") for letter in letters] for name in numeric})
    words = {
        variable: {_text(code, formats.get(variable, ""), letters) or "": str(text) for code, text in labels.items()}
        for variable, labels in about.variable_value_labels.items()
    }
    labels = {name: text for name, text in about.column_names_to_labels.items() if text}
    return {
        "columns": list(about.column_names),
        "labels": labels,
        "value_labels": words,
        "missing": missing,
        "formats": formats,
        "measures": {name: level for name, level in about.variable_measure.items() if level in MEASURES},
    }


def columns(path: Path, wanted: Sequence[str], codes: Iterable[str]) -> pa.Table:
    """Columns of a file, those of codes as text."""
    import pyarrow as pa

    text = [name for name in wanted if name in set(codes)]
    rest = [name for name in wanted if name not in text]
    found: dict[str, Any] = {}
    if text:
        data, about = _read(path, usecols=text, user_missing=True)
        for name in text:
            kind, letters = about.original_variable_types.get(name) or "", about.missing_user_values.get(name, ())
            made: dict[Any, str | None] = {}
            column = [
                made[item] if item in made else made.setdefault(item, _text(item, kind, letters)) for item in data[name]
            ]
            found[name] = pa.array(column, pa.string()).dictionary_encode()
    if rest:
        data, _ = _read(path, usecols=rest)
        for name in rest:
            found[name] = _plain(data[name])
    return pa.table({name: found[name] for name in wanted})


def record_columns(path: Path, wanted: Sequence[str], codes: Iterable[str]) -> pa.Table:
    """Columns of a file with their codes for "unknown": codes as text, dates and times as such, the rest as it is.

    Durations stay numbers: as times of the day those above 24 hours would be cut.
    """
    import pyarrow as pa

    text = set(codes)
    data, about = _read(path, usecols=list(wanted), user_missing=True)
    formats = {name: about.original_variable_types.get(name) or "" for name in wanted}
    durations = [name for name in wanted if DURATION.match(formats[name])]
    if durations:
        raw, _ = _read(path, usecols=durations, user_missing=True, disable_datetime_conversion=True)
        data.update(raw)
    found: dict[str, Any] = {}
    for name in wanted:
        values, letters = data[name], about.missing_user_values.get(name, ())
        if any(isinstance(item, date) for item in values):
            found[name] = pa.array([_rounded(item) if isinstance(item, date) else None for item in values])
        elif name in text or (letters and any(isinstance(item, str) and item in letters for item in values)):
            made = {item: _text(item, formats[name], letters) for item in set(values) if item == item}
            found[name] = pa.array([made.get(item) for item in values], pa.string())
        else:
            found[name] = _plain(values)
    return pa.table(found)


def _rounded(moment: date) -> date:
    """Times to the thousandth of a second: SPSS holds seconds as floating-point numbers."""
    if not isinstance(moment, datetime):
        return moment
    return moment.replace(microsecond=0) + timedelta(milliseconds=round(moment.microsecond / 1000))


def _finite(end: Any) -> Any:
    """An open end of a range as the largest number there is, which JSON can hold."""
    if isinstance(end, str):
        return end
    return max(-sys.float_info.max, min(end, sys.float_info.max))


def _read(path: Path, **options: Any) -> tuple[Any, Any]:
    import pyreadstat

    read = getattr(pyreadstat, READERS[path.suffix.lower()])
    return read(str(path), output_format="dict", **options)  # type: ignore[no-any-return]


def code_of(value: Any, kind: str) -> str:
    """A value as a code: whole numbers without a point, with the leading zeros of their format."""
    if isinstance(value, float | int) and float(value).is_integer():
        padded = ZERO_PADDED.match(kind)
        width = min(int(padded[1]), WIDEST) if padded else 0
        return f"{int(value):0{width}d}"
    return value.rstrip(" ") if isinstance(value, str) else str(value)


def _text(value: Any, kind: str, letters: Sequence[str]) -> str | None:
    if value is None or value != value or value == "":
        return None
    if isinstance(value, str) and value in letters:
        return f".{value}"
    return code_of(value, kind) or None


def _plain(values: Any) -> pa.Array:
    """Numbers or text as they are; whole numbers as integers, so that they can name contributors."""
    import pyarrow as pa

    items = [None if item is None or item != item or item == "" else item for item in values]
    if any(isinstance(item, str) for item in items):
        return pa.array([None if item is None else str(item) for item in items], pa.string())
    column = pa.array(items)
    if pa.types.is_floating(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column
    return column


if __name__ == "__main__":
    main()
