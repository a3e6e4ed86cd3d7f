"""Lines of a csv file taken apart; what cannot be taken apart is an error that names the file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from discreet.errors import InputError, ParameterError


def csv_rows(lines: Iterable[str], name: str, delimiter: str = ",") -> Iterator[list[str]]:
    """Fields of each line.

    Parameters
    ----------
    lines
        The lines, without line ends that are not understood: a bare carriage return is refused.
    name
        Name of the file, for errors.
    delimiter
        What stands between fields.

    Raises
    ------
    InputError
        When a line cannot be taken apart.
    """
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise ParameterError(f"delimiter={delimiter!r} is not allowed.", hint="Give one character, such as ','.")
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        raise irregular(name, reader.line_num, error) from None


def irregular(name: str, line: int, error: Exception) -> InputError:
    """Error for a line that is not one of a csv file."""
    if "new-line character" in str(error):
        return InputError(
            f"The file {name!r} ends lines with bare carriage returns (line {line}).",
            hint=f"Write line feeds: tr '\\r' '\\n' < {name} > new.csv",
        )
    return InputError(
        f"Line {line} of {name!r} cannot be taken apart: {error}.", hint="Check quotation marks and the delimiter."
    )
