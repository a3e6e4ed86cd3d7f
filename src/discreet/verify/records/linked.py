"""How many records are found again by the nearest numbers, counted anew from the original and what is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Floats
from discreet.model.claims.record_rules import rule_words
from discreet.model.records import RecordSet
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import identity_of
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

LITTLE = 1e-9


def check_linked(
    verdict: Verdict, original: RecordSet, released: Mapping[str, pa.ChunkedArray], rule: Mapping[str, Any]
) -> None:
    """Guesses by the nearest numbers are right as seldom as the rule says."""
    names, before = list(rule["columns"]), len(verdict.refused)
    if not names or any(name not in released or name not in original.names for name in names):
        verdict.refuse("rules", "a rule on linkage names columns that are not there")
        return
    first = {name: original[name] for name in names}
    share, _ = right_share(original, first, released, names, int(rule["sample"]))
    if share > float(rule["share"]) + LITTLE:
        verdict.refuse("rules", f"{share:.1%} of guesses are right, more than the rule on linkage allows")
    words = rule_words(rule)
    verdict.not_considered += words.not_considered
    verdict.prove(words.statement, before)


def right_share(
    original: RecordSet,
    before: Mapping[str, pa.ChunkedArray],
    after: Mapping[str, pa.ChunkedArray],
    names: Sequence[str],
    most: int,
    near: float = 0.0,
) -> tuple[float, int]:
    """The share of right guesses, and how many records lie within so many standard deviations of where they were."""
    pairs = [_standard(original, name, before[name], after[name]) for name in names]
    varying = [pair for pair in pairs if pair is not None]
    rows = np.arange(len(original))
    if len(rows) > most:
        rows = np.argsort(identity_of(original), kind="stable")[:most]
    if not varying:  # everybody is equally near
        return 1 / len(original), len(original) if near else 0
    old, new = (np.stack([pair[side] for pair in varying], axis=1) for side in (0, 1))
    return float(_right(old, new[rows], old[rows]).mean()), int((np.abs(old - new).max(axis=1) < near).sum())


def _standard(
    original: RecordSet, name: str, before: pa.ChunkedArray, after: pa.ChunkedArray
) -> tuple[Floats, Floats] | None:
    """Both columns by the mean and the deviation of the first; none where it does not vary."""
    unknown = original.about(name).missing
    found = []
    for column in (before, after):
        values = np.array(column.fill_null(0).to_numpy(), np.float64)
        values[empty_fields(column, unknown)] = np.nan
        found.append(values)
    known = found[0][~np.isnan(found[0])]
    if not len(known) or not known.std() > 0:
        return None
    old, new = (np.nan_to_num((values - known.mean()) / known.std()) for values in found)
    return old, new


def _right(old: Floats, guessed: Floats, own: Floats) -> Floats:
    """The chance of each guess: none where another is nearer than the record's own, else shared among the nearest."""
    from scipy.spatial import cKDTree

    tree = cKDTree(old, balanced_tree=False)
    apart = np.linalg.norm(guessed - own, axis=1)
    nearest = np.asarray(tree.query(guessed, k=1)[0])
    chance = np.zeros(len(guessed))
    mine = np.flatnonzero(apart <= nearest * (1 + LITTLE) + LITTLE**2)
    points, place = np.unique(np.column_stack([guessed[mine], nearest[mine]]), axis=0, return_inverse=True)
    if len(mine):
        reach = points[:, -1] * (1 + LITTLE) + LITTLE**2
        chance[mine] = 1 / np.asarray(tree.query_ball_point(points[:, :-1], reach, return_length=True))[place.ravel()]
    return chance
