"""Guessing a value of a person as most of the released records say that are most like them.

Whoever sees several records that fit equally well does not draw one of them, but takes what most of them hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import refuse_empty
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns
from discreet.attack.synthetic.controlled_attack import ControlledAttack
from discreet.attack.synthetic.nearest import SAME, parts_of
from discreet.model.arrays import Floats, Ints

NAME = "inference by majority"


def infer_by_majority(
    files: ComparedFiles, keys: Sequence[str], secret: str, tolerance: float, attempts: int
) -> ControlledAttack:
    """The attack on files that were read; its baseline is the one best guess for everybody."""
    refuse_empty(files, [*keys, secret])
    at, scaled = files.place(secret), files.of(keys).scaled()
    share = tolerance if files.number[at] else 0.0
    order = np.argsort(files.released.values[at], kind="stable")  # gaps come last
    answers = files.released.values[at][order]
    among = np.ascontiguousarray(scaled.released.values[:, order])
    whole = most_common(answers, share)
    words = f"guess {secret!r}" + (f" to within {share:.0%}" if share else "")

    def tried(file: FileColumns, by: FileColumns) -> tuple[Ints, Floats, float]:
        rows = file.tried(attempts)
        true = file.values[at][rows]
        chance = _chances(np.ascontiguousarray(by.values[:, rows].T), among, answers, true, share)
        return rows, chance, float(np.mean([right_guesses(whole, one, share) for one in true]))

    rows, chance, baseline = tried(files.original, scaled.original)
    control = None
    if files.holdout is not None and scaled.holdout is not None:
        control = RecordAttack(NAME, words, "records", *tried(files.holdout, scaled.holdout), tuple(keys))
    return ControlledAttack(
        NAME, words, "records", rows, chance, baseline, tuple(keys), notes=files.notes, control=control
    )


def _chances(asked: Floats, among: Floats, answers: Floats, true: Floats, tolerance: float) -> Floats:
    """For each asked record the chance that what most of its nearest released records hold is true."""
    from discreet.attack.synthetic.nearest_kernels import all_distances

    apart, chance = np.empty(among.shape[1]), np.empty(len(asked))
    for part in parts_of(len(asked)):
        for row in range(part.start, min(part.stop, len(asked))):
            all_distances(asked[row], among, apart)
            nearest = answers[apart <= apart.min() + SAME]
            chance[row] = right_guesses(most_common(nearest, tolerance), float(true[row]), tolerance)
    return chance


def most_common(answers: Floats, tolerance: float) -> Floats:
    """The answers, in order and gaps last, that most of them agree with to within a share; each once.

    Examples
    --------
    >>> most_common(np.array([1.0, 2.0, 2.0, 3.0, 3.0]), 0.0).tolist()
    [2.0, 3.0]
    """
    gaps = int(np.isnan(answers).sum())
    known = answers[: len(answers) - gaps]
    reach = tolerance * np.abs(known)
    many = np.searchsorted(known, known + reach, "right") - np.searchsorted(known, known - reach, "left")
    most = max(int(many.max(initial=0)), gaps)
    return np.concatenate([np.unique(known[many == most]), [np.nan] if gaps == most else []])


def right_guesses(guesses: Floats, true: float, tolerance: float) -> float:
    """The share of guesses that are right."""
    if np.isnan(true):
        return float(np.isnan(guesses).mean())
    return float((np.abs(guesses - true) <= tolerance * abs(true)).mean())
