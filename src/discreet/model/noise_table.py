"""Noise tables: which change a cell key stands for, for every count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model import doors
from discreet.model.arrays import Floats, Ints, pointers

if TYPE_CHECKING:
    from discreet.tables.perturb.entropy import Mode

FRACTIONS = 10**15
"""How many steps fractional cell keys have; the engine sums record keys to the same modulus."""
NOT_ONE = 1e-6
"""How far the probabilities of a row may be from one when they come from a file with few digits."""

LISTED = 2**16
"""Rows of whole numbers are looked up in a list of this size at most, which is faster than a search."""


class NoiseRow(NamedTuple):
    """One row: changes with their probabilities, in the order in which cell keys meet them."""

    value: float
    change: Floats
    probability: Floats

    @property
    def mean(self) -> float:
        """Expected change."""
        return float(self.change @ self.probability)

    @property
    def variance(self) -> float:
        """Variance of the change."""
        return float(self.change**2 @ self.probability) - self.mean**2

    @property
    def stay(self) -> float:
        """Probability of no change."""
        return float(self.probability[self.change == 0].sum())


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Changes by count and cell key, exact: cell keys are whole numbers below ``modulus``.

    Make one by :meth:`maximum_entropy`, read one by ``ds.read_noise_table``, or give probabilities to
    :meth:`from_probabilities`.

    Parameters
    ----------
    values
        Value of each row, ascending, first 0. Counts between and above use the last row that is not above them;
        magnitudes are interpolated.
    start
        Where the intervals of each row begin (and where the last end).
    upper
        Upper limit of each interval of cell keys, the limit itself left out; the last of a row is ``modulus``.
    change
        Change of each interval, in units of ``1 / step``.
    modulus
        How many cell keys there are: 10**15 stands for fractions, 256 or 4096 for whole record keys.
    step
        How many units make a change of one (1 for counts).
    cycle
        How many of the last rows are used again and again for larger counts; 1 uses the last one only.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.NoiseTable.from_probabilities({1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> table.row(1).mean, table.row(1).variance, table.row(1).stay
    (0.0, 0.5, 0.5)
    """

    values: Floats
    start: Ints
    upper: Ints
    change: Ints
    modulus: int = FRACTIONS
    step: int = 1
    cycle: int = 1

    def __post_init__(self) -> None:
        if self.modulus < 2 or self.step < 1:
            raise ParameterError("A noise table needs modulus >= 2 and step >= 1.")
        if len(self.values) == 0 or self.values[0] != 0 or np.any(np.diff(self.values) <= 0):
            raise InputError("The rows of a noise table must ascend from 0.", hint="Give each value one row.")
        if not 1 <= self.cycle < max(len(self.values), 2):
            raise ParameterError(f"cycle={self.cycle} must lie in 1 .. {max(len(self.values) - 1, 1)}.")
        if len(self.start) != len(self.values) + 1 or not self.start[-1] == len(self.upper) == len(self.change):
            raise InputError("The columns of the noise table do not fit together.")
        lengths = np.diff(self.start)
        if lengths.min() < 1:
            raise InputError("A row of the noise table has no change.", hint="A row that changes nothing has change 0.")
        first = np.zeros(len(self.upper), np.bool_)
        first[self.start[:-1]] = True
        before = np.where(first, 0, np.roll(self.upper, 1))
        if np.any(self.upper <= before) or np.any(self.upper[self.start[1:] - 1] != self.modulus):
            raise InputError("The limits of a row of the noise table must ascend to its modulus.")
        if np.any(self.change[: self.start[1]] != 0):
            raise InputError("The row of the noise table for 0 must change nothing.", hint="Empty cells stay empty.")
        below = np.repeat(self.values, lengths) * self.step + self.change < 0
        if below.any():
            value = np.repeat(self.values, lengths)[below][0]
            raise InputError(
                f"The row of the noise table for {value:g} leads below zero.", hint="Changes may not exceed the count."
            )

    @staticmethod
    def maximum_entropy(
        D: int,
        V: float | Sequence[float],
        js: int = 0,
        *,
        p_stay: float | Sequence[float | None] | None = None,
        monotone: bool | Sequence[bool] = True,
        mode: Mode | Sequence[Mode] = "at_most",
        step: int = 1,
        values: Sequence[int] | None = None,
    ) -> NoiseTable:
        """A noise table with mean zero, bounded changes and the largest entropy.

        ``V``, ``p_stay``, ``monotone`` and ``mode`` may be given for every row, in a list.

        Parameters
        ----------
        D
            Largest absolute change.
        V
            Variance of the change.
        js
            Results 1 .. js never occur; counts that small become 0 or more than js.
        p_stay
            Least probability of no change (left out where the count itself is forbidden).
        monotone
            Whether probabilities may not fall while the change rises to zero, as in the package ptable. Without it
            the rows are those of Langsrud (2021).
        mode
            ``"at_most"``: the variance is V at most; ``"exact"``: it is V; ``"lower_stay"``: as ``"at_most"``, but
            where ``p_stay`` keeps the variance below V it is lowered by 0.05 until V is met.
        step
            Changes are multiples of ``1 / step``; more than 1 for magnitudes.
        values
            Values of the rows; left out, ``1 .. D + js + 1`` for counts. Magnitudes are interpolated between rows.

        Raises
        ------
        ParameterError
            When a row cannot have the variance; the message names the least and the largest that it can have.

        Examples
        --------
        >>> NoiseTable.maximum_entropy(2, 1.0)
        NoiseTable(4 rows, changes -2 .. 2, modulus 1,000,000,000,000,000)
        """
        return doors.maximum_entropy(D, V, js, p_stay=p_stay, monotone=monotone, mode=mode, step=step, values=values)

    @classmethod
    def from_probabilities(
        cls, rows: Mapping[float, Mapping[float, float] | Iterable[tuple[float, float]]], *, step: int = 1
    ) -> NoiseTable:
        """A table from probabilities: for every value the changes, in the order of the keys, with their probabilities.

        Examples
        --------
        >>> NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}}).row(1).variance
        1.0
        """
        built: list[tuple[float, Ints, Ints]] = []
        wanted = dict(rows)
        wanted.setdefault(0.0, [(0.0, 1.0)])
        for value, given in sorted(wanted.items()):
            pairs = list(given.items()) if isinstance(given, Mapping) else list(given)
            change = np.array([pair[0] for pair in pairs], np.float64)
            probability = np.array([pair[1] for pair in pairs], np.float64)
            built.append((float(value), whole_changes(value, change, step), limits_of(value, probability)))
        return cls.from_intervals(built, step=step)

    @classmethod
    def from_intervals(
        cls, rows: Sequence[tuple[float, Ints, Ints]], *, modulus: int = FRACTIONS, step: int = 1, cycle: int = 1
    ) -> NoiseTable:
        """A table from rows of (value, changes in units, upper limits of keys); intervals without keys are left out."""
        kept = [(value, change, upper, np.diff(upper, prepend=0) > 0) for value, change, upper in rows]
        return cls(
            np.array([row[0] for row in kept], np.float64),
            pointers(np.array([int(row[3].sum()) for row in kept], np.int64)),
            np.concatenate([row[2][row[3]] for row in kept]).astype(np.int64),
            np.concatenate([row[1][row[3]] for row in kept]).astype(np.int64),
            modulus,
            step,
            cycle,
        )

    def __len__(self) -> int:
        return len(self.values)

    def record(self) -> dict[str, Any]:
        """The table as plain data."""
        columns = {name: getattr(self, name).tolist() for name in ("values", "start", "upper", "change")}
        return {**columns, "modulus": self.modulus, "step": self.step, "cycle": self.cycle}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> NoiseTable:
        """A table from plain data."""
        known = ("values", "start", "upper", "change", "modulus", "step", "cycle")
        if set(record) != set(known):
            raise ParameterError(
                "A noise table as plain data has " + ", ".join(known) + ".", hint="Give a NoiseTable or its file."
            )
        start, upper, change = (np.array(record[name], np.int64) for name in known[1:4])
        modulus, step, cycle = (int(record[name]) for name in known[4:])
        return cls(np.array(record["values"], np.float64), start, upper, change, modulus, step, cycle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoiseTable) and self.record() == other.record()

    def __hash__(self) -> int:
        return hash((len(self), self.modulus, self.change.tobytes()))

    def __repr__(self) -> str:
        changes = f"changes {self.least:g} .. {self.largest:g}"
        return f"NoiseTable({counted(len(self), 'row')}, {changes}, modulus {self.modulus:,})"

    def row(self, value: float) -> NoiseRow:
        """The row of a count."""
        return self.at(int(self.rows_of(np.array([value]))[0]))

    def at(self, number: int) -> NoiseRow:
        """A row by its number."""
        part = slice(int(self.start[number]), int(self.start[number + 1]))
        width = np.diff(self.upper[part], prepend=0)
        return NoiseRow(float(self.values[number]), self.change[part] / self.step, width / self.modulus)

    def rows_of(self, values: Floats | Ints) -> Ints:
        """Number of the row of each count."""
        last = int(self.values[-1])
        if np.asarray(values).dtype.kind == "i" and last < LISTED:
            listed = np.searchsorted(self.values, np.arange(last + 1), side="right") - 1
            found = listed.take(np.asarray(values, np.int64), mode="clip")
        else:
            found = np.searchsorted(self.values, values, side="right") - 1
        if self.cycle > 1 and np.max(values, initial=0) > last:
            beyond = values > last
            found[beyond] = len(self) - self.cycle + (np.asarray(values[beyond], np.int64) - last - 1) % self.cycle
        return found.astype(np.int64, copy=False)

    @property
    def least(self) -> float:
        """The largest change downwards, as a negative number."""
        return float(self.change.min()) / self.step

    @property
    def largest(self) -> float:
        """The largest change upwards."""
        return float(self.change.max()) / self.step

    @property
    def forbidden(self) -> list[int]:
        """Small positive results that never occur, although larger ones do: 1 .. js."""
        if self.step != 1:
            return []
        results = set((np.repeat(self.values, np.diff(self.start)) + self.change).astype(np.int64).tolist())
        return [value for value in range(1, min(results - {0}, default=1)) if value not in results]

    def quantised(self, modulus: int) -> NoiseTable:
        """The same table for whole record keys: limits are rounded to so many keys, which moves means a little."""
        upper = -(-(self.upper.astype(object) * 2 * modulus - self.modulus) // (2 * self.modulus))
        limits = np.array(upper, np.int64)
        rows = [
            (float(value), self.change[a:b], limits[a:b])
            for value, a, b in zip(self.values, self.start[:-1], self.start[1:], strict=True)
        ]
        return NoiseTable.from_intervals(rows, modulus=modulus, step=self.step, cycle=self.cycle)

    def shuffled(self, key: bytes, *, largest: float = 0.05, version: int = 1) -> NoiseTable:
        """The same probabilities in small pieces, in an order that only the key knows.

        In a table made in ascending order the cell key tells the sign of the change; here it tells nothing. Of
        several arrangements the one with the fewest equal neighbours is taken.

        Parameters
        ----------
        key
            The secret key of 32 bytes.
        largest
            Pieces have at most this share of the cell keys.
        version
            Version of the arrangement.

        Examples
        --------
        >>> table = NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}})
        >>> len(table.shuffled(bytes(32), largest=0.25).row(1).change) > 2
        True
        """
        return doors.shuffled(self, key, largest=largest, version=version)

    def image(self, label: str = "Probability of each change") -> str:
        """Probabilities as shades, one row per count and one column per change, as an inline ``svg`` element.

        Parameters
        ----------
        label
            Words for those who cannot see the image.

        Examples
        --------
        >>> NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}}).image().startswith("<svg")
        True
        """
        return doors.noise_image(self, label)


def limits_of(value: float, probability: Floats, modulus: int = FRACTIONS) -> Ints:
    """Upper limits of cell keys for the probabilities of a row; an error when they are not probabilities."""
    total = float(probability.sum()) if len(probability) else 0.0
    if not np.isfinite(probability).all() or probability.min(initial=0.0) < 0:
        raise InputError(f"The row of the noise table for {value:g} has a probability below zero or none at all.")
    if abs(total - 1) > NOT_ONE:
        raise InputError(
            f"The probabilities of the noise table for {value:g} sum to {total:.8g}, not to 1.",
            hint="Complete the row; every count needs a change for every cell key.",
        )
    upper = np.rint(np.cumsum(probability) / total * modulus).astype(np.int64)
    upper[np.flatnonzero(probability)[-1] :] = modulus
    result: Ints = upper
    return result


def whole_changes(value: float, change: Floats, step: int) -> Ints:
    """Changes in units of a step; an error when one is no multiple of it."""
    units = np.rint(change * step)
    if np.any(np.abs(units - change * step) > 1e-6):
        raise InputError(
            f"The row of the noise table for {value:g} has changes that are no multiples of 1/{step}.",
            hint="Counts need whole changes; give step= for magnitudes.",
        )
    result: Ints = units.astype(np.int64)
    return result
