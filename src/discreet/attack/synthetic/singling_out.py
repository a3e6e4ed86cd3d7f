"""Conditions that hold of one released record, and of exactly one original record as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns, compared_files
from discreet.attack.synthetic.conditions import (
    ABOVE,
    AT_LEAST,
    AT_MOST,
    BELOW,
    EMPTY,
    EQUAL,
    NOT_EMPTY,
    OTHER,
)
from discreet.attack.synthetic.controlled_attack import ControlledAttack, one_in_sample
from discreet.attack.synthetic.nearest import parts_of
from discreet.errors import ParameterError, counted
from discreet.model.arrays import Floats, Ints

TRIES = 50
"""So many conditions are made for each that is wanted, before the search for more is given up."""
SIZE = 3
ALL = 2**62


class Predicates(NamedTuple):
    """Conditions on columns, one predicate a row: where, what, and which value; and the records they were made of."""

    at: Ints
    operators: Ints
    limits: Floats
    rows: Ints

    def some(self, chosen: Any) -> Predicates:
        """Some of the predicates."""
        return Predicates(*(np.ascontiguousarray(part[chosen]) for part in self))


def singling_out_attack(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    columns: Sequence[str] | None = None,
    size: int = SIZE,
    attempts: int = ATTEMPTS,
    seed: int = 1,
) -> ControlledAttack:
    """Somebody who has the released file alone states what holds of exactly one person: of how many is it true?

    With ``size=1`` these are values that occur once in a column of the released file, or nowhere beyond them. With more
    columns it is what a released record holds in some, drawn at random: its category, its number *or further from the
    median*, its gap; as far as it holds of no other released record.

    A condition singles out by luck, too: one that holds of every hundredth person singles out in a file of a hundred
    with a chance of 37 %. So what counts is how often it does so among held-out records. Where these are fewer or more,
    the share is brought to the size of the original.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used.
    columns
        Columns that conditions are made of; all that the files share where left out.
    size
        Columns of one condition.
    attempts
        At most so many conditions.
    seed
        Which ones are drawn.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 50], "job": ["a", "a", "b", "b"]})
    >>> found = ds.attack.singling_out_attack(people, people, size=1)
    >>> found.tried, found.share
    (6, 1.0)
    """
    files = compared_files(original, released, holdout, columns)
    if checked_attempts(size, "size") > len(files.names):
        raise ParameterError(
            f"size={size!r} is more than the {counted(len(files.names), 'column')} at hand.",
            hint="Give a smaller size.",
        )
    return single_out(files, size, checked_attempts(attempts), seed)


def single_out(files: ComparedFiles, size: int, attempts: int, seed: int) -> ControlledAttack:
    """The attack on files that were read."""
    draws = np.random.default_rng([seed, size])
    made = _by_one_column(files, attempts, draws) if size == 1 else _by_columns(files, size, attempts, draws)
    name = "singling out by one column" if size == 1 else f"singling out by {size} columns"
    words = "hold of exactly one original record"
    notes = [*files.notes]
    if len(made.rows) < attempts:
        notes.append(f"Only {counted(len(made.rows), 'condition')} of {attempts:,} could be made.")
    found = matches(files.original, made)
    chance = (found == 1).astype(np.float64)
    baseline = _at_random(files, size, attempts, draws)
    control, scale = None, 1.0
    if files.holdout is not None:
        smaller = min(len(files.holdout), len(files.original))
        held = one_in_sample(matches(files.holdout, made), len(files.holdout), smaller)
        thinned = one_in_sample(found, len(files.original), smaller).sum()
        scale = float(chance.sum() / thinned) if thinned > 0 else 1.0
        control = RecordAttack(name, words, "nothing", made.rows, held, baseline, files.names, of_records=False)
    return ControlledAttack(
        name,
        words,
        "nothing",
        made.rows,
        chance,
        baseline,
        files.names,
        notes=tuple(notes),
        of_records=False,
        control=control,
        scale=scale,
    )


def matches(file: FileColumns, predicates: Predicates, enough: int = ALL) -> Ints:
    """Of how many records of a file each predicate holds; counting ends at ``enough``."""
    from discreet.attack.synthetic.predicate_kernels import count_matches

    counts = np.zeros(len(predicates.rows), np.int64)
    for part in parts_of(len(counts)):
        count_matches(
            file.values, predicates.at[part], predicates.operators[part], predicates.limits[part], enough, counts[part]
        )
    return counts


def _by_one_column(files: ComparedFiles, attempts: int, draws: np.random.Generator) -> Predicates:
    """All conditions on one column that hold of one released record, or some of them drawn at random."""
    parts: list[tuple[int, int, Floats, Ints]] = []
    for place in range(len(files.names)):
        values = files.released.values[place]
        gaps = np.flatnonzero(np.isnan(values))
        if len(gaps) == 1:
            parts.append((place, EMPTY, np.zeros(1), gaps))
        distinct, first, counts = np.unique(values, return_index=True, return_counts=True, equal_nan=True)
        once = np.flatnonzero((counts == 1) & ~np.isnan(distinct))
        parts.append((place, EQUAL, distinct[once], first[once]))
        known = np.flatnonzero(~np.isnan(distinct))
        if files.number[place] and len(known):
            for operator, end in ((AT_MOST, known[0]), (AT_LEAST, known[-1])):
                if counts[end] == 1:
                    parts.append((place, operator, distinct[[end]], first[[end]]))
    at, operators = (np.concatenate([np.full(len(p[3]), p[i], np.int64) for p in parts]) for i in (0, 1))
    limits, rows = (np.concatenate([np.asarray(p[i]) for p in parts]) for i in (2, 3))
    chosen = draws.permutation(len(rows))[:attempts]
    return Predicates(at[:, None], operators[:, None], limits[:, None], rows).some(chosen)


def _by_columns(files: ComparedFiles, size: int, attempts: int, draws: np.random.Generator) -> Predicates:
    """Conditions on several columns that hold of one released record, as far as they can be found."""
    released = files.released
    order = np.argsort(released.identity.view(np.uint64), kind="stable")
    middles = np.array([_median(values) for values in released.values])
    found: list[Predicates] = []
    seen: set[bytes] = set()
    many, left = 0, TRIES * attempts
    while many < attempts and left > 0:
        batch = min(max(attempts, 100), left)
        left -= batch
        rows = order[draws.integers(0, len(order), batch)]
        at = np.sort(np.argsort(draws.random((batch, len(files.names))), axis=1, kind="stable")[:, :size], axis=1)
        made = _of_records(files, rows, np.ascontiguousarray(at), middles)
        new = _not_seen(made, seen)
        alone = made.some(new)
        alone = alone.some(matches(released, alone, 2) == 1)
        alone = alone.some(slice(0, attempts - many))
        found.append(alone)
        many += len(alone.rows)
    return Predicates(*(np.concatenate([getattr(part, field) for part in found]) for field in Predicates._fields))


def _of_records(files: ComparedFiles, rows: Ints, at: Ints, middles: Floats) -> Predicates:
    limits = files.released.values[at, rows[:, None]]
    beyond = np.where(limits > middles[at], AT_LEAST, AT_MOST)
    operators = np.where(np.isnan(limits), EMPTY, np.where(files.number[at], beyond, EQUAL))
    return Predicates(at, operators.astype(np.int64), np.nan_to_num(limits), rows)


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _not_seen(made: Predicates, seen: set[bytes]) -> Ints:
    """Places of predicates that were not made before; they are remembered."""
    new = []
    for place in range(len(made.rows)):
        mark = made.at[place].tobytes() + made.operators[place].tobytes() + made.limits[place].tobytes()
        if mark not in seen:
            seen.add(mark)
            new.append(place)
    return np.array(new, np.int64)


def _at_random(files: ComparedFiles, size: int, attempts: int, draws: np.random.Generator) -> float:
    """The share of conditions that single out where columns, operators and values that occur are drawn at random."""
    at = np.sort(np.argsort(draws.random((attempts, len(files.names))), axis=1, kind="stable")[:, :size], axis=1)
    limits = np.zeros(at.shape)
    operators = np.zeros(at.shape, np.int64)
    choices: dict[Literal[0, 1], tuple[int, ...]] = {
        0: (EQUAL, OTHER),
        1: (EQUAL, OTHER, ABOVE, BELOW, AT_LEAST, AT_MOST),
    }
    for place in range(len(files.names)):
        here = at == place
        distinct = np.unique(files.released.values[place], equal_nan=True)
        drawn = distinct[draws.integers(0, len(distinct), int(here.sum()))]
        kinds = np.array(choices[1 if files.number[place] else 0])
        picked = kinds[draws.integers(0, len(kinds), len(drawn))]
        picked = np.where(np.isnan(drawn), np.where(picked == EQUAL, EMPTY, NOT_EMPTY), picked)
        limits[here], operators[here] = np.nan_to_num(drawn), picked
    made = Predicates(np.ascontiguousarray(at), operators, limits, np.zeros(attempts, np.int64))
    return float((matches(files.original, made, 2) == 1).mean())
