"""Transition matrices of post-randomisation: for every code the chances of what is published in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats
from discreet.model.transition_families import invariant_chances, read_notation

NEARLY_ONE = 1e-9
"""Rows must sum to 1 to this."""
ILL_CONDITIONED, SINGULAR = 1e6, 1e13
"""Condition numbers from which estimates are warned about, and from which there is no inverse to speak of."""


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """The chances with which each code of a column was published as each other.

    Parameters
    ----------
    column
        The column.
    codes
        Its codes. The code ``""`` stands for an empty field, where empty fields are drawn like codes.
    chances
        A row for each original code, a column for each published one; rows sum to 1.
    within, stratum
        Columns and their codes, where the matrix is that of the records with these codes only.

    Examples
    --------
    >>> import discreet as ds
    >>> matrix = ds.TransitionMatrix.from_notation("sex", "2E(0.9)", ["m", "f"])
    >>> matrix.chances.round(2).tolist(), round(matrix.condition, 2)
    ([[0.9, 0.1], [0.1, 0.9]], 1.25)
    """

    column: str
    codes: tuple[str, ...]
    chances: Floats
    within: tuple[str, ...] = ()
    stratum: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("codes", "within", "stratum"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "chances", checked_chances(self.column, self.codes, self.chances))
        if len(self.within) != len(self.stratum):
            raise ParameterError("A matrix of a stratum has one code for each column of within.")

    @classmethod
    def from_notation(
        cls,
        column: str,
        notation: str,
        codes: Sequence[str],
        counts: Sequence[float] | None = None,
        *,
        invariant: bool = False,
    ) -> TransitionMatrix:
        """A matrix of a family, such as ``"7B(0.6;3)"``, ``"2E(0.8)"`` or ``"Block(2; 1; 3F(0.6))"``.

        Parameters
        ----------
        column
            The column.
        notation
            ``nE(p)``: a code stays with chance ``p`` and becomes any other one evenly. ``nB(p;b)``: only codes less
            than ``b`` places away; with ``b`` 1.5 only the next one. ``nF(p)``: rather rare codes than frequent ones.
            ``Block(m; ...)``: ``m`` of them, one behind the other; a 1 is a code that stays.
        codes
            The codes in their order.
        counts
            How often each occurs, for ``nF(p)`` and for ``invariant``.
        invariant
            Move a second time, back by the chances of Bayes, so that the expected counts are those before.

        Examples
        --------
        >>> matrix = TransitionMatrix.from_notation("x", "3F(0.6)", ["a", "b", "c"], [5576, 24, 632])
        >>> matrix.chances.round(4).tolist()[0]
        [0.6, 0.3854, 0.0146]
        """
        read = read_notation(notation)
        if counts is None and (read.looks_at_counts or invariant):
            raise ParameterError(f"{notation!r} looks at how often codes occur.", hint="Give counts=.")
        times = np.ones(len(codes)) if counts is None else np.asarray(counts, np.float64)
        if times.shape != (len(codes),):
            raise ParameterError(f"There are {len(codes)} codes and counts of shape {times.shape}.")
        chances = read.chances(times)
        return cls(column, tuple(codes), invariant_chances(chances, times) if invariant else chances)

    @classmethod
    def from_mapping(cls, column: str, chances: Mapping[str, Mapping[str, float]]) -> TransitionMatrix:
        """A matrix from original codes to published codes to chances; what is not named has none.

        Examples
        --------
        >>> TransitionMatrix.from_mapping("x", {"a": {"a": 0.7, "b": 0.3}, "b": {"b": 1}}).chances.tolist()
        [[0.7, 0.3], [0.0, 1.0]]
        """
        codes = tuple(chances)
        place = {code: i for i, code in enumerate(codes)}
        found = np.zeros((len(codes), len(codes)))
        for code, row in chances.items():
            for to, chance in row.items():
                if to not in place:
                    raise ParameterError(
                        f"The matrix of {column!r} moves {code!r} to {to!r}, which has no row.",
                        hint=f"Give {to!r} a row, if only {{{to!r}: 1}}.",
                    )
                if isinstance(chance, bool) or not isinstance(chance, int | float):
                    raise ParameterError(
                        f"The matrix of {column!r} does not hold numbers only.", hint="Give chances from 0 to 1."
                    )
                found[place[code], place[to]] = chance
        return cls(column, codes, found)

    @property
    def condition(self) -> float:
        """The condition number: how much the inverse may amplify; infinite where there is none."""
        return condition_of(self.chances)

    @property
    def inverse(self) -> Floats:
        """The inverse, for estimates of what was before; a singular matrix has none, and that is an error."""
        if self.condition > SINGULAR:
            raise InputError(
                f"The matrix of {self.column!r} is singular: it does not tell the counts before.",
                hint="Nothing can be estimated with it. Ask the custodian for another matrix.",
            )
        found: Floats = np.linalg.inv(self.chances).astype(np.float64)
        return found

    def record(self) -> dict[str, Any]:
        """The matrix as plain data."""
        return {
            "column": self.column,
            "codes": list(self.codes),
            "chances": self.chances.tolist(),
            "within": list(self.within),
            "stratum": list(self.stratum),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> TransitionMatrix:
        """A matrix from plain data."""
        try:
            names = [tuple(str(code) for code in record[name]) for name in ("codes", "within", "stratum")]
            return cls(str(record["column"]), names[0], np.array(record["chances"], np.float64), names[1], names[2])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "This is no transition matrix.", hint="It has column, codes, chances, within and stratum."
            ) from None

    def __repr__(self) -> str:
        where = ", ".join(f"{name} {code!r}" for name, code in zip(self.within, self.stratum, strict=True))
        return f"TransitionMatrix({self.column!r}, {counted(len(self.codes), 'code')}{f', {where}' if where else ''})"


def checked_chances(column: str, codes: Sequence[str], given: Any) -> Floats:
    """A matrix that is one: a row and a column for every code, chances in it, and rows that sum to 1."""
    try:
        chances = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"The matrix of {column!r} does not hold numbers only.", hint="Give rows of chances."
        ) from None
    if not codes or len(set(codes)) < len(codes):
        raise ParameterError(f"The codes of {column!r} must be given, each once.", hint="Name every code in codes=.")
    if chances.shape != (len(codes), len(codes)):
        shape = " x ".join(map(str, chances.shape))
        raise ParameterError(
            f"The matrix of {column!r} is {shape}, and there are {counted(len(codes), 'code')}.",
            hint="Give a row and a column for each code, in the order of the codes.",
        )
    if not np.isfinite(chances).all() or chances.min() < 0:
        raise ParameterError(f"The matrix of {column!r} holds what is no chance.", hint="Give numbers from 0 to 1.")
    wrong = np.flatnonzero(np.abs(chances.sum(axis=1) - 1) > NEARLY_ONE).tolist()
    if wrong:
        sums = ", ".join(f"{codes[row]!r} to {chances[row].sum():.10g}" for row in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ParameterError(
            f"Rows of the matrix of {column!r} do not sum to 1: {sums}{more}.",
            hint="Rows are the original codes, columns the published ones; each row sums to 1.",
        )
    chances.setflags(write=False)
    return chances


def condition_of(chances: Floats) -> float:
    """The condition number of a matrix; infinite where it has no inverse."""
    with np.errstate(all="ignore"):
        found = float(np.linalg.cond(chances))
    return found if np.isfinite(found) else float("inf")


def published_matrices(steps: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[TransitionMatrix, ...]:
    """The matrices that go out, from methods as plain data and the facts of their evidence."""
    return tuple(
        TransitionMatrix.from_record(entry)
        for method, facts in steps
        if method.get("method") == "pram"
        for entry in facts["matrices"]
        if entry["column"] in method["publish"]
    )
