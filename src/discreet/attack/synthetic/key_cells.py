"""Combinations of keys and a secret, counted in the original, the released and the hold-out file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack.synthetic.compared_files import ComparedFiles, value_codes
from discreet.errors import InputError, ParameterError, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import code_text
from discreet.rules.key_counts import compacted, numbered


@dataclass(frozen=True)
class SecretExclusions:
    """What is not counted: values of the secret, gaps, pairs of a key's value and the secret's, large cells."""

    values: tuple[Any, ...] = ()
    gaps: tuple[str, ...] = ()
    pairs: tuple[tuple[str, Any, Any], ...] = ()
    largest: int | None = None


@dataclass(frozen=True, eq=False)
class SecretCells:
    """Cells of keys and secret that occur in any file.

    Parameters
    ----------
    key, secret
        For every cell the number of its combination of keys, and of its secret.
    keys
        How many combinations of keys there are.
    original, released, holdout
        Records of the cell in each file.
    cell_of_original, cell_of_holdout
        The cell of each record.
    out
        Cells that are not counted.
    largest
        Cells with more records are not counted.
    marginal
        For every value of the secret its share of the original.
    first
        For every cell a place in all files one after the other where it occurs.
    """

    key: Ints
    secret: Ints
    keys: int
    original: Floats
    released: Floats
    holdout: Floats | None
    cell_of_original: Ints
    cell_of_holdout: Ints
    out: Bools
    largest: int | None
    marginal: Floats
    first: Ints

    def by_key(self, counts: Floats) -> Floats:
        """Sums of cells by their keys."""
        return np.asarray(np.bincount(self.key, counts, self.keys), np.float64)

    def kept(self, counts: Floats) -> Floats:
        """Counts of cells without those that are not counted."""
        small = True if self.largest is None else counts <= self.largest
        return np.where(~self.out & small, counts, 0.0)

    @property
    def kept_original(self) -> Floats:
        """Original records of the cells that are counted."""
        return self.kept(self.original)

    @property
    def kept_released(self) -> Floats:
        """Released records of the cells that are counted."""
        return self.kept(self.released)

    @property
    def kept_holdout(self) -> Floats:
        """Held-out records of the cells that are counted."""
        return self.kept(np.zeros(len(self.key)) if self.holdout is None else self.holdout)

    @property
    def sure_original(self) -> Bools:
        """Cells whose keys go with no other secret in the original."""
        return np.asarray((self.original > 0) & (self.original == self.by_key(self.original)[self.key]))

    @property
    def sure_released(self) -> Bools:
        """Cells whose keys go with no other secret in the released file."""
        return np.asarray((self.released > 0) & (self.released == self.by_key(self.released)[self.key]))

    @property
    def any_sure(self) -> Bools:
        """Combinations of keys that go with one secret in the released file."""
        return np.bincount(self.key, self.sure_released, self.keys) > 0

    def released_share(self, counts: Floats, by_key: Floats) -> Floats:
        """The share of each cell among released records with its keys; 0 where there are none."""
        whole = by_key[self.key]
        return np.divide(counts, whole, out=np.zeros(len(counts)), where=whole > 0)


def key_cells(files: ComparedFiles, secret: str, excluded: SecretExclusions, plain: ComparedFiles) -> SecretCells:
    """Count the cells of all columns but one with that one; ``plain`` are the files before numbers were grouped."""
    parts = [files.original, files.released, *([] if files.holdout is None else [files.holdout])]
    ends = np.cumsum([len(part) for part in parts])
    columns = {
        name: value_codes(np.concatenate([part.values[place] for part in parts]))
        for place, name in enumerate(files.names)
    }
    keys = [name for name in files.names if name != secret]
    key, many = compacted(numbered([columns[n][0] for n in keys], [columns[n][1] for n in keys], int(ends[-1]))[0])
    answer, answers = columns[secret]
    cell, cells = compacted(key * answers + answer)
    first = np.zeros(cells, np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    of = np.split(cell, ends[:-1])
    counts = [np.bincount(part, minlength=cells).astype(np.float64) for part in of]
    out = _excluded(plain, secret, excluded, columns, first)
    return SecretCells(
        key=key[first],
        secret=answer[first],
        keys=many,
        original=counts[0],
        released=counts[1],
        holdout=counts[2] if len(counts) > 2 else None,
        cell_of_original=of[0],
        cell_of_holdout=of[2] if len(of) > 2 else np.zeros(0, np.int64),
        out=out,
        largest=excluded.largest,
        marginal=np.bincount(answer[: ends[0]], minlength=answers) / ends[0],
        first=first,
    )


def _excluded(
    plain: ComparedFiles, secret: str, excluded: SecretExclusions, columns: dict[str, tuple[Ints, int]], first: Ints
) -> Bools:
    """Cells that are not counted whatever their size."""
    out = np.zeros(len(first), np.bool_)
    for name in excluded.gaps:
        out |= columns[plain.names[plain.place(name)]][0][first] == 0
    together = {name: _all(plain, name) for name in plain.names}

    def holds(name: str, value: Any) -> Bools:
        mine = together[name]
        wanted = _number_of(plain, name, value)
        # A group is meant by any value in it.
        codes = np.unique(columns[name][0][np.isnan(mine) if wanted is None else mine == wanted])
        if not len(codes):
            raise InputError(
                f"A value that is to be excluded does not occur in {name!r}.", hint="Correct its spelling."
            )
        return np.isin(columns[name][0][first], codes)

    for value in excluded.values:
        out |= holds(secret, value)
    for pair in excluded.pairs:
        if len(pair) != 3:
            raise ParameterError("A pair to exclude is not a key, its value and one of the secret.", hint="Give three.")
        if pair[0] not in plain.names or pair[0] == secret:
            others = [name for name in plain.names if name != secret]
            raise ParameterError(f"exclude_pairs: {pair[0]!r} is no key.", hint=f"Give one of {listed(others)}.")
        out |= holds(pair[0], pair[1]) & holds(secret, pair[2])
    return out


def _all(files: ComparedFiles, name: str) -> Floats:
    place = files.place(name)
    parts: Sequence[Any] = [files.original, files.released, *([] if files.holdout is None else [files.holdout])]
    return np.concatenate([part.values[place] for part in parts])


def _number_of(files: ComparedFiles, name: str, value: Any) -> float | None:
    """The number that stands for a value; nothing for a gap."""
    if value is None:
        return None
    if files.number[files.place(name)]:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ParameterError(
                f"A value of {name!r} that is to be excluded is no number.", hint="Give a number."
            ) from None
    spelt = [code_text(word) for word in files.words[name]]
    return float(spelt.index(code_text(value))) if code_text(value) in spelt else float("inf")
