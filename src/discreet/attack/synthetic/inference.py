"""Guessing a value of a person from the released record that is most like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts, named_columns, refuse_empty
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns, compared_files
from discreet.attack.synthetic.controlled_attack import ControlledAttack
from discreet.attack.synthetic.nearest import AnswerColumn, answer_shares
from discreet.errors import ParameterError
from discreet.model.arrays import Floats, Ints

TOLERANCE = 0.05


def inference_attack(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    keys: Sequence[str] | str,
    secret: str,
    tolerance: float = TOLERANCE,
    attempts: int = ATTEMPTS,
) -> ControlledAttack:
    """Somebody who knows the keys of a person takes the secret from the released record that is nearest by them.

    Equally near records share the guess. The baseline is a guess drawn from all released records. The share that is
    right for held-out people, too, is what a file tells of everybody; :attr:`ControlledAttack.risk` is the rest.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used: data frames, paths, ``Microdata``,
        record sets; the file may be a release.
    keys
        Columns that the intruder knows.
    secret
        The column that is guessed.
    tolerance
        A number is right where it differs by at most this share of the true one.
    attempts
        At most so many people are tried, drawn by a public hash of what their records hold.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 50], "job": ["a", "b", "c", "d"]})
    >>> others = pa.table({"age": [21, 31, 41, 51], "job": ["b", "a", "c", "a"]})
    >>> found = ds.attack.inference_attack(people, people, others, keys=["age"], secret="job")
    >>> found.share, found.control_share, found.risk, found.baseline
    (1.0, 0.25, 1.0, 0.25)
    """
    known = named_columns("keys", keys)
    if secret in known:
        raise ParameterError(f"secret={secret!r} is one of the keys.", hint="Name another column, or fewer keys.")
    if not 0 <= tolerance < 1:
        raise ParameterError(f"tolerance={tolerance!r} is not allowed.", hint="Give a share from 0 to below 1.")
    files = compared_files(original, released, holdout, [*known, secret])
    return infer(files, known, secret, tolerance, checked_attempts(attempts))


def infer(files: ComparedFiles, keys: Sequence[str], secret: str, tolerance: float, attempts: int) -> ControlledAttack:
    """The attack on files that were read."""
    refuse_empty(files, [*keys, secret])
    at, scaled = files.place(secret), files.of(keys).scaled()
    share = tolerance if files.number[at] else 0.0
    answers = files.released.values[at]

    def tried(whole: FileColumns, by: FileColumns) -> tuple[Ints, Floats, Floats]:
        rows = whole.tried(attempts)
        true = np.ascontiguousarray(whole.values[at][rows])
        return rows, answer_shares(scaled, by, rows, AnswerColumn(true, answers, share)), true

    rows, chance, true = tried(files.original, scaled.original)
    words = f"guess {secret!r}" + (f" to within {share:.0%}" if share else "")
    control = None
    if files.holdout is not None and scaled.holdout is not None:
        held, right, held_true = tried(files.holdout, scaled.holdout)
        control = RecordAttack(
            "inference", words, "records", held, right, drawn_at_random(held_true, answers, share), tuple(keys)
        )
    return ControlledAttack(
        "inference", words, "records", rows, chance, drawn_at_random(true, answers, share), tuple(keys),
        notes=files.notes, control=control,
    )  # fmt: skip


def drawn_at_random(true: Floats, answers: Floats, tolerance: float) -> float:
    """The share of right guesses of somebody who takes the answer of any released record."""
    known = np.sort(answers[~np.isnan(answers)])
    reach = tolerance * np.abs(true)
    right = np.searchsorted(known, true + reach, "right") - np.searchsorted(known, true - reach, "left")
    right = np.where(np.isnan(true), len(answers) - len(known), right)
    return float(right.mean() / len(answers))
