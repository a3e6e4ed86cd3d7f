"""Patterns as plain csv files, of our own and of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.files.celltext import FORMULA, quoted, safe_code, write_text_columns
from discreet.files.frames import code_text, column_names, read_columns
from discreet.files.new_file import new_file
from discreet.model.arrays import Codes, Ints, Status
from discreet.model.pattern import WORDS, Pattern, PatternTable
from discreet.model.spec import RESERVED
from discreet.model.table import CellStatus

if TYPE_CHECKING:
    import pyarrow as pa

OWN_STATUS = "pattern_status"
"""Name of the status column in our own files, by which they are known."""
WITHHELD = ("unsafe", "secondary")

LETTERS: dict[str, dict[str, str]] = {
    "words": {**{word: word for word in WORDS}, "frozen": "forced", "withheld": "secondary", "empty": "published"},
    "custodian": {"V": "published", "U": "unsafe", "M": "secondary", "P": "forced", "E": "published"},
    "public": {"V": "published", "X": "secondary", "E": "published"},
    "argus": {
        **{"S": "published", "U": "unsafe", "P": "forced", "M": "secondary", "X": "secondary", "E": "published"},
        **{"1": "published", "2": "published", "10": "forced", "13": "published", "14": "published"},
        **{"3": "unsafe", "4": "unsafe", "5": "unsafe", "6": "unsafe", "9": "unsafe"},
        **{"11": "secondary", "12": "secondary"},
    },
    "jj": {"S": "published", "U": "unsafe", "M": "secondary", "Z": "forced"},
    "sdctable": {"S": "published", "U": "unsafe", "X": "secondary", "Z": "forced"},
    "sbs": {"A": "unsafe", "B": "unsafe", "C": "unsafe", "D": "secondary", "V": "published"},
}
"""What the statuses of known files mean; letters are compared without regard to case."""


def read_pattern(
    source: Any,
    *,
    variables: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    letters: str | Mapping[str, str] = "words",
    all_are: str | None = None,
    table: str = "",
    tables: Mapping[str, str] | None = None,
    delimiter: str = ",",
    name: str = "",
    one_name: bool = False,
) -> Pattern:
    """A pattern from a csv or Parquet file or a data frame: codes and statuses; values are never read.

    Files that ``pattern.write`` made need no further argument. Cells that a file does not list are published.

    Parameters
    ----------
    source
        Data frame or path.
    variables
        Columns that hold codes, by their names after ``columns``; needed for files of other programs, because a column
        of values must not be taken for codes. An empty code stands for the total.
    columns
        Their names of columns to ours: variables, ``status`` and, where one file holds several tables, ``table``.
    letters
        What the statuses mean: ``"words"`` (published, unsafe, secondary, forced), ``"argus"`` (S, U, P, M, X, E or
        the numbers 1 to 14), ``"sdctable"`` (s, u, x, z), ``"jj"`` (s, u, m, z), ``"sbs"`` (A to D, V),
        ``"custodian"`` and ``"public"`` (the cell files of a release), or a mapping of their letters to our words.
    all_are
        ``"secondary"`` or ``"unsafe"``: the file lists only withheld cells and has no status column.
    table
        Name of the table, where the file has no column ``table``.
    tables
        Their names of tables to ours.
    delimiter
        Separator of a csv file.
    name
        Name of the pattern for the record; by default the file's.
    one_name
        The file lists a cell once where a table has it under several names (a code with a single part), and means all
        of them. Otherwise names that are not listed are published, and with them the cell.

    Raises
    ------
    InputError
        When a column is missing, a status is not known, or a cell stands twice.

    Examples
    --------
    >>> import pyarrow as pa
    >>> theirs = pa.table({"Region": ["N", "S"], "Flag": ["u", "x"], "Turnover": [7, 5]})
    >>> pattern = read_pattern(
    ...     theirs, variables=["region"], columns={"Region": "region", "Flag": "status"}, letters="sdctable"
    ... )
    >>> pattern.cells(status="secondary")
    [('S',)]
    """
    theirs = {ours: their for their, ours in (columns or {}).items()}
    if len(theirs) < len(columns or {}):
        raise ParameterError("columns= maps two columns to one name.", hint="Give every column a name of its own.")
    names = column_names(source, delimiter)
    for their in columns or {}:
        if their not in names:
            raise InputError(unknown_name("column", their, names, "the pattern (columns=)"))
    own = is_own(names)
    if own:
        theirs.setdefault("status", OWN_STATUS)
    for header in names:  # names of variables that a spreadsheet would run stand behind an apostrophe
        if own and _plain(header) != header:
            theirs.setdefault(_plain(header), header)
    wanted = _variables(variables, [_plain(header) for header in names] if own else names, own)
    status_column = None if all_are is not None else theirs.get("status", "status")
    table_column = theirs.get("table", "table") if not table and theirs.get("table", "table") in names else None
    if status_column is not None and status_column not in names:
        raise InputError(
            unknown_name("column", status_column, names, "the pattern"),
            hint="Say which column holds the status (columns={'theirs': 'status'}), or, where only withheld cells are "
            "listed, what they are (all_are='secondary').",
        )
    code_columns = [theirs.get(variable, variable) for variable in wanted]
    needed = [*code_columns, *(c for c in (table_column, status_column) if c is not None)]
    frame = read_columns(source, needed, text=needed, delimiter=delimiter)
    status = _status(frame, status_column, letters, all_are)
    encoded = [_encoded(frame, column) for column in code_columns]
    parts = []
    for their_name, rows in _by_table(frame, table_column, table):
        part = PatternTable(
            name=(tables or {}).get(their_name, their_name),
            variables=tuple(wanted),
            code_lists=tuple(codes for codes, _ in encoded),
            codes=np.column_stack([coded[rows] for _, coded in encoded]),
            status=status[rows],
        )
        part.refuse_twice()
        parts.append(part)
    shown = name or (Path(source).name if isinstance(source, str | Path) else "pattern")
    return Pattern(tuple(parts), shown, one_name)


def _by_table(frame: pa.Table, column: str | None, name: str) -> Iterator[tuple[str, Ints]]:
    """The rows of every table that a file lists; all of them where no column says which."""
    names: tuple[str, ...] = (name,)
    place = np.zeros(frame.num_rows, np.int64)
    if column is not None:
        names, coded = _encoded(frame, column)
        place = coded.astype(np.int64)
    for number, found in enumerate(names):
        rows = np.flatnonzero(place == number)
        if len(rows):
            yield found, rows


def is_own(names: Sequence[str]) -> bool:
    """Whether a file with these columns was written by ``pattern.write``."""
    return list(names[:1]) == ["table"] and list(names[-1:]) == [OWN_STATUS]


def _variables(variables: Sequence[str] | None, names: Sequence[str], own: bool) -> list[str]:
    """Which columns are codes."""
    if isinstance(variables, str):
        raise ParameterError("variables= takes a list of names.", hint=f"Write variables=[{variables!r}].")
    if variables is not None:
        if not variables:
            raise ParameterError("A pattern needs at least one variable.", hint="Name the columns that hold codes.")
        return list(variables)
    if not own:
        raise InputError(
            f"Which columns of the pattern hold codes is not known; it has {listed(names)}.",
            hint="Name them: read_pattern(..., variables=table.variables). Columns of values are never read.",
            recipe_hint="Name them: --variable NAME for each, or variables in [pattern] of the recipe. Columns of "
            "values are never read.",
        )
    inner = list(names[1:-1])
    odd = [column for column in inner if RESERVED.fullmatch(column)]
    if odd or not inner:
        raise InputError(
            f"The pattern file has columns that cannot be codes: {listed(odd)}.",
            hint="A pattern holds codes and statuses only; remove them.",
        )
    return inner


def _encoded(frame: pa.Table, name: str) -> tuple[tuple[str, ...], Codes]:
    """A column as distinct codes and the position of each row's code; an empty field is the empty code."""
    import pyarrow as pa

    column = frame[name].combine_chunks()
    if pa.types.is_null(column.type):
        return ("",), np.zeros(len(column), np.int32)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    position: dict[str, int] = {}
    of = [position.setdefault(_plain(code_text(x)), len(position)) for x in column.dictionary.to_pylist()]
    empty = position.setdefault("", len(position)) if column.null_count else -1
    at = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return tuple(position), np.array([*of, empty], np.int32)[at]


def _plain(code: str) -> str:
    """A code without the apostrophe that keeps spreadsheets from running it."""
    return code[1:] if code.startswith("'") and code.lstrip("'").startswith(FORMULA) else code


def _status(frame: pa.Table, column: str | None, letters: str | Mapping[str, str], all_are: str | None) -> Status:
    if column is None:
        if all_are not in WITHHELD:
            raise ParameterError(f"all_are={all_are!r} is not allowed.", hint=f"Use {listed(WITHHELD)}.")
        return np.full(frame.num_rows, WORDS[all_are], np.int8)
    if isinstance(letters, str):
        if letters not in LETTERS:
            raise ParameterError(unknown_name("meaning of statuses (letters=)", letters, LETTERS))
        meaning = {letter.upper(): word for letter, word in LETTERS[letters].items()}
    else:
        meaning = {str(letter): str(word) for letter, word in letters.items()}
        for word in meaning.values():
            if word not in WORDS:
                raise ParameterError(unknown_name("status", word, WORDS, "letters="))
    found, coded = _encoded(frame, column)
    words = [meaning.get(s.strip().upper() if isinstance(letters, str) else s.strip()) for s in found]
    odd = [f"{s!r} in record {int(np.argmax(coded == i)) + 1}" for i, s in enumerate(found) if words[i] is None]
    if odd:
        fits = [kind for kind, known in LETTERS.items() if {s.strip().upper() for s in found} <= _upper(known)]
        advice = f"letters={listed(fits)} would fit. " if fits else ""
        raise InputError(
            f"The pattern has statuses that are not known: {', '.join(odd[:10])}.",
            hint=f"{advice}Say what they mean: letters={{'theirs': 'published', 'unsafe', 'secondary' or 'forced'}}.",
            recipe_hint=f"{f'--letters {fits[0]} would fit. ' if fits else ''}Say what they mean, in [pattern] of the "
            'recipe: letters = { "theirs" = "published" }, or "unsafe", "secondary", "forced".',
        )
    return np.array([WORDS[word] for word in words if word is not None], np.int8)[coded]


def _upper(known: Mapping[str, str]) -> set[str]:
    return {letter.upper() for letter in known}


def write_pattern(pattern: Pattern, path: str | Path, *, only_withheld: bool = False) -> None:
    """Write a pattern as csv: ``table``, one column per variable, ``pattern_status``. It holds no value.

    Which cells are unsafe is confidential, so that only the owner can read the file; an existing one stays.

    Parameters
    ----------
    pattern
        The pattern.
    path
        A file that does not exist yet.
    only_withheld
        Leave published cells out; forced ones stay. Reading gives the same pattern.
    """
    import pyarrow as pa

    path = Path(path)
    parts = pattern.tables
    if only_withheld:
        parts = tuple(part.at(part.status != CellStatus.SAFE) for part in parts)
    columns = Pattern(parts, pattern.name).columns()
    codes = [name for name in columns if name not in ("table", "status")]
    text = [pa.array([quoted(safe_code(code)) for code in columns[name]], pa.string()) for name in ["table", *codes]]
    with new_file(path):
        write_text_columns(path, ["table", *codes, OWN_STATUS], [*text, pa.array(columns["status"], pa.string())])
