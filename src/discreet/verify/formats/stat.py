"""Public tables as SPSS and Stata files, written a second time.

The library that knows these formats breaks on some damaged files. It never reads one here: it writes, and bytes are
compared.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from discreet.verify.formats.shown import EMPTY, WITHHELD, Different, ShownTable

LETTERS = {"V": "value", "A": "altered value", "X": WITHHELD, "E": EMPTY}
WORDS = re.compile("(?i:ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH|IF|IN|USING|DOUBLE|FLOAT|INT|LONG|BYTE)")
"""Words of the two programs, which name no variable."""
NAME, LABEL, VALUE_LABEL, FILE_LABEL = 32, 80, 120, 60
"""Most characters of a name; most bytes of labels."""


def check_sav(found: bytes, shown: ShownTable) -> None:
    """An SPSS file is byte for byte what the cells give."""
    pyreadstat = _package()
    columns, labels, words = _content(shown)
    form = f"F{min(40, 20 + shown.table.decimals)}.{shown.table.decimals}"
    told = [*shown.notes(), *([shown.words.source] if shown.words.source else [])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again.sav"
        pyreadstat.write_sav(
            _frame(columns),
            str(path),
            file_label=_short(shown.table.name, FILE_LABEL),
            column_labels=labels,
            note=[_short(text, LABEL) for text in told],
            variable_value_labels={name: of for name, of in words.items() if of},
            variable_format={name: form for name in ("value", "lower", "upper") if name in columns},
        )
        made = path.read_bytes()
    _same(made[:92] + b"01 Jan 8000:00:00" + made[109:], found)


def check_dta(found: bytes, shown: ShownTable) -> None:
    """A Stata file is byte for byte what the cells give."""
    pyreadstat = _package()
    columns, labels, words = _content(shown)
    for name in list(columns):
        if name != "status" and words.get(name):
            [beside] = _names([f"{name}_label"], list(columns))
            columns[beside] = [words[name].get(code, code) for code in columns[name]]
            labels[beside] = _short(f"label of {labels[name]}", LABEL)
    signs = {"X": "a", "E": "b"}
    status = columns["status"]
    columns["value"] = [signs[s] if v is None else v for v, s in zip(columns["value"], status, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again.dta"
        pyreadstat.write_dta(
            _frame(columns, signs=True),
            str(path),
            file_label=_short(shown.table.name, LABEL),
            column_labels=labels,
            version=14,
            missing_user_values={"value": ["a", "b"]},
            variable_value_labels={"value": {"a": WITHHELD, "b": EMPTY}},
            variable_format={"value": f"%20.{shown.table.decimals}f"},
        )
        made = path.read_bytes()
    stamp = b"<timestamp>\x1101 Jan 1980 00:00</timestamp>"
    _same(re.sub(rb"<timestamp>\x11.{17}</timestamp>", stamp, made, count=1), found)


def _package() -> Any:
    """The library, whose own types know less than it does."""
    import pyreadstat

    return pyreadstat


def _same(expected: bytes, found: bytes) -> None:
    if expected == found:
        return
    if len(expected) != len(found):
        raise Different(f"the file has {len(found):,} bytes, and the published cells give {len(expected):,}")
    at = next(i for i, (mine, theirs) in enumerate(zip(expected, found, strict=True)) if mine != theirs)
    raise Different(f"byte {at + 1:,} is not what the published cells give")


def _content(shown: ShownTable) -> tuple[dict[str, list[Any]], dict[str, str], dict[str, dict[str, str]]]:
    """Columns, their labels, and labels of their values."""
    table = shown.table
    names = _names(table.variables, ["value", "lower", "upper", "status"])
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for codes in shown.cells():
        for name, code in zip(names, codes, strict=True):
            columns[name].append(code)
    labels = {name: _short(variable, LABEL) for name, variable in zip(names, table.variables, strict=True)}
    words = {
        name: {code: _short(text, VALUE_LABEL) for code, text in known.items() if text}
        for name, known in zip(names, table.labels, strict=True)
    }
    columns["value"] = [float(text) if text else None for text in shown.numbers()]
    labels["value"] = _short(shown.measure + (f" ({shown.words.units})" if shown.words.units else ""), LABEL)
    if table.lower is not None:
        for i, name in enumerate(("lower", "upper")):
            columns[name] = [float(ends[i]) if ends[i] else None for ends in shown.ends()]
            labels[name] = f"{name} end of the interval"
    columns["status"], labels["status"] = table.status, "status of the value"
    words["status"] = {letter: LETTERS[letter] for letter in sorted(set(table.status))}
    return columns, labels, words


def _names(names: Any, taken: list[str]) -> list[str]:
    used, found = [name.lower() for name in taken], []
    for name in names:
        made = re.sub("[^A-Za-z0-9_]", "_", name)
        if not made[:1].isalpha() or WORDS.fullmatch(made):
            made = f"v_{made}"
        made, number = made[:NAME].rstrip("_") or "v", 2
        while made.lower() in used:
            made, number = f"{made[: NAME - 4].rstrip('_')}_{number}", number + 1
        used.append(made.lower())
        found.append(made)
    return found


def _short(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _frame(columns: dict[str, list[Any]], signs: bool = False) -> Any:
    """A data frame of what is installed; with ``signs`` its values may be letters."""
    try:
        import polars
    except ModuleNotFoundError:
        import pandas

        return pandas.DataFrame(
            {n: pandas.Series(c, dtype=object if signs and n == "value" else None) for n, c in columns.items()}
        )
    kinds = {name: polars.Float64 if name in ("value", "lower", "upper") else polars.String for name in columns}
    given: Any = {**kinds, "value": polars.Object} if signs else kinds
    return polars.DataFrame(columns, schema=given, strict=False)
