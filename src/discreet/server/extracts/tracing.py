"""Whose extract a leaked file is: by its serial numbers, or, where these were taken out, by whom it has nothing of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.keys import Key
from discreet.model.arrays import Ints
from discreet.server.extracts.codebook import CodebookVariable
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.serials import households_of, left_out

if TYPE_CHECKING:
    import pyarrow as pa


class Suspect(NamedTuple):
    """An extract or a user, and what speaks for them."""

    extract: int | None
    principal: int
    rows: int
    """Rows that could be looked at."""
    fitting: int
    """Rows that fit: serials of this extract, or households that this user has."""

    @property
    def share(self) -> float:
        """Share of rows that fit."""
        return self.fitting / self.rows if self.rows else 0.0


def by_serials(file: ExtractFile, key: Key, serials: Ints, extracts: Mapping[int, int]) -> list[Suspect]:
    """Extracts by how many serial numbers of a leak are theirs; a number of another fits once in millions.

    Parameters
    ----------
    file, key
        The file that extracts were taken from, and its key.
    serials
        Serial numbers of the leak.
    extracts
        Numbers of extracts, and whose they are.
    """
    found = []
    for number, principal in extracts.items():
        household = households_of(key, f"{file.name}/{file.edition}/{number}", serials)
        fits = int(((household >= 1) & (household <= file.codebook.households)).sum())
        found.append(Suspect(number, principal, len(serials), fits))
    return sorted(found, key=lambda one: -one.fitting)


def by_marks(file: ExtractFile, key: Key, leak: pa.Table, principals: Sequence[int]) -> list[Suspect]:
    """Users by how many rows of a leak are of households that they have: all, for whose leak it is.

    Rows are found in the file by their values; those that several households have tell nothing and are left aside.

    Parameters
    ----------
    file, key
        The file that extracts were taken from, and its key.
    leak
        Columns of the leak, as text or numbers.
    principals
        Users who have extracts.

    Raises
    ------
    InputError
        When the leak has no column of the file.
    """
    names = [name for name in leak.column_names if name in file.variables and file.variables[name].values is not None]
    if not names:
        raise InputError("The file has no variable of this edition.", hint="Give a csv file with its line of names.")
    wanted: dict[tuple[int, ...], int] = {}
    columns = [_places(file.variables[name], leak[name].to_pylist()) for name in names]
    for row in zip(*columns, strict=True):
        wanted[row] = 0
    for group in file.groups(names):
        numbers = np.asarray(group["_household"])
        parts = zip(*(np.asarray(group[name]).tolist() for name in names), strict=True)
        for row, household in zip(parts, numbers.tolist(), strict=True):
            if row in wanted:
                wanted[row] = -1 if wanted[row] not in (0, household) else household
    sure = np.array(sorted({household for household in wanted.values() if household > 0}), np.int64)
    found = []
    for principal in principals:
        absent = left_out(key, file.name, principal, sure, file.limits.mark)
        found.append(Suspect(None, principal, len(sure), int((~absent).sum())))
    return sorted(found, key=lambda one: -one.fitting)


def _places(about: CodebookVariable, values: Sequence[object]) -> list[int]:
    """Places of values in the list of a variable; -2 where it has no such value."""
    index = {str(value): place for place, value in enumerate(about.values or ())}
    return [-1 if value in (None, "") else index.get(_plain(value), -2) for value in values]


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).removeprefix("'")
