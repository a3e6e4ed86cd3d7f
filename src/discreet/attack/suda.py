"""Special uniques: by how few keys a record stands alone, and which keys are to blame (Elliot, Manning, Ford 2002).

A *minimal sample unique* of a record is a set of keys in which nobody else has its values, while in every smaller set
somebody has. A record with many small ones is likely to be unique in the population, too. With ``m`` keys, one of size
``s`` counts ``(m - s)!``, and the score of a record is their sum. Scores and shares are those of sdcMicro's ``suda2``
with its factor of the original paper.

The *data intrusion score* turns scores into probabilities of a correct match. For a unique of the file it is, on the
whole, ``U d / (U d + P (1 - d))``, with ``U`` uniques, ``P`` records in pairs and a sampling fraction ``d``. The odds
of a record are proportional to its score to the power of ``1 + (8 - m) / 20``, and such that their harmonic mean over
the uniques is the odds of the file. This is what sdcMicro computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Codes, Floats, Ints
from discreet.progress import steps
from discreet.room import require
from discreet.rules.key_counts import KeyCodes, Meaning, records_like

ALL_SUBSETS = 12
"""Every set of keys is looked at for up to so many keys; beyond, sets of at most a stated size."""
MOST_SETS = 20_000
DENSE = 2**22
"""Combinations are numbered by place up to here (or eight times the cells), and by hashing beyond."""


@dataclass(frozen=True, eq=False)
class Suda:
    """What makes records of a file special.

    Parameters
    ----------
    keys
        Names of the keys.
    size
        The most keys of a set that was looked at.
    score
        The score of each record; 0 where it has no minimal sample unique.
    uniques
        How many records stand alone by all keys.
    paired
        How many records share all keys with exactly one other.
    sizes
        How many minimal sample uniques there are of each size, from 1 on.
    smallest
        The size of the smallest minimal sample unique of each record; 0 where it has none.
    """

    keys: tuple[str, ...]
    size: int
    score: Floats
    uniques: int
    paired: int
    sizes: tuple[int, ...]
    smallest: Ints
    _rows: Ints
    _parts: Floats
    _codes: KeyCodes

    @property
    def special(self) -> int:
        """How many records have a minimal sample unique."""
        return int((self.score > 0).sum())

    @property
    def contributions(self) -> dict[str, float]:
        """Per key its share of the scores of all records: the part that comes from sets which hold the key.

        Shares add up to more than 1, because a set of several keys counts for each of them.
        """
        total = float(self.score.sum())
        parts = self._parts.sum(axis=0)
        return {name: float(part / total) if total else 0.0 for name, part in zip(self.keys, parts, strict=True)}

    def record_contributions(self) -> Floats:
        """Per record and key the share of the record's score that comes from sets which hold the key."""
        shares = np.zeros((len(self.score), len(self.keys)))
        own = self.score[self._rows]
        shares[self._rows] = np.divide(
            self._parts, own[:, None], where=own[:, None] > 0, out=np.zeros_like(self._parts)
        )
        return shares

    def value_contributions(self, key: str) -> Floats:
        """Per code of a key its share of the scores of all records, by code number, 0 for an empty field."""
        place = self._codes.names.index(key)
        codes = self._codes.columns[place][self._rows]
        total = float(self.score.sum())
        sums = np.bincount(codes, self._parts[:, place], self._codes.sizes[place])
        return np.asarray(sums / total if total else sums, np.float64)

    def codes_of(self, key: str) -> Ints:
        """The number of each record's code of a key."""
        return self._codes.columns[self._codes.names.index(key)]

    def file_probability(self, fraction: float = 0.01) -> float:
        """The probability that a match with a unique of the file is right, under a sampling fraction."""
        if not 0 < fraction < 1:
            raise ParameterError(
                f"fraction={fraction} is not allowed.",
                hint="Use the share of the population in the file: above 0, below 1.",
            )
        hits = self.uniques * fraction
        return hits / (hits + self.paired * (1 - fraction)) if hits else 0.0

    def probability(self, fraction: float = 0.01) -> Floats:
        """The data intrusion score of each record: the probability that a match with it is right.

        Where no two records form a pair, nothing tells uniques of the sample from those of the population, and every
        special record gets 1.
        """
        file = self.file_probability(fraction)
        found = np.zeros(len(self.score))
        special = self.score > 0
        if not special.any():
            return found
        if file == 1:
            found[special] = 1.0
            return found
        power = self.score[special] ** (1 + (8 - len(self.keys)) / 20)
        odds = power * (1 / power).sum() / self.uniques * file / (1 - file)
        found[special] = odds / (1 + odds)
        return found


def suda(keys: KeyCodes, missing: Meaning = "category", size: int | None = None) -> Suda:
    """The minimal sample uniques of records, exactly.

    Parameters
    ----------
    keys
        The keys of the records as numbers.
    missing
        What an empty field means. ``"category"``: a value of its own; ``"any"``: it agrees with every value;
        ``"exempt"``: sets in which a record is empty make it neither unique nor somebody else's like.
    size
        The most keys of a set; all where left out, which up to 12 keys allow.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> from discreet.rules.key_counts import key_codes
    >>> table = pa.table({"age": ["old", "young", "young", "young"], "sex": ["f", "f", "m", "m"]})
    >>> found = suda(key_codes(read_record_set(ds.Microdata(table)), ["age", "sex"]))
    >>> found.score.tolist(), found.sizes
    ([1.0, 1.0, 0.0, 0.0], (1, 1))
    """
    most = refuse_too_many_sets(keys.names, size)
    return _Search(keys, missing, tuple(_sets(len(keys.names), most)), most).run()


def refuse_too_many_sets(names: tuple[str, ...], size: int | None) -> int:
    """The most keys of a set; an error where there would be too many sets."""
    if not names:
        raise ParameterError("Special uniques need keys.", hint="Name the columns by which somebody may be recognised.")
    if size is None and len(names) > ALL_SUBSETS:
        raise ParameterError(
            f"{len(names)} keys have {2 ** len(names) - 1:,} sets of keys.",
            hint=f"Give size=3 to look at sets of up to 3 keys, or at most {ALL_SUBSETS} keys.",
        )
    most = len(names) if size is None else min(size, len(names))
    if most < 1:
        raise ParameterError(f"size={size} is not allowed.", hint="Use a number of keys from 1 on.")
    many = sum(comb(len(names), s) for s in range(1, most + 1))
    if many > MOST_SETS:
        raise ParameterError(
            f"{len(names)} keys have {many:,} sets of up to {most}; at most {MOST_SETS:,} are looked at.",
            hint="Give fewer keys or a smaller size.",
        )
    return most


def _sets(keys: int, most: int) -> Iterator[tuple[int, ...]]:
    """Sets of keys, each behind all of its subsets and, but for one key, like one before it."""

    def larger(chosen: tuple[int, ...], below: int) -> Iterator[tuple[int, ...]]:
        for key in range(below):
            yield (*chosen, key)
            if len(chosen) + 1 < most:
                yield from larger((*chosen, key), key)

    return larger((), keys)


class _Search:
    """Work in progress: cells, the sets in which each of them is unique, and what that adds up to."""

    def __init__(self, keys: KeyCodes, missing: Meaning, sets: tuple[tuple[int, ...], ...], most: int) -> None:
        self.keys, self.sets, self.most = keys, sets, most
        gaps = any(bool((codes == 0).any()) for codes in keys.columns)
        self.agreeing = missing == "any" and gaps
        self.exempting = missing == "exempt" and gaps
        if self.agreeing:
            like = records_like(keys, "any")
            self.uniques, self.paired = int((like == 1).sum()), int((like == 2).sum())
            self.rows, self.cells = np.flatnonzero(like == 1), len(keys)
        else:
            self._find_cells()
        words = (len(sets) + 63) // 64
        require(
            len(self.rows) * 8 * (words + len(keys.names) + 2) + self.cells * 8 * (most + 3),
            "The search for special uniques",
            "Give size=3, or fewer keys.",
        )
        self.unique = np.zeros((len(self.rows), words), np.uint64)
        self.score = np.zeros(len(self.rows))
        self.smallest = np.zeros(len(self.rows), np.int64)
        self.parts = np.zeros((len(self.rows), len(keys.names)))

    def _find_cells(self) -> None:
        """One record of each combination that occurs; those that stand alone come first."""
        group, many = self.keys.groups()
        counts = np.bincount(group, minlength=many)
        own = counts[group]
        self.uniques, self.paired = int((own == 1).sum()), int((own == 2).sum())
        self.rows = np.flatnonzero(own == 1)
        shown = np.full(many, -1, np.int64)
        several = np.flatnonzero(own > 1)
        shown[group[several]] = several
        chosen = np.concatenate((self.rows, shown[shown >= 0]))
        self.cells = len(chosen)
        self.codes = [codes[chosen].astype(np.int32) for codes in self.keys.columns]
        limit = max(DENSE, 8 * self.cells)
        self.owner = np.empty(limit, np.int32)
        self.found = np.empty(max(len(self.rows), 1), np.int32)
        places = 1 << max(int(2 * self.cells).bit_length(), 4)
        self.table, self.numbers = np.empty(places, np.int64), np.empty(places, np.int32)
        self.numbered = [np.zeros(self.cells, np.int64) for _ in range(self.most + 1)]
        self.many = [1] * (self.most + 1)

    def _unique_in(self, chosen: tuple[int, ...]) -> tuple[Codes, int]:
        """Cells that are unique in a set of keys, and how many; sets come in the order of :func:`_sets`."""
        from discreet.attack.suda_kernels import compact, extend, extend_known, unique_cells

        depth, column = len(chosen), chosen[-1]
        before, after = self.numbered[depth - 1], self.numbered[depth]
        way = extend_known if self.exempting else extend
        way(before, self.codes[column], self.keys.sizes[column], after)
        many = self.many[depth - 1] * self.keys.sizes[column]
        if many > len(self.owner):
            many = compact(after, self.table, self.numbers)
        self.many[depth] = many
        return self.found, unique_cells(after, many, len(self.rows), self.owner, self.found)

    def _alone_in(self, chosen: tuple[int, ...]) -> tuple[Codes, int]:
        """The same where empty fields agree with every value."""
        like = records_like(self.keys.of([self.keys.names[column] for column in chosen]), "any")
        found = np.flatnonzero(like[self.rows] == 1).astype(np.int32)
        return found, len(found)

    def run(self) -> Suda:
        """Look at all sets."""
        from discreet.attack.suda_kernels import keep_minimal

        place_of = {frozenset(chosen): place for place, chosen in enumerate(self.sets)}
        sizes = [0] * self.most
        keys = len(self.keys.names)
        for place, chosen in enumerate(steps("combinations of keys", self.sets)):
            found, number = self._alone_in(chosen) if self.agreeing else self._unique_in(chosen)
            smaller = [place_of[frozenset(chosen) - {key}] for key in chosen if len(chosen) > 1]
            sizes[len(chosen) - 1] += keep_minimal(
                found,
                number,
                place,
                np.array(smaller, np.int64),
                np.array(chosen, np.int64),
                float(factorial(keys - len(chosen))),
                self.unique,
                self.score,
                self.smallest,
                self.parts,
            )
        score, smallest = np.zeros(len(self.keys)), np.zeros(len(self.keys), np.int64)
        score[self.rows], smallest[self.rows] = self.score, self.smallest
        return Suda(
            self.keys.names,
            self.most,
            score,
            self.uniques,
            self.paired,
            tuple(sizes),
            smallest,
            self.rows,
            self.parts,
            self.keys,
        )
