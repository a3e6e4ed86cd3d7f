"""Families of transition matrices in the notation of de Wolf (2006): ``7B(0.6;3)``, ``Block(2; 1; 3F(0.6))``.

``nB(p;b)`` is a band, ``nE(p)`` spreads evenly, ``nF(p)`` prefers rare codes, ``Block(m; ...)`` puts ``m`` of them one
behind the other, in the order of the codes; a 1 is a code that stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats

FORMS = "Write nE(p), nF(p), nB(p;b) or Block(m; ...; ...), such as '7B(0.6;3)' or 'Block(2; 1; 4E(0.8))'."
NUMBER = r"[0-9]*\.?[0-9]+|[0-9]+\."
FAMILY = re.compile(rf"([0-9]*)([BEF])\(({NUMBER})(?:;({NUMBER}|1½))?\)", re.IGNORECASE | re.ASCII)
BLOCK = re.compile(r"block\(([0-9]+);(.*)\)", re.IGNORECASE | re.ASCII)
NEXT_ONLY = 1.5
"""The width of a band in which codes move to the next one only."""


@dataclass(frozen=True)
class MatrixFamily:
    """One family: its letter, the number of codes (nothing where all are meant), the diagonal, the width of a band."""

    letter: str
    size: int | None
    stay: float
    width: float = 0.0

    def chances(self, counts: Floats) -> Floats:
        """The matrix of a family, over codes that occur so often."""
        size = len(counts)
        if size == 1:
            return np.ones((1, 1))
        if self.letter == "B":
            return self._band(size)
        even = np.full((size, size), (1 - self.stay) / (size - 1))
        found = self._towards_rare(counts, even) if self.letter == "F" and size > 2 else even
        np.fill_diagonal(found, self.stay)
        return found

    def _band(self, size: int) -> Floats:
        place = np.arange(size)
        apart = place[None, :] - place[:, None]
        near = (np.abs(apart) < self.width) & (apart != 0)
        if self.width == NEXT_ONLY:
            near = apart == 1
            near[-1, -2] = True  # the last code has no next one
        found: Floats = near * ((1 - self.stay) / near.sum(axis=1))[:, None]
        np.fill_diagonal(found, self.stay)
        return found

    def _towards_rare(self, counts: Floats, even: Floats) -> Floats:
        others = counts.sum() - counts
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (1 - self.stay) * (others[:, None] - counts[None, :]) / ((len(counts) - 2) * others[:, None])
        return np.where(others[:, None] > 0, found, even)  # evenly where all others are empty


@dataclass(frozen=True)
class MatrixNotation:
    """A notation that was read: its families in their order."""

    text: str
    families: tuple[MatrixFamily, ...]

    @property
    def size(self) -> int | None:
        """The number of codes; nothing where it is for any number."""
        sizes = [family.size for family in self.families]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def looks_at_counts(self) -> bool:
        """Whether the matrix depends on how often codes occur."""
        return any(family.letter == "F" for family in self.families)

    def chances(self, counts: Sequence[float] | Floats) -> Floats:
        """The matrix over codes that occur so often, in their order.

        Examples
        --------
        >>> read_notation("3E(0.8)").chances([1, 1, 1]).round(2).tolist()
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
        """
        times = np.asarray(counts, np.float64)
        if self.size is not None and self.size != len(times):
            raise InputError(
                f"{self.text!r} is for {counted(self.size, 'code')}, and there are {len(times)}.",
                hint="Correct the number, or name the codes in their order with codes=.",
            )
        if self.looks_at_counts and (np.any(~np.isfinite(times)) or np.any(times < 0)):
            raise InputError("Counts of codes must be numbers of at least 0.", hint="Count the records of each code.")
        found = np.zeros((len(times), len(times)))
        first = 0
        for family in self.families:
            some = slice(first, first + (len(times) if family.size is None else family.size))
            found[some, some] = family.chances(times[some])
            first = some.stop
        return found


def read_notation(text: str) -> MatrixNotation:
    """Read the notation of a matrix.

    Examples
    --------
    >>> read_notation("Block(2; 1; 7B(.6;3))").size
    8
    """
    plain = re.sub(r"\s+", "", text)
    block = BLOCK.fullmatch(plain)
    if block is None:
        return MatrixNotation(text, (_family(plain, text),))
    parts = re.split(r";(?![^(]*\))", block[2])
    families = tuple(MatrixFamily("E", 1, 1.0) if part == "1" else _family(part, text) for part in parts)
    if len(families) != int(block[1]):
        raise ParameterError(
            f"{text!r} announces {counted(int(block[1]), 'block')} and has {len(families)}.", hint="Correct the number."
        )
    if len(families) > 1 and any(family.size is None for family in families):
        raise ParameterError(f"A block of {text!r} has no number of codes.", hint=FORMS)
    return MatrixNotation(text, families)


def _family(part: str, text: str) -> MatrixFamily:
    found = FAMILY.fullmatch(part)
    if found is None:
        raise ParameterError(f"{text!r} is no notation of a matrix.", hint=FORMS)
    size = int(found[1]) if found[1] else None
    letter, stay = found[2].upper(), float(found[3])
    width = NEXT_ONLY if found[4] == "1½" else float(found[4] or 0)
    if size == 0 or not isfinite(stay) or not 0 <= stay <= 1:
        raise ParameterError(f"{part!r} is no matrix.", hint="p lies from 0 to 1, and there is at least one code.")
    if (letter == "B") != bool(found[4]):
        raise ParameterError(f"{part!r} is no matrix.", hint="nB(p;b) has a width b; nE(p) and nF(p) have none.")
    if letter == "B" and width != NEXT_ONLY and (width < 2 or width != int(width)):
        raise ParameterError(f"{part!r} is no band.", hint="Its width is 1.5 (the next code only), 2, 3, ...")
    if size == 1 and stay != 1:
        raise ParameterError(f"{part!r} has nowhere to move to.", hint="Write 1 for a code that stays.")
    return MatrixFamily(letter, size, stay, width)


def invariant_chances(chances: Floats, counts: Floats) -> Floats:
    """A matrix after which the expected counts are the counts before: a move, and one back by the chances of Bayes.

    Codes that do not occur are not reached.

    Examples
    --------
    >>> counts = np.array([110.0, 90.0])
    >>> matrix = invariant_chances(np.array([[0.9, 0.1], [0.1, 0.9]]), counts)
    >>> (counts @ matrix).round(6).tolist()
    [110.0, 90.0]
    """
    expected = counts @ chances
    joint = chances * counts[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        back = np.where(expected[:, None] > 0, joint.T / expected[:, None], np.eye(len(counts)))
    found: Floats = chances @ back
    return found
