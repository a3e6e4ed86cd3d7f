"""Record keys: permanent numbers of records that survive a new delivery of the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.engine.draws import draws, fractions, whole_numbers
from discreet.engine.identities import doubles, identities_of
from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints
from discreet.model.noise_table import FRACTIONS

MADE_KEY = "(record key)"
"""Column of record keys that were made of identifiers."""
FEWEST_DIGITS = 6
"""Record keys with fewer digits than these are equal too often."""
AT_ONCE = 1 << 15
LEAST_KEYS = 64
"""With fewer whole keys than this the noise is a coin, and a difference of two cells tells of the key of a record."""
FEW = 10
"""So many more equal keys than chance gives are tolerated."""


class KeyFacts(NamedTuple):
    """How many record keys there are, and below which number whole ones lie; ``None`` for fractions."""

    records: int
    reach: int | None


class MadeKeys(NamedTuple):
    """How record keys are made of a column of identifiers, see :func:`record_keys`."""

    identifier: str
    secret: bytes
    version: int
    modulus: int | None

    def of_identities(self, identities: Ints) -> Floats | Ints:
        """Record keys of records that are known by numbers."""
        drawn = draws(self.secret, "record_key", self.version, identities)
        return fractions(drawn) if self.modulus is None else whole_numbers(drawn, self.modulus)


def record_keys(ids: Any, key: bytes, *, version: int = 1, modulus: int | None = None) -> Floats | Ints:
    """Record keys from stable identifiers by a keyed hash.

    The same identifier has the same record key in every file, whatever its place, so that a corrected or enlarged
    file keeps the noise of the cells that did not change. Raise ``version`` to draw all keys anew.

    Parameters
    ----------
    ids
        Identifier of each record: numbers or texts (Arrow array, numpy array or list), without gaps or doubles.
    key
        The secret key of 32 bytes.
    version
        Version of the keys.
    modulus
        ``None`` for fractions in [0, 1); 256 or 4096 for whole keys below it.

    Returns
    -------
    numpy.ndarray
        One key per record, for the column that ``Microdata(record_key=)`` names.

    Examples
    --------
    >>> one = record_keys(["a", "b"], bytes(32))
    >>> two = record_keys(["c", "b", "a"], bytes(32))
    >>> bool(one[0] == two[2] and one[1] == two[1])
    True
    """
    if modulus is not None and not LEAST_KEYS <= modulus <= 2**31:
        raise ParameterError(
            f"modulus={modulus} must lie in {LEAST_KEYS} .. {2**31}: fewer keys tell too much of single records.",
            hint="Usual are 256 and 4096.",
        )
    made = MadeKeys("", key, version, modulus).of_identities(stable_identities(ids))
    if modulus is None:
        check_record_keys(made)
    return made


def stable_identities(ids: Any) -> Ints:
    """Numbers that stand for identifiers; missing and doubled ones are errors."""
    import pyarrow as pa

    column = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    column = column if isinstance(column, pa.Array) else pa.array(column)
    if column.null_count:
        raise no_identifier(column.null_count)
    found = identities_of(column)
    same = doubles(found)
    if same:
        raise same_identifier(len(column) - len(column.unique()), same)
    return found


def no_identifier(records: int) -> InputError:
    """Records without an identifier."""
    return InputError(
        f"{counted(records, 'record', 'have')} no identifier.", hint="Every record needs one that it keeps for good."
    )


def same_identifier(records: int, alike: int) -> InputError:
    """Records with the identifier of another one, or identifiers that only their numbers confuse."""
    if records:
        return InputError(
            f"{counted(records, 'record', 'have')} the identifier of another record.",
            hint="Record keys belong to single records; number the records of a household or firm.",
        )
    return InputError(
        f"{counted(alike, 'identifier')} cannot be told apart by 62-bit numbers.",
        hint="Use shorter identifiers: whole numbers of at most 18 digits are never mixed up.",
    )


def _digits(keys: Floats) -> int:
    """Decimals that record keys are written with, from 6 to 15: fewer digits make more of them equal by chance."""
    with_so_many = (d for d in range(FEWEST_DIGITS, 15) if np.array_equal(np.rint(keys * 10.0**d) / 10.0**d, keys))
    return next(with_so_many, 15)


def check_record_keys(keys: Any, modulus: int | None = None) -> None:
    """Refuse record keys that are missing, out of range, or equal far more often than chance makes them.

    Parameters
    ----------
    keys
        Fractions in [0, 1), or whole numbers when ``modulus`` is given.
    modulus
        Whole keys lie below it.
    """
    given = np.asarray(keys)
    if given.dtype.kind not in "iuf":
        raise InputError("Record keys must be numbers.")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError(
            f"{counted(int((~np.isfinite(given)).sum()), 'record key', 'are')} missing.", hint="Give every record one."
        )
    if modulus is None:
        if given.size and (given.min() < 0 or given.max() >= 1):
            raise InputError("Record keys must be fractions in [0, 1).", hint="Give modulus= for whole keys.")
        units, space = np.rint(given * FRACTIONS).astype(np.int64), 10 ** _digits(given)
    else:
        whole = given.dtype.kind in "iu" or not np.any(given != np.rint(given))
        if given.size and (given.min() < 0 or given.max() >= modulus or not whole):
            raise InputError(f"Record keys must be whole numbers in 0 .. {modulus - 1}.")
        units, space = given, modulus
    n = len(units)
    if modulus is None:
        refuse_equal_keys(n, doubles(units), space)
        return
    if n < 20 * space:
        return
    counts = np.zeros(space, np.int64)
    for at in range(0, n, AT_ONCE):  # whole columns of other types would be copied
        counts += np.bincount(units[at : at + AT_ONCE].astype(np.int64, copy=False), minlength=space)
    refuse_uneven_keys(counts, n, space)


def refuse_equal_keys(n: int, equal: int, space: int) -> None:
    """Refuse fractions of which more are equal than chance gives among so many possible ones."""
    expected = n * (n - 1) / 2 / space
    if equal > FEW + expected + 6 * np.sqrt(expected):
        raise InputError(
            f"{equal} of {counted(n, 'record key')} occur more than once; chance gives about {expected:.0f}.",
            hint="Keys with few digits or drawn per group protect little; make them with record_keys().",
            recipe_hint="Keys with few digits or drawn per group protect little; name a column of stable "
            'identifiers instead (identifier = "..." of the method), of which keys are made.',
        )


def refuse_uneven_keys(counts: Ints, n: int, space: int) -> None:
    """Refuse whole keys that occur more or less often than chance gives."""
    spread = float(((counts - n / space) ** 2).sum()) / (n / space)
    if spread > space + 10 * np.sqrt(2 * space):
        raise InputError(
            f"The {n:,} record keys are not spread evenly over 0 .. {space - 1}.",
            hint="Check that the modulus is that of the keys, or make them with record_keys(modulus=).",
            recipe_hint="Check that modulus is that of the keys, or name a column of stable identifiers instead "
            '(identifier = "..." of the method), of which keys are made.',
        )
