"""Ready-made tables with ``.rda`` metadata: ``.tab`` files, one cell per line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.files.argus.numbers import code_column, number_column
from discreet.files.argus.rda import ArgusMetadata, RdaVariable
from discreet.files.argus.records import LARGEST_FILE, line_numbers, split_fields
from discreet.files.argus.text import read_bytes, wrong, wrong_data
from discreet.model.arrays import Bools, Ints

if TYPE_CHECKING:
    import pyarrow as pa

EMPTY = ("", "-")
OURS = {"shadow": "shadow", "cost": "cost", "lower": "lower_protection", "upper": "upper_protection"}


@dataclass(frozen=True)
class ArgusCells:
    """Cells of a ``.tab`` file: an Arrow table with the columns that ``Table.from_cells`` knows.

    The spanning variables come first; ``value`` is empty in empty cells.
    """

    frame: pa.Table
    variables: tuple[RdaVariable, ...]
    decimals: int | None
    notes: tuple[str, ...] = field(default=())


def read_argus_cells(
    path: str | Path, metadata: ArgusMetadata, value: str | None = None, by: tuple[str, ...] | None = None
) -> ArgusCells:
    """Read a ``.tab`` file as its ``.rda`` describes it.

    Parameters
    ----------
    path
        The file.
    metadata
        What :func:`read_metadata` found with ``kind="cells"``.
    value
        The response; the first numeric variable without another role when left out, or the frequency where there is
        no such variable.
    by
        Spanning variables of the table; all when left out.

    Raises
    ------
    InputError
        With file and line, where a line cannot be read or contradicts itself.
    """
    path = Path(path)
    if metadata.kind != "cells":
        raise ParameterError("These are metadata of records.", hint="Read them with kind='cells'.")
    notes: list[str] = []
    spanning = tuple(v for v in metadata.variables if v.recodeable)
    if not spanning:
        raise InputError(
            f"{metadata.name} has no <RECODEABLE> variable.", hint="Mark the variables that span the table."
        )
    names = [v.name for v in metadata.variables]
    content = read_bytes(path, LARGEST_FILE)
    text = split_fields(path, content, names, names, metadata.separator, notes)
    place = _CellLines(path.name, line_numbers(content))
    response = _response(metadata, value)
    columns: dict[str, Any] = {v.name: code_column(text[v.name].combine_chunks()) for v in spanning}
    columns["value"] = _numbers(text, place, response)
    columns |= _others(text, place, metadata)
    _complete(columns, place, notes)
    import pyarrow as pa

    chosen = spanning if by is None else tuple(metadata.named(name) for name in by)
    left_out = [v.name for v in spanning if v not in chosen]
    frame = pa.table(columns)
    if left_out:
        frame = _only_totals(frame, metadata, left_out)
    return ArgusCells(frame, chosen, response.decimals, tuple(notes))


class _CellLines(NamedTuple):
    """Where cells stand: the file, and the line of each cell where it is not its number."""

    file: str
    lines: Ints | None

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])


def _response(metadata: ArgusMetadata, value: str | None) -> RdaVariable:
    if value is not None:
        return metadata.named(value)
    plain = [v for v in metadata.variables if v.numeric and not v.role and not v.recodeable]
    found = plain[0] if plain else metadata.the("frequency")
    if found is None:
        raise InputError(f"{metadata.name} has no <NUMERIC> variable.", hint="Mark the response with <NUMERIC>.")
    return found


def _numbers(text: Any, place: _CellLines, variable: RdaVariable) -> pa.Array:
    """A column of numbers; ``-`` and nothing are no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.utf8_trim_whitespace(text[variable.name].combine_chunks())
    column = pc.if_else(pc.is_in(column, value_set=pa.array(EMPTY)), "", column)
    return number_column(column, place.file, variable.name, place.lines, blank=True)


def _others(text: Any, place: _CellLines, metadata: ArgusMetadata) -> dict[str, Any]:
    """Frequency, status, levels, cost, shadow and largest contributions under the names that tables use."""
    columns: dict[str, Any] = {}
    tops = 0
    for variable in metadata.variables:
        if variable.role == "status":
            columns["status"] = _statuses(text, place, variable, metadata.letters)
        elif variable.role == "frequency":
            columns["contributors"] = _numbers(text, place, variable)
        elif variable.role == "top":
            tops += 1
            columns[f"top{tops}"] = _numbers(text, place, variable)
        elif variable.role in OURS:
            columns[OURS[variable.role]] = _numbers(text, place, variable)
    return columns


def _statuses(text: Any, where: _CellLines, variable: RdaVariable, letters: tuple[str, str, str]) -> pa.Array:
    import pyarrow as pa

    column = text[variable.name].combine_chunks().dictionary_encode()
    meaning = {"": "V", "E": "E", "M": "M", **dict(zip((x.upper() for x in letters), "VUP", strict=True))}
    words = [str(word).strip().upper() for word in column.dictionary.to_pylist()]
    for place, word in enumerate(words):
        if word not in meaning:
            row = int(np.argmax(np.asarray(column.indices) == place))
            safe, unsafe, protect = letters
            raise wrong(
                where.file,
                where.line(row),
                word,
                f"a status: {safe} safe, {unsafe} unsafe, {protect} protected, M secondary, E empty",
            )
    return pa.array([meaning[word] for word in words]).take(column.indices)


def _complete(columns: dict[str, Any], place: _CellLines, notes: list[str]) -> None:
    """The rules of consistency between response, frequency and status."""
    import pyarrow as pa
    import pyarrow.compute as pc

    value = columns["value"]
    empty = np.asarray(value.is_null())
    amount = np.asarray(pc.fill_null(value.cast(pa.float64(), safe=False), 0.0))
    name = "the frequency"
    if "contributors" in columns:
        given = np.asarray(columns["contributors"].is_valid())
        count = np.asarray(pc.fill_null(columns["contributors"].cast(pa.float64()), 0.0))
        absent = ~given & ~empty & (amount != 0)
        if absent.any():
            notes.append(
                f"{place.file}: {counted(int(absent.sum()), 'cell', 'have')} a response and no frequency; it is "
                "taken to be 1."
            )
            count = np.where(absent, 1, count)
        _refuse(place, (amount != 0) & (count == 0), name, "a frequency above 0 beside a response that is not 0")
        _refuse(place, empty & (count > 0), name, "no frequency beside an empty response")
        wrong_count = (count < 0) | (count != np.rint(count)) | (count >= 2**53)
        _refuse(place, wrong_count, name, "a whole number of at least 0")
        columns["contributors"] = pa.array(count.astype(np.int64))
        used = count > 0
    else:
        used = np.zeros(len(empty), np.bool_)
    if "status" in columns:
        marked = np.asarray(pc.equal(columns["status"], "E"))
        _refuse(place, marked & ((amount != 0) | used), "the status", "no E beside a cell that is not empty")
        empty |= marked
        safe = pc.if_else(pa.array(empty), "E", columns["status"])
        lost = np.asarray(pc.and_(pa.array(empty), pc.is_in(columns["status"], value_set=pa.array(["U", "P", "M"]))))
        if lost.any():
            notes.append(
                f"{place.file}: {counted(int(lost.sum()), 'empty cell', 'have')} a status other than E, which was "
                "dropped."
            )
        columns["status"] = safe
    columns["value"] = pc.if_else(pa.array(empty), pa.scalar(None, value.type), value)


def _refuse(place: _CellLines, bad: Bools, column: str, expected: str) -> None:
    if bad.any():
        raise wrong_data(place.file, place.line(int(np.argmax(bad))), column, "a contradiction", expected)


def _only_totals(frame: pa.Table, metadata: ArgusMetadata, names: list[str]) -> pa.Table:
    """The cells at the total of the variables that a table leaves out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        codes = pa.array(["", metadata[name].total])
        frame = frame.filter(pc.is_in(frame[name].cast(pa.string()), value_set=codes)).drop_columns([name])
    return frame
