"""Files of noise tables: ptable and τ-ARGUS, ONS and Cantabular, SuperSTAR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.files.csv_rows import csv_rows
from discreet.files.hrc import read_lines
from discreet.model.arrays import Ints
from discreet.model.noise_table import NoiseTable, limits_of, whole_changes

Layout = Literal["ptable", "argus", "ons", "cantabular", "superstar"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
MOST_ENTRIES = 50_000_000
Rows = dict[float, list[tuple[float, float]]]


def read_noise_table(
    path: str | Path,
    *,
    layout: Layout | None = None,
    part: str | Sequence[str] = "all",
    cycle: int = 1,
    step: int | None = None,
) -> NoiseTable:
    """Read a noise table.

    Parameters
    ----------
    path
        The file.
    layout
        ``"ptable"`` or ``"argus"`` (columns i, j, p, v, p_int_ub, separated by semicolons), ``"ons"`` (pcv, ckey,
        pvalue), ``"cantabular"`` (cell_value, cell_key, perturbation; ranges such as ``501-750``) or ``"superstar"``
        (no header; one line per cell key, one column per count, from 1). Left out, the header decides.
    part
        Which rows of a ptable file with a column ``type``: ``"all"``, ``"even"``, ``"odd"``, ``"small_cells"``; the
        first of several that the file has.
    cycle
        How many of the last rows are used again for larger counts (250 in the tables of the ONS).
    step
        Changes are multiples of ``1 / step``; left out, the coarsest that fits.

    Raises
    ------
    InputError
        With file and line, when something is missing, doubled or does not sum to one.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> table = ds.NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ds.write_noise_table(table, f"{folder}/noise.csv")
    ...     print(ds.read_noise_table(f"{folder}/noise.csv") == table)
    True
    """
    path = Path(path)
    lines = [line for line in read_lines(path) if line.strip()]
    if not lines:
        raise InputError(f"The noise table {path.name!r} is empty.")
    found = layout or _layout_of(lines[0], path)
    if found not in LAYOUTS:
        raise ParameterError(f"layout={layout!r} is not known.", hint=f"Use one of {listed(LAYOUTS)}.")
    if found in ("ptable", "argus"):
        table = _read_ptable(path, lines, (part,) if isinstance(part, str) else tuple(part), step)
    elif found == "superstar":
        table = _read_matrix(path, lines)
    else:
        table = _read_lookup(path, lines)
    return NoiseTable(table.values, table.start, table.upper, table.change, table.modulus, table.step, cycle)


def write_noise_table(table: NoiseTable, path: str | Path, *, layout: Layout = "ptable") -> None:
    """Write a noise table; see :func:`read_noise_table` for the layouts.

    Layouts with whole cell keys need a table with as many (:meth:`~discreet.NoiseTable.quantised`).

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> table = ds.NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ds.write_noise_table(table, f"{folder}/noise.csv")
    ...     print(Path(folder, "noise.csv").read_text().splitlines()[0])
    i;j;p;v;p_int_ub
    """
    writers: dict[str, Callable[[NoiseTable], list[str]]] = {
        "ptable": _ptable_lines,
        "argus": _ptable_lines,
        "ons": _ons_lines,
        "cantabular": _cantabular_lines,
        "superstar": _matrix_lines,
    }
    if layout not in writers:
        raise ParameterError(f"layout={layout!r} is not known.", hint=f"Use one of {listed(LAYOUTS)}.")
    if layout not in ("ptable", "argus"):
        if table.modulus > 2**16:
            raise ParameterError(
                f"Layout {layout!r} lists every cell key; this table has fractional ones.",
                hint="Write table.quantised(256) or table.quantised(4096).",
            )
        if table.step != 1:
            raise ParameterError(f"Layout {layout!r} holds whole changes only.", hint="Write it as 'ptable'.")
    Path(path).write_text("\n".join(writers[layout](table)) + "\n", encoding="utf-8")


# ---- one line an interval: ptable and τ-ARGUS --------------------------------------------------------------------


def _fields(line: str, delimiter: str) -> list[str]:
    return [field.strip() for field in next(csv_rows([line], "noise table", delimiter), [])]


def _as_many(fields: list[str], expected: int, path: Path, number: int) -> list[str]:
    """The fields of a line, where they are as many as they should be."""
    if len(fields) != expected:
        raise InputError(f"{path.name}, line {number}: {counted(len(fields), 'field')} where {expected} are expected.")
    return fields


def _layout_of(header: str, path: Path) -> Layout:
    delimiter = ";" if ";" in header else ","
    names = {name.lower() for name in _fields(header, delimiter)}
    if {"i", "v"} <= names:
        return "ptable"
    if {"pcv", "ckey", "pvalue"} <= names:
        return "ons"
    if {"cell_value", "cell_key", "perturbation"} <= names:
        return "cantabular"
    if all(_is_number(field) for field in _fields(header, "\t" if "\t" in header else delimiter)):
        return "superstar"
    raise InputError(
        f"{path.name}: the header {listed(sorted(names))} belongs to no known layout.",
        hint="Expected are i;j;p;v;p_int_ub, or pcv,ckey,pvalue, or cell_value,cell_key,perturbation, or numbers only.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, path: Path, line: int) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"{path.name}, line {line}: {text!r} is no number.")
    return number


def _read_ptable(path: Path, lines: Sequence[str], wanted: Sequence[str], step: int | None) -> NoiseTable:
    delimiter = ";" if ";" in lines[0] else ","
    names = [name.lower() for name in _fields(lines[0], delimiter)]
    upper_name = next((name for name in ("p_int_ub", "p_ij_ub", "kum_p_o") if name in names), None)
    if upper_name is None and "p" not in names:
        raise InputError(
            f"{path.name}: there is neither a column p_int_ub nor p.", hint="Expected are i;j;p;v;p_int_ub."
        )
    rows: dict[float, list[tuple[float, float]]] = {}
    place = names.index("type") if "type" in names else None
    split = [_fields(line, delimiter) for line in lines[1:]] if place is not None else []
    parts = {fields[place] for fields in split if place is not None and place < len(fields)}
    part = next((name for name in wanted if name in parts), wanted[0])
    for number, line in enumerate(lines[1:], start=2):
        fields = _as_many(_fields(line, delimiter), len(names), path, number)
        entry = dict(zip(names, fields, strict=True))
        if entry.get("type", part) != part:
            continue
        value, change = (_number(entry[name], path, number) for name in ("i", "v"))
        if upper_name is None:
            before = rows[value][-1][1] if rows.get(value) else 0.0
            upper = before + _number(entry["p"], path, number)
        else:
            upper = _number(entry[upper_name], path, number)
        rows.setdefault(value, []).append((change, upper))
    if not rows:
        raise InputError(f"{path.name} has no rows of type {part!r}.", hint=f"It has {listed(sorted(parts))}.")
    if step is None:
        step = _coarsest_step([change for row in rows.values() for change, _ in row], path)
    rows.setdefault(0.0, [(0.0, 1.0)])
    built: list[tuple[float, Ints, Ints]] = []
    for value, pairs in sorted(rows.items()):
        change, upper_limit = np.array(pairs).T
        built.append((value, whole_changes(value, change, step), limits_of(value, np.diff(upper_limit, prepend=0.0))))
    return NoiseTable.from_intervals(built, step=step)


def _coarsest_step(changes: Sequence[float], path: Path) -> int:
    given = np.array(changes)
    for step in (1, 2, 4, 5, 8, 10, 20, 50, 100, 1000):
        if np.abs(np.rint(given * step) - given * step).max() < 1e-6:
            return step
    raise InputError(f"{path.name}: the changes are no multiples of a common part.", hint="Give step=.")


def _ptable_lines(table: NoiseTable) -> list[str]:
    lines = ["i;j;p;v;p_int_ub"]
    for number in range(len(table)):
        row = table.at(number)
        upper = np.round(np.cumsum(row.probability), 8)
        upper[-1] = 1.0
        for change, p, limit in zip(row.change, np.diff(upper, prepend=0.0), upper, strict=True):
            lines.append(f"{row.value:g};{row.value + change:g};{_short(p)};{change:g};{_short(limit)}")
    return lines


def _short(number: float) -> str:
    return f"{number:.8f}".rstrip("0").rstrip(".") or "0"


# ---- one entry per cell key ----------------------------------------------------------------------------------------


def _read_lookup(path: Path, lines: Sequence[str]) -> NoiseTable:
    delimiter = ";" if ";" in lines[0] else ","
    names = [name.lower() for name in _fields(lines[0], delimiter)]
    wanted = [("pcv", "cell_value"), ("ckey", "cell_key"), ("pvalue", "perturbation")]
    places = [next((names.index(name) for name in pair if name in names), -1) for pair in wanted]
    if min(places) < 0:
        raise InputError(f"{path.name} has columns {listed(names)}.", hint="Expected are pcv, ckey and pvalue.")
    entries: list[tuple[int, int, int, int, int]] = []
    for number, line in enumerate(lines[1:], start=2):
        fields = _as_many(_fields(line, delimiter), len(names), path, number)
        low, high = _span(fields[places[0]], path, number)
        first, last = _span(fields[places[1]], path, number)
        change = _number(fields[places[2]], path, number)
        if change != int(change):
            raise InputError(f"{path.name}, line {number}: {fields[places[2]]!r} is no whole change.")
        entries.append((low, high, first, last, int(change)))
    return _from_entries(path, entries)


def _span(text: str, path: Path, line: int) -> tuple[int, int]:
    """A whole number or a range ``a-b``, both ends included."""
    low, _, high = text.strip().partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()) or (high and int(high) < int(low)):
        raise InputError(f"{path.name}, line {line}: {text!r} is neither a whole number nor a range such as 501-750.")
    return int(low), int(high or low)


def _from_entries(path: Path, entries: Sequence[tuple[int, int, int, int, int]]) -> NoiseTable:
    """A table from entries (first value, last value, first key, last key, change)."""
    keys = max(entry[3] for entry in entries) + 1
    values = max(entry[1] for entry in entries)
    if (values + 1) * keys > MOST_ENTRIES:
        raise InputError(
            f"{path.name} spans {counted(values + 1, 'count')} and {counted(keys, 'cell key')}, which is too much."
        )
    changes = np.zeros((values + 1, keys), np.int64)
    filled = np.zeros((values + 1, keys), np.bool_)
    for low, high, first, last, change in entries:
        block = (slice(low, high + 1), slice(first, last + 1))
        if filled[block].any():
            raise InputError(f"{path.name}: count {low} and cell key {first} have two changes.")
        filled[block] = True
        changes[block] = change
    missing = np.argwhere(~filled[1:])
    if len(missing):
        raise InputError(
            f"{path.name}: count {missing[0][0] + 1} has no change for cell key {missing[0][1]}.",
            hint=f"Every count from 1 to {values} needs a change for every cell key from 0 to {keys - 1}.",
        )
    return _from_matrix(changes)


def _from_matrix(changes: Ints) -> NoiseTable:
    """A table from changes by count (rows, from 0) and cell key (columns)."""
    keys = changes.shape[1]
    rows: list[tuple[float, Ints, Ints]] = []
    for value, row in enumerate(changes):
        last = np.append(np.flatnonzero(np.diff(row)), keys - 1)
        rows.append((float(value), row[last], last + 1))
    return NoiseTable.from_intervals(rows, modulus=keys)


def _read_matrix(path: Path, lines: Sequence[str]) -> NoiseTable:
    delimiter = next((sign for sign in ("\t", ";", ",") if sign in lines[0]), ",")
    rows: list[list[int]] = []
    for number, line in enumerate(lines, start=1):
        fields = _fields(line, delimiter)
        if rows:
            _as_many(fields, len(rows[0]), path, number)
        changes = [_number(field, path, number) for field in fields]
        if any(change != int(change) for change in changes):
            raise InputError(f"{path.name}, line {number} has a change that is not whole.")
        rows.append([int(change) for change in changes])
    by_key = np.array(rows, np.int64)
    return _from_matrix(np.concatenate([np.zeros((1, len(rows)), np.int64), by_key.T]))


def _intervals(table: NoiseTable) -> list[tuple[int, int, int, int]]:
    """All intervals as (value, first key, last key, change); counts between rows are those of the row before."""
    listed_values = [int(value) for value in table.values]
    if listed_values != list(range(len(table))):
        raise ParameterError("This layout needs a row for every count.", hint="Write it as 'ptable'.")
    found: list[tuple[int, int, int, int]] = []
    for number, value in enumerate(listed_values[1:], start=1):
        first = 0
        for k in range(int(table.start[number]), int(table.start[number + 1])):
            found.append((value, first, int(table.upper[k]) - 1, int(table.change[k])))
            first = int(table.upper[k])
    return found


def _ons_lines(table: NoiseTable) -> list[str]:
    lines = ["pcv,ckey,pvalue"]
    for value, first, last, change in _intervals(table):
        lines.extend(f"{value},{key},{change}" for key in range(first, last + 1))
    return lines


def _cantabular_lines(table: NoiseTable) -> list[str]:
    lines = ["cell_value,cell_key,perturbation"]
    for value, first, last, change in _intervals(table):
        lines.append(f"{value},{first if first == last else f'{first}-{last}'},{change}")
    return lines


def _matrix_lines(table: NoiseTable) -> list[str]:
    changes = np.zeros((table.modulus, len(table) - 1), np.int64)
    for value, first, last, change in _intervals(table):
        changes[first : last + 1, value - 1] = change
    return [",".join(map(str, row)) for row in changes.tolist()]
