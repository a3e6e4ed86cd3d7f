"""Totals of a published table without hierarchies: found by adding up, and by name only where that tells nothing."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.files.foreign import ForeignCells
from discreet.model.arrays import Bools, Floats
from discreet.model.hierarchy import Hierarchy
from discreet.relations.adding import SumFound, found_sums, sum_of_all_others

TOTAL_WORDS = frozenset(
    (
        "total",
        "totals",
        "sum",
        "all",
        "overall",
        "together",
        "insgesamt",
        "gesamt",
        "summe",
        "zusammen",
        "ensemble",
        "totaal",
        "totale",
        "totali",
        "totales",
        "totalt",
        "suma",
        "razem",
        "ogółem",
        "celkem",
        "spolu",
        "skupaj",
        "ukupno",
        "összesen",
        "yhteensä",
        "summa",
        "kokku",
        "kopā",
        "tot",
        "tots",
        "всего",
        "итого",
        "σύνολο",
    )
)
"""Words for a total, folded; they count only where adding up does not tell."""
UNLISTED = ("Total", "(all)", "(everything)")


class Inferred(NamedTuple):
    """Codes of a variable as a hierarchy; ``found`` says whether a total is known, ``denied`` that there is none, and
    ``said`` what was taken for a sum."""

    hierarchy: Hierarchy
    found: bool
    denied: bool
    said: tuple[str, ...]


def infer_codes(read: ForeignCells, k: int, total: str | None, near: float) -> Inferred:
    """Codes of a column of a published table, in sums.

    Parameters
    ----------
    read
        The table as it was read.
    k
        Which of its columns.
    total
        Code of the total where it has that name; ``None`` where the table has no totals.
    near
        How far each number may be off.
    """
    codes = list(dict.fromkeys(cell[k] for cell in read.codes))
    named = next((code for code in codes if code in (total, "")), None)
    if not [code for code in codes if code != named]:
        raise InputError(f"Column {read.variables[k]!r} holds no codes but the total.", hint="Leave it out.")
    if total is None:
        return Inferred(_tree({}, [code for code in codes if code], None), False, True, ())
    values, unlisted = _lines(read, k, codes)
    sums = _sums(values, unlisted, near)
    parents = {codes[part]: codes[one.parent] for one in sums for part in one.parts}
    roots = [code for code in codes if code not in parents]
    said = [_in_words(codes, one) for one in sums if named is None or codes[one.parent] != named]
    if len(roots) == 1 and len(codes) > 1:
        return Inferred(_tree(parents, codes, roots[0]), True, False, tuple(said))
    if named is None:
        named = next((code for code in roots if _folded(code) in TOTAL_WORDS), None)
        if named is not None:
            said.append(f"code {named!r} is the total, by its name: adding up does not tell")
    return Inferred(_tree(parents, codes, named), named is not None, False, tuple(said))


def _sums(values: Floats, unlisted: Bools, near: float) -> list[SumFound]:
    """Sums that hold to the last digit, or else as closely as rounded numbers can; cells not listed may be zeros."""
    for off in dict.fromkeys((0.0, near)):
        for shown in (values, np.where(unlisted, 0.0, values)):
            whole = sum_of_all_others(shown, off)
            found = found_sums(shown, off) if whole is None else [whole]
            if found:
                return found
    return []


def _in_words(codes: list[str], one: SumFound) -> str:
    return f"code {codes[one.parent]!r} is the sum of {counted(len(one.parts), 'other')}: it adds up in " + counted(
        one.lines, "line"
    )


def _tree(parents: dict[str, str], codes: list[str], total: str | None) -> Hierarchy:
    """Codes under what they are parts of, and what is a part of nothing under the total, listed or not."""
    root = next(word for word in UNLISTED if word not in codes) if total is None else total or UNLISTED[0]
    return Hierarchy.from_parents(
        {code or root: parents.get(code, root) or root for code in codes if code != total}, root
    )


def _lines(read: ForeignCells, k: int, codes: list[str]) -> tuple[Floats, Bools]:
    """One row per code, one column a combination of the other codes; not a number where nothing is shown.

    And which of them the table does not list at all, as it may leave out zeros.
    """
    row = {code: i for i, code in enumerate(codes)}
    lines: dict[tuple[str, ...], int] = {}
    places = [lines.setdefault((*cell[:k], *cell[k + 1 :]), len(lines)) for cell in read.codes]
    values = np.full((len(codes), len(lines)), np.nan)
    unlisted = np.ones(values.shape, np.bool_)
    for cell, line, number in zip(read.codes, places, read.values, strict=True):
        values[row[cell[k]], line] = np.nan if number is None else float(number)
        unlisted[row[cell[k]], line] = False
    return values, unlisted


def _folded(code: str) -> str:
    """A code without case, invisible characters and punctuation around it."""
    plain = unicodedata.normalize("NFKC", code)
    seen = "".join(letter for letter in plain if unicodedata.category(letter)[0] not in "CZ" or letter == " ")
    return " ".join(seen.casefold().strip(" .:-–—*()[]").split())
