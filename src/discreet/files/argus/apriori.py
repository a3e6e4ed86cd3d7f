"""A-priori (history) files, ``.hst``: what officers know of single cells before they are protected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import InputError, ParameterError, counted
from discreet.files.argus.text import NUMBER, number_of, read_text_lines, wrong, wrong_data

ACTIONS = {"S": 0, "U": 0, "P": 0, "M": 0, "ML": 0, "C": 1, "W": 1, "PL": 2, "AB": 2}
"""Actions and how many numbers follow each."""
MEANINGS = "S safe, U unsafe, P protected, M or ML secondary, C or W cost, PL two levels, AB two bounds"
FROM = {"S": range(1, 11), "U": range(1, 10), "P": range(1, 3), "M": range(1, 3), "ML": range(1, 3)}
"""Statuses, as numbers of τ-ARGUS, that a cell may have when an action gives it another one."""


@dataclass(frozen=True)
class Apriori:
    """One line: the cell's codes (empty for a total), the action in capitals, and its numbers."""

    codes: tuple[str, ...]
    action: str
    values: tuple[float, ...] = ()
    line: int = field(default=0, compare=False)


def read_apriori(
    path: str | Path, variables: int, separator: str = ",", *, ignore: bool = False, notes: list[str] | None = None
) -> tuple[Apriori, ...]:
    """Read an a-priori file.

    Parameters
    ----------
    path
        The file.
    variables
        How many codes a cell has.
    separator
        What stands between the fields; runs of blanks are one.
    ignore
        Leave lines out that cannot be read, and note each.
    notes
        Gets what the log should say.
    """
    path = Path(path)
    if len(separator) != 1:
        raise ParameterError(f"separator={separator!r} is not allowed.", hint="Give one character.")
    notes = [] if notes is None else notes
    found = []
    for number, text in enumerate(read_text_lines(path, notes), start=1):
        if not text.strip() or text.lstrip().startswith("//"):
            continue
        try:
            found.append(_entry(path.name, number, text, variables, separator))
        except InputError as error:
            if not ignore:
                raise
            notes.append(f"left out: {error.message}")
    return tuple(found)


def _entry(file: str, line: int, text: str, variables: int, separator: str) -> Apriori:
    fields = [field.strip() for field in _fields(text, separator)]
    # Leading blanks of codes do not survive the trimming; cells are found by their trimmed codes.
    if len(fields) <= variables:
        raise wrong(
            file, line, counted(len(fields), "field"), f"{counted(variables, 'code')} and an action ({MEANINGS})"
        )
    codes, action, rest = tuple(fields[:variables]), fields[variables].upper(), fields[variables + 1 :]
    if action not in ACTIONS:
        raise wrong(file, line, fields[variables], f"an action ({MEANINGS})")
    while len(rest) > ACTIONS[action] and not rest[-1]:
        rest.pop()
    if len(rest) != ACTIONS[action]:
        raise wrong(file, line, f"{action} with {len(rest)} numbers", f"{action} with {ACTIONS[action]}")
    values = [number_of(field) for field in rest]
    if any(value is None for value in values):
        raise wrong_data(file, line, action, " ".join(rest), f"{ACTIONS[action]} numbers after it")
    numbers = tuple(float(value) for value in values if value is not None)
    if action in ("C", "W", "PL") and any(value < 0 for value in numbers):
        raise wrong_data(file, line, action, " ".join(rest), "numbers of at least 0 after it")
    if action == "AB" and numbers[0] > numbers[1]:
        raise wrong_data(file, line, action, " ".join(rest), "a lower and a larger upper bound after it")
    return Apriori(codes, action, numbers, line)


def _fields(text: str, separator: str) -> list[str]:
    """Fields of a line; quotation marks around a field go."""
    if separator == " ":
        parts, inside, field = [], False, ""
        for sign in text.strip() + " ":
            if sign == '"':
                inside = not inside
                field += sign
            elif sign == " " and not inside:
                parts += [field] if field else []
                field = ""
            else:
                field += sign
        fields = parts
    else:
        fields = text.split(separator)
    return [_unquoted(field) for field in fields]


def _unquoted(field: str) -> str:
    plain = field.strip()
    return plain[1:-1] if len(plain) > 1 and plain[0] == plain[-1] == '"' else plain


def apriori_text(entries: Iterable[Apriori], separator: str = ",") -> str:
    """The ``.hst`` file of some entries."""
    lines = []
    for entry in entries:
        for code in entry.codes:
            if separator in code or '"' in code or "\n" in code or "\r" in code:
                raise InputError(
                    f"An a-priori file separated by {separator!r} cannot hold the code {code!r}.",
                    hint="Choose another separator.",
                )
        codes = [f'"{code}"' for code in entry.codes]
        lines.append(separator.join([*codes, entry.action, *(number_text(v) for v in entry.values)]))
    return "".join(f"{line}\n" for line in lines)


def write_apriori(entries: Iterable[Apriori], path: str | Path, separator: str = ",") -> None:
    """Write an a-priori file, in UTF-8."""
    Path(path).write_text(apriori_text(entries, separator), encoding="utf-8")


def number_text(value: float) -> str:
    """A number as short as it can be written, with a decimal point."""
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if not NUMBER.fullmatch(text):
        raise InputError(f"{value!r} is not a number.", hint="Give a finite number.")
    return text
