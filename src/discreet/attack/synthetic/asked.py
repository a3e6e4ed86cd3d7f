"""What attacks on synthetic files are asked: columns and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.attack.synthetic.compared_files import ORIGINAL, RELEASED, ComparedFiles
from discreet.errors import InputError, ParameterError

ATTEMPTS = 2_000
"""So many attempts tell a share to within about two percentage points."""


def named_columns(argument: str, given: Any) -> tuple[str, ...]:
    """Names of columns in a tuple, each once."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give names of columns in a list.")
    if len(set(names)) < len(names):
        raise ParameterError(f"{argument}={given!r} names a column twice.", hint="Name each once.")
    return tuple(names)


def checked_attempts(given: Any, argument: str = "attempts") -> int:
    """A number of attempts."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give a whole number of at least 1.")
    return given


def refuse_empty(files: ComparedFiles, names: Sequence[str]) -> None:
    """Refuse columns without any value: a file that was read wrongly looks like that."""
    for where, file in ((ORIGINAL, files.original), (RELEASED, files.released)):
        for name in names:
            if np.isnan(file.values[files.place(name)]).all():
                raise InputError(
                    f"Column {name!r} is empty in every record of {where}.",
                    hint="Leave it out, or correct how the file is read.",
                )
