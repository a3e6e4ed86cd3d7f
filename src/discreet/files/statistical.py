"""Records of SPSS, Stata and SAS files, with their labels, missing codes and formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_letters
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat"}
LETTERED = (".dta", ".sas7bdat")
"""Files whose missing numbers may have a letter: ``.a`` to ``.z``."""
ZERO_PADDED = re.compile(r"(?:N|Z|%0)(\d+)")
"""Formats that show numbers with leading zeros: N3 of SPSS, Z3. of SAS, %03.0f of Stata."""


@dataclass(frozen=True)
class StatisticalMetadata:
    """What a statistical package keeps beside its data.

    Parameters
    ----------
    columns
        Names of the variables.
    labels
        Words for variables.
    value_labels
        Per variable words for its codes, codes as they are read.
    missing
        Per variable the codes that stand for "unknown" as ranges of codes: (lowest, highest), numbers or text.
    formats
        Per variable the format that the package shows it in.
    """

    columns: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[tuple[Any, Any], ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)

    def missing_codes(self, variable: str, codes: Iterable[str]) -> list[str]:
        """Which of some codes of a variable stand for "unknown"."""
        return [code for code in codes if any(_inside(code, *ends) for ends in self.missing.get(variable, ()))]


def is_statistical(source: Any) -> bool:
    """Whether something is the path of an SPSS, Stata or SAS file."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in READERS


def statistical_metadata(path: str | Path) -> StatisticalMetadata:
    """What an SPSS, Stata or SAS file says of its variables.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = ds.statistical_metadata(ds.write_public(release.public, f"{folder}/safe.sav"))
    >>> about.columns, about.value_labels["status"]["X"]
    (('trade', 'region', 'value', 'status'), 'withheld for confidentiality')
    """
    path = Path(path)
    _, about = _read(path, metadataonly=True, user_missing=True)
    formats = dict(about.original_variable_types)
    missing: dict[str, tuple[tuple[Any, Any], ...]] = {}
    for variable, ranges in about.missing_ranges.items():
        missing[variable] = tuple((part["lo"], part["hi"]) for part in ranges)
    letters: Sequence[str] = ()
    if path.suffix.lower() in LETTERED:
        letters = [*ascii_letters, "_"]
        numeric = [name for name, kind in about.readstat_variable_types.items() if kind != "string"]
        missing.update({name: tuple((f".{letter}", f".{letter}") for letter in letters) for name in numeric})
    words = {
        variable: {_text(code, formats.get(variable, ""), letters) or "": str(text) for code, text in labels.items()}
        for variable, labels in about.variable_value_labels.items()
    }
    labels = {name: text for name, text in about.column_names_to_labels.items() if text}
    return StatisticalMetadata(tuple(about.column_names), labels, words, missing, formats)


def read_statistical(path: Path, wanted: Sequence[str], codes: Iterable[str]) -> pa.Table:
    """Columns of an SPSS, Stata or SAS file.

    Columns of codes become text: whole numbers without a point, with the leading zeros that their format shows, and
    codes for "unknown" as they are (``.a`` of Stata and SAS with its point). In columns of numbers those are empty.
    """
    import pyarrow as pa

    text = [name for name in wanted if name in set(codes)]
    rest = [name for name in wanted if name not in text]
    columns: dict[str, Any] = {}
    if text:
        data, about = _read(path, usecols=text, user_missing=True)
        for name in text:
            kind, letters = about.original_variable_types.get(name, ""), about.missing_user_values.get(name, ())
            made: dict[Any, str | None] = {}
            column = [
                made[item] if item in made else made.setdefault(item, _text(item, kind, letters)) for item in data[name]
            ]
            columns[name] = pa.array(column, pa.string()).dictionary_encode()
    if rest:
        data, _ = _read(path, usecols=rest)
        for name in rest:
            columns[name] = _plain(data[name])
    return pa.table({name: columns[name] for name in wanted})


def _read(path: Path, **options: Any) -> tuple[Any, Any]:
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise missing_extra("pyreadstat", "stat", f"Reading {path.suffix} files") from None
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Looked for: {path}")
    read = getattr(pyreadstat, READERS[path.suffix.lower()])
    try:
        return read(str(path), output_format="dict", **options)  # type: ignore[no-any-return]
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OverflowError) as error:
        raise InputError(
            f"The file {path.name!r} cannot be read as a {path.suffix} file.",
            hint="Check that it was written completely and that its name is right.",
            details=str(error),
        ) from None


def code_of(value: Any, kind: str) -> str:
    """A value as a code: whole numbers without a point, with the leading zeros of their format."""
    if isinstance(value, float | int) and float(value).is_integer():
        padded = ZERO_PADDED.match(kind)
        width = int(padded[1]) if padded else 0
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


def _inside(code: str, lowest: Any, highest: Any) -> bool:
    """Whether a code lies in a range of codes for "unknown"."""
    if isinstance(lowest, str):
        return lowest.rstrip(" ") == code
    try:
        return bool(lowest <= float(code) <= highest)
    except ValueError:
        return False
