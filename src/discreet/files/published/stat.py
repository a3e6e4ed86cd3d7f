"""Public tables as SPSS and Stata files, with labels; withheld values are missing."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.errors import OutputError
from discreet.files.published.cube import value_texts
from discreet.files.published.heading import EMPTY, WITHHELD, Heading, notes
from discreet.model.public import PublicTable
from discreet.model.units import unit_text

STATUS = {"V": "value", "A": "altered value", "X": WITHHELD, "E": EMPTY}
LONGEST_CODE = 2000
"""Bytes of a code; Stata holds no more in a plain text variable."""
LONGEST_NAME, LONGEST_LABEL, LONGEST_VALUE_LABEL = 32, 80, 120
RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "BY",
        "EQ",
        "GE",
        "GT",
        "LE",
        "LT",
        "NE",
        "NOT",
        "OR",
        "TO",
        "WITH",
        "IF",
        "IN",
        "USING",
        "DOUBLE",
        "FLOAT",
        "INT",
        "LONG",
        "BYTE",
    ]
)


def write_sav(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as an SPSS file: codes as text with their labels, value (missing where withheld), status."""
    pyreadstat, columns, labels, words = _columns(path, table, heading)
    used = {name: labels_ for name, labels_ in words.items() if labels_}
    value_format = f"F{min(40, 20 + table.decimals)}.{table.decimals}"
    numbers = [name for name in columns if name in ("value", "lower", "upper")]
    _write(
        pyreadstat,
        "sav",
        path,
        _frame(columns),
        file_label=_cut(table.name, 60),
        column_labels=labels,
        note=[_cut(text, LONGEST_LABEL) for text in [*notes(table), heading.source] if text],
        variable_value_labels=used,
        variable_format=dict.fromkeys(numbers, value_format),
    )
    data = path.read_bytes()  # the header states when it was written; the same table must give the same bytes
    path.write_bytes(data[:92] + b"01 Jan 80" + b"00:00:00" + data[109:])


def write_dta(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as a Stata file: as for SPSS, with ``.a`` for withheld and ``.b`` for empty values.

    Stata has labels for numbers only, so that labels of codes stand in variables of their own.
    """
    pyreadstat, columns, labels, words = _columns(path, table, heading)
    for name in [name for name in columns if words.get(name) and name != "status"]:
        label = _names([f"{name}_label"], taken=columns)[0]
        columns[label] = [words[name].get(code, code) for code in columns[name]]
        labels[label] = _cut(f"label of {labels[name]}", LONGEST_LABEL)
    letters = {"X": "a", "E": "b"}
    value = [letters[s] if v is None else v for v, s in zip(columns["value"], table.status, strict=True)]
    columns["value"] = value
    _write(
        pyreadstat,
        "dta",
        path,
        _frame(columns, mixed="value"),
        file_label=_cut(table.name, LONGEST_LABEL),
        column_labels=labels,
        version=14,
        missing_user_values={"value": ["a", "b"]},
        variable_value_labels={"value": {"a": WITHHELD, "b": EMPTY}},
        variable_format={"value": f"%20.{table.decimals}f"},
    )
    data = path.read_bytes()
    path.write_bytes(
        re.sub(rb"<timestamp>\x11.{17}</timestamp>", b"<timestamp>\x1101 Jan 1980 00:00</timestamp>", data, count=1)
    )


def _write(pyreadstat: Any, kind: str, path: Path, frame: Any, **options: Any) -> None:
    """Write a file and read it back: the library overlooks some errors of a full disk and leaves a file cut short."""
    try:
        getattr(pyreadstat, f"write_{kind}")(frame, str(path), **options)
        found, _ = getattr(pyreadstat, f"read_{kind}")(str(path), output_format="dict", user_missing=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise OSError(errno.EIO, f"The file could not be written completely ({error})") from error
    if list(found) != list(frame.columns) or any(len(column) != len(frame) for column in found.values()):
        raise OSError(errno.EIO, "The file could not be written completely")


def _columns(
    path: Path, table: PublicTable, heading: Heading
) -> tuple[Any, dict[str, list[Any]], dict[str, str], dict[str, dict[str, str]]]:
    """The package, columns, their labels, and labels of their values."""
    import pyreadstat

    names = _names(table.variables, taken=("value", "lower", "upper", "status"))
    columns: dict[str, list[Any]] = {}
    labels, words = {}, {}
    for k, (name, variable) in enumerate(zip(names, table.variables, strict=True)):
        codes = [_exact(code, path) for code in table.code_lists[k]]
        columns[name] = [codes[i] for i in table.codes[:, k].tolist()]
        labels[name] = _cut(variable, LONGEST_LABEL)
        words[name] = {code: _cut(text, LONGEST_VALUE_LABEL) for code, text in table.labels[k].items() if text}
    columns["value"] = _floats(value_texts(table), path)
    units = f" ({heading.units})" if heading.units else ""
    labels["value"] = _cut(f"{table.measure or 'count'}{units}", LONGEST_LABEL)
    if table.lower is not None and table.upper is not None:
        for name, ends in (("lower", table.lower), ("upper", table.upper)):
            texts = [
                unit_text(end, table.decimals) if shown and low < high else None
                for end, shown, low, high in zip(
                    ends.tolist(), table.shown.tolist(), table.lower.tolist(), table.upper.tolist(), strict=True
                )
            ]
            columns[name], labels[name] = _floats(texts, path), f"{name} end of the interval"
    columns["status"], labels["status"] = table.status, "status of the value"
    words["status"] = {letter: STATUS[letter] for letter in sorted(set(table.status))}
    return pyreadstat, columns, labels, words


def _floats(texts: Sequence[str | None], path: Path) -> list[float | None]:
    """Numbers as floating-point ones; digits that these cannot hold are an error."""
    found: list[float | None] = []
    for text in texts:
        number = None if text is None else float(text)
        if text is not None and Decimal(repr(number)) != Decimal(text):
            raise OutputError(
                f"A published value has more digits than a {path.suffix} file can hold.",
                hint="Publish fewer decimals, or leave this format out; csv and Parquet hold all digits.",
            )
        found.append(number)
    return found


def _names(names: Sequence[str], taken: Sequence[str] | dict[str, Any]) -> list[str]:
    """Names that both programs accept: letters, digits and ``_``, beginning with a letter, never two the same."""
    used = {name.lower() for name in taken}
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        plain = plain if re.match("[A-Za-z]", plain) and plain.upper() not in RESERVED else f"v_{plain}"
        plain = plain[:LONGEST_NAME].rstrip("_") or "v"
        number = 1
        while plain.lower() in used:
            number += 1
            plain = f"{plain[: LONGEST_NAME - 4].rstrip('_')}_{number}"
        used.add(plain.lower())
        found.append(plain)
    return found


def _exact(code: str, path: Path) -> str:
    """A code as it is; one that would come back changed is an error."""
    if code != code.rstrip(" ") or not code or "\0" in code or len(code.encode()) > LONGEST_CODE:
        raise OutputError(
            f"A {path.suffix} file cannot hold the code {code[:40]!r} as it is.",
            hint="Recode it (no blanks at its end, not too long), or leave this format out.",
        )
    return code


def _cut(text: str, most: int) -> str:
    """A label of at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")


def _frame(columns: dict[str, list[Any]], mixed: str = "") -> Any:
    """A data frame of what is installed; ``mixed`` is a column of numbers and letters."""
    try:
        import polars
    except ModuleNotFoundError:
        import pandas

        return pandas.DataFrame({n: pandas.Series(c, dtype=object if n == mixed else None) for n, c in columns.items()})
    kinds: dict[str, Any] = dict.fromkeys(columns, polars.String)
    kinds.update({name: polars.Float64 for name in ("value", "lower", "upper") if name in columns})
    kinds.update({mixed: polars.Object} if mixed else {})
    return polars.DataFrame(columns, schema=kinds, strict=False)
