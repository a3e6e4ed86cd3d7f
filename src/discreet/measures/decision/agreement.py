"""Which values of a dictionary agree with a published one: equal, similar, below it in a hierarchy, in its interval."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Ints, pointers
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import code_text
from discreet.parameters import Declared, Number

EXACTLY = "exact"
DIGITS = r"[+-]?[0-9]+(?:\.[0-9]+)?"
INTERVAL = re.compile(
    rf"(?P<below><)(?P<end>{DIGITS})|(?P<from>{DIGITS})\+|(?P<low>{DIGITS})(?:-| to )(?P<open><)?(?P<high>{DIGITS})"
)
SLACK = 1e-12
"""Similarities that fall short of the threshold by less than this reach it."""


@dataclass(frozen=True)
class Jaro(Declared):
    """Values agree where their texts are similar (Jaro).

    Parameters
    ----------
    threshold
        The least similarity, above 0 and at most 1.

    Examples
    --------
    >>> Jaro(0.9)
    Jaro(threshold=0.9)
    """

    threshold: Annotated[float, Number(above=0, most=1)] = 0.8


Match = Any
"""``"exact"``, a :class:`Jaro`, a hierarchy, or a function of the published value and that of an entry."""


@dataclass(frozen=True, eq=False)
class AgreeingCodes:
    """For every published code the codes of the dictionary that agree with it, in rising order.

    Codes are numbers from 1; those that agree with code ``c`` stand from ``starts[c]`` to ``starts[c + 1]``.
    """

    starts: Ints
    codes: Ints

    def of(self, code: int) -> Ints:
        """The codes that agree with one."""
        return self.codes[self.starts[code] : self.starts[code + 1]]


def jaro(first: str, second: str) -> float:
    """How similar two texts are, from 0 to 1 (Jaro).

    Examples
    --------
    >>> round(jaro("MARTHA", "MARHTA"), 6), jaro("abc", "xyz")
    (0.944444, 0.0)
    """
    from discreet.measures.decision.kernels import jaro_similarity

    letters = [_letters(text) for text in (first, second)]
    room = [np.zeros(len(one), np.bool_) for one in letters]
    return float(jaro_similarity(*letters, *room))


def _letters(text: str) -> Any:
    return np.array([ord(sign) for sign in text], np.int32)


def agreeing_codes(
    published: Sequence[Any], entries: Sequence[Any], match: Match, also: Mapping[str, set[str]] | None = None
) -> AgreeingCodes:
    """Which values of entries agree with each published value.

    ``also`` names texts of entries that agree with the text of a published value besides those that match.
    """
    theirs = [code_text(value) for value in entries]
    place: dict[str, int] = {text: number for number, text in enumerate(theirs, 1)}
    find = _finder(match, entries, theirs, place)
    found = []
    for value in published:
        mine = find(value)
        if also is not None:
            mine = mine | {place[text] for text in also.get(code_text(value), ()) if text in place}
        found.append(np.array(sorted(mine), np.int64))
    lengths = np.array([0, *map(len, found)], np.int64)
    return AgreeingCodes(pointers(lengths), np.concatenate([np.zeros(0, np.int64), *found]))


def _finder(
    match: Match, entries: Sequence[Any], theirs: Sequence[str], place: Mapping[str, int]
) -> Callable[[Any], set[int]]:
    """From a published value to the numbers of the entries' values that agree with it."""
    if match == EXACTLY:
        return lambda value: {place[text] for text in (code_text(value),) if text in place}
    if isinstance(match, Jaro):
        return _similar(theirs, match.threshold)
    if isinstance(match, Hierarchy):
        return _below(match, theirs, place)
    if callable(match):
        return lambda value: {number for number, other in enumerate(entries, 1) if match(value, other)}
    raise ParameterError(
        f"match={match!r} is not allowed.",
        hint='Give "exact", ds.measures.Jaro(0.8), a hierarchy, a function of two values, or these by attribute.',
    )


def _similar(theirs: Sequence[str], threshold: float) -> Callable[[Any], set[int]]:
    from discreet.measures.decision.kernels import similar_texts

    starts = pointers(np.array([len(text) for text in theirs], np.int64))
    letters = np.array([ord(sign) for text in theirs for sign in text], np.int32)
    used = np.zeros(int(np.diff(starts).max(initial=0)), np.bool_)
    found = np.empty(len(theirs), np.int64)

    def find(value: Any) -> set[int]:
        text = _letters(code_text(value))
        taken = np.zeros(len(text), np.bool_)
        many = similar_texts(text, letters, starts, threshold - SLACK, taken, used, found)
        return set((found[:many] + 1).tolist())

    return find


def _below(hierarchy: Hierarchy, theirs: Sequence[str], place: Mapping[str, int]) -> Callable[[Any], set[int]]:
    """Codes that have a base code in common; codes that the hierarchy does not have agree with themselves."""
    owners: dict[str, set[int]] = {}
    for number, text in enumerate(theirs, 1):
        for base in hierarchy.covered(text) if text in hierarchy.index else ():
            owners.setdefault(base, set()).add(number)

    def find(value: Any) -> set[int]:
        text = code_text(value)
        own = {place[text]} if text in place else set()
        if text not in hierarchy.index:
            return own
        return own.union(*(owners.get(base, ()) for base in hierarchy.covered(text)))

    return find


def in_intervals(published: Sequence[Any], entries: Sequence[Any]) -> dict[str, set[str]]:
    """Texts of entries that are numbers in an interval that a published text names.

    Examples
    --------
    >>> found = in_intervals(["<15", "15-29", "0.5 to <1", "30+"], [14, 15, 29, 0.5, 1, 30])
    >>> {name: sorted(texts) for name, texts in found.items()}
    {'<15': ['0.5', '1', '14'], '15-29': ['15', '29'], '0.5 to <1': ['0.5'], '30+': ['30']}
    """
    numbers = {text: float(text) for text in map(code_text, entries) if re.fullmatch(DIGITS, text)}
    found = {}
    for text in map(code_text, published):
        named = INTERVAL.fullmatch(text)
        if named is not None:
            found[text] = {other for other, number in numbers.items() if _inside(number, named)}
    return found


def _inside(number: float, named: re.Match[str]) -> bool:
    if named["below"]:
        return number < float(named["end"])
    if named["from"]:
        return number >= float(named["from"])
    high = float(named["high"])
    return float(named["low"]) <= number and (number < high if named["open"] else number <= high)
